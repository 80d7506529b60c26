#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a replay of a long recording takes: opening it at the end, steps, runs back to places some 100 million
instructions away, call stacks. Speaks gdb's protocol itself, so gdb's own time does not count.

  replay.py --bin build/release/bin --recording long.data [--place ADDRESS] [--call NUMBER]

ADDRESS: an instruction that ran at the begin only; the index's filters exclude all else. NUMBER: a system call that the
program makes every 100 million instructions or so (1, write, of gzip -c); everything between two of them is decoded."""

import argparse
import os
import random
import resource
import socket
import statistics
import subprocess
import tempfile
import time


def content(packet):
    """Without escapes and shortened runs."""
    out, i = bytearray(), 0
    while i < len(packet):
        if packet[i] == ord("*"):
            out += out[-1:] * (packet[i + 1] - 29)
            i += 2
        elif packet[i] == ord("}"):
            out.append(packet[i + 1] ^ 0x20)
            i += 2
        else:
            out.append(packet[i])
            i += 1
    return out.decode("latin1")


class Replay:
    def __init__(self, words, path):
        begin = time.monotonic()
        self.program = subprocess.Popen(words + ["--gdb-server", path], stderr=subprocess.PIPE, text=True)
        for line in self.program.stderr:
            if line.startswith("listening"):
                break
        self.opening = time.monotonic() - begin
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.waiting = b""
        self.ask("QStartNoAckMode")

    def read(self):
        while True:
            begin = self.waiting.find(b"$")
            end = self.waiting.find(b"#", begin)
            if begin >= 0 and end >= 0 and len(self.waiting) >= end + 3:
                packet, self.waiting = self.waiting[begin + 1:end], self.waiting[end + 3:]
                return content(packet)
            got = self.socket.recv(65536)
            if not got:
                raise EOFError("the replay has ended")
            self.waiting += got

    def ask(self, text):
        self.socket.sendall(b"$%s#%02x" % (text.encode(), sum(text.encode()) & 255))
        return self.read()

    def monitor(self, words):
        answer, text = self.ask("qRcmd," + words.encode().hex()), ""
        while answer.startswith("O") and answer != "OK":
            text += bytes.fromhex(answer[1:]).decode()
            answer = self.read()
        return text

    def processor_seconds(self):
        with open(f"/proc/{self.program.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def number(self):
        return int(self.monitor("when").split("#")[1].split()[0])

    def timed(self, text):
        begin = time.monotonic()
        self.ask(text)
        return (time.monotonic() - begin) * 1000

    def end(self):
        begin = time.monotonic()
        self.program.terminate()
        self.program.communicate()
        return time.monotonic() - begin


def show(name, times):
    print(f"{name}: median {statistics.median(times):.2f} ms, worst {max(times):.2f} ms of {len(times)}")


def measure_steps(replay, last):
    for name, packet in (("step back", "bs"), ("step", "vCont;s"), ("backtrace", "")):
        there, times = [], []
        for _ in range(100):
            begin = time.monotonic()
            replay.monitor(f"goto #{random.randrange(last)}")
            there.append((time.monotonic() - begin) * 1000)
            begin = time.monotonic()
            replay.ask(packet) if packet else replay.monitor("backtrace")
            times.append((time.monotonic() - begin) * 1000)
        show(f"{name} at a random instruction", times)
        show("  going there", there)


def measure_runs(replay, last, options):
    if options.place:
        replay.monitor(f"goto #{last}")
        replay.ask(f"Z0,{options.place},1")
        took, place = replay.timed("bc"), replay.number()
        print(f"{last - place} instructions back to {options.place}: {took:.1f} ms")
        replay.monitor(f"goto #{place + 100_000_000}")
        print(f"100000000 instructions back to it: {replay.timed('bc'):.1f} ms")
        replay.ask(f"z0,{options.place},1")
    replay.monitor(f"goto #{last // 2}")
    replay.ask(f"QCatchSyscalls:1;{options.call:x}")
    replay.ask("vCont;c")
    on, back, passed, at = [], [], [], replay.number()
    for _ in range(10):
        on.append(replay.timed("vCont;c"))
        passed.append(replay.number() - at)
        at += passed[-1]
        back.append(replay.timed("bc"))
        replay.ask("vCont;c")
    print(f"from call to call, {sum(passed) // len(passed)} instructions: {sum(on) / len(on):.0f} ms forward, "
          f"{sum(back) / len(back):.0f} ms back, ratio {sum(back) / sum(on):.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--recording", required=True)
    parser.add_argument("--place", default="", help="hexadecimal, without 0x")
    parser.add_argument("--call", type=int, default=1)
    options = parser.parse_args()
    os.environ["FLOWBACK_CACHE_SIZE"] = "4G"
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        words = [os.path.join(options.bin, "flowback"), "replay", options.recording, "--cache-dir",
                 os.path.join(folder, "cache")]
        first = Replay(words, os.path.join(folder, "first"))
        print(f"opened for the first time in {first.opening:.1f} s, {first.processor_seconds():.1f} s of CPU time; "
              f"ended in {first.end():.1f} s")
        replay = Replay(words, os.path.join(folder, "second"))
        print(f"opened again in {replay.opening * 1000:.0f} ms")
        last = replay.number()
        measure_steps(replay, last)
        measure_runs(replay, last, options)
        print(f"ended in {replay.end() * 1000:.0f} ms")
    print(f"peak memory, with the recording's pages: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MiB")


main()
