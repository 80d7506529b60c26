# SPDX-License-Identifier: MIT
"""Run by gdb: dumps a program that QEMU emulates as gcore dumps a process, and lets it go on.

QEMU waits for gdb at $STUB. The program runs until it gets SIGUSR2, or comes to the line $BREAK. $PID is its process.
Registers are gdb's, memory and mappings /proc's: QEMU has the program's memory at the program's addresses. For a thread
that waits in a system call QEMU has what the program will see; the kernel keeps instead that the call is to be made
again, and that is what gcore writes. Then the program gets $SIGNAL at once, if there is one. Else it runs on, until it
gets SIGUSR2 again, and dies of SIGTERM."""

import os
import struct

import gdb

ORDER = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es "
         "fs gs").split()
PID, END = int(os.environ["PID"]), 0x500000000000  # QEMU's own memory lies above
INTERRUPTED, RESTART = (1 << 64) - 4, (1 << 64) - 512  # -EINTR, -ERESTARTSYS
STOPPED = 19  # SIGSTOP


def registers_of(thread, memory):
    thread.switch()
    gdb.newest_frame().select()
    values = {}
    for name in ORDER:
        if name != "orig_rax":
            said = gdb.execute(f"print/x ${name}", to_string=True)
            values[name] = int(said.split("= ")[1], 16) & (2**64 - 1)
    memory.seek(values["rip"] - 2)
    values["orig_rax"] = 2**64 - 1
    if memory.read(2) == b"\x0f\x05":
        # The stopped thread has a result; of the others QEMU still has the number.
        was = values["rax"]
        values["orig_rax"] = int(os.environ.get("CALL", "34")) if was == INTERRUPTED else was
        values["rax"] = RESTART
    return values


def note(kind, content):
    return struct.pack("<III", 5, len(content), kind) + b"CORE\0\0\0\0" + content + b"\0" * (-len(content) % 4)


def status(tid, values):
    head = struct.pack("<iiih", STOPPED, 0, 0, STOPPED).ljust(32, b"\0") + struct.pack("<i", tid)
    return (head.ljust(112, b"\0") + b"".join(struct.pack("<Q", values[name]) for name in ORDER)).ljust(336, b"\0")


def mappings():
    with open(f"/proc/{PID}/maps", encoding="utf-8") as file:
        for line in file:
            words = line.split(None, 5)
            begin, end = (int(word, 16) for word in words[0].split("-"))
            if end < END and words[1][0] == "r":
                yield begin, end, words[1], int(words[2], 16), words[5].strip() if len(words) > 5 else ""


def files(maps):
    rows = [one for one in maps if one[4].startswith("/")]
    return (struct.pack("<QQ", len(rows), 4096) +
            b"".join(struct.pack("<QQQ", begin, end, offset // 4096) for begin, end, _, offset, _ in rows) +
            b"".join(path.encode() + b"\0" for *_, path in rows))


def dump(path):
    maps = list(mappings())
    with open(f"/proc/{PID}/mem", "rb", buffering=0) as memory:
        threads = [(thread.ptid[1], registers_of(thread, memory)) for thread in gdb.selected_inferior().threads()]
        about = struct.pack("<cccc4xQIIiiii", b"S", b"S", b"\0", b"\0", 0, 0, 0, PID, 1, PID, PID).ljust(40, b"\0")
        notes = note(3, (about + b"hangs").ljust(136, b"\0")) + b"".join(note(1, status(*one)) for one in threads)
        notes += note(0x46494c45, files(maps))
        count = 1 + len(maps)
        at = 64 + 56 * count
        headers = [struct.pack("<IIQQQQQQ", 4, 0, at, 0, 0, len(notes), 0, 4)]
        at += len(notes)
        for begin, end, rights, _, path_ in maps:
            # QEMU does not map the program's code as code.
            flags = 4 | 2 * (rights[1] == "w") | (rights[1] != "w" and path_.startswith("/"))
            headers.append(struct.pack("<IIQQQQQQ", 1, flags, at, begin, 0, end - begin, end - begin, 4096))
            at += end - begin
        ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
        with open(path, "wb") as out:
            out.write(ident + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0))
            out.write(b"".join(headers) + notes)
            for begin, end, *_ in maps:
                memory.seek(begin)
                out.write(memory.read(end - begin))


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set debuginfod enabled off")
gdb.execute("handle SIGUSR2 stop nopass")
gdb.execute("handle SIGTERM SIGUSR1 SIGINT nostop noprint pass")
gdb.execute("target remote " + os.environ["STUB"])
if "BREAK" in os.environ:
    gdb.execute("tbreak *" + os.environ["BREAK"] if os.environ["BREAK"].startswith("0x") else "tbreak " + os.environ["BREAK"])
with open(os.environ["READY"], "w", encoding="utf-8") as ready:
    ready.write("connected")
gdb.execute("continue")
dump(os.environ["DUMP"])
if os.environ.get("SIGNAL"):
    os.kill(PID, int(os.environ["SIGNAL"]))
if os.environ.get("SIGNAL"):
    gdb.execute("detach")
else:
    gdb.execute("continue")
    gdb.execute("signal SIGTERM")
