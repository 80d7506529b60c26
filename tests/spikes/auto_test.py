#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""auto_test.py PROGRAM COMPILER: `spikes --auto` finds the handler of a program's requests."""

import json
import os
import subprocess
import sys
import tempfile

SOURCE = r"""
#include <unistd.h>
volatile unsigned sink;
__attribute__((noinline)) unsigned parse(unsigned i) { unsigned h = i; for (int k = 0; k < 40; ++k) h = h * 31 + k; return h; }
__attribute__((noinline)) void answer(unsigned i) {
  unsigned h = 0;
  for (int k = 0; k < 20; ++k) h += parse(i + k);
  if (i % 100 == 42) for (unsigned k = 0; k < 90000; ++k) sink += k;
  sink += h;
}
__attribute__((noinline)) unsigned depth(unsigned n) { return n == 0 ? 1 : depth(n - 1) + depth(n / 2); }
int main() {
  unsigned char byte;
  unsigned i = 0;
  sink += depth(14);
  while (read(0, &byte, 1) == 1) answer(i++);
  return 0;
}
"""


def main():
    program, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("server.cc", "w") as file:
            file.write(SOURCE)
        subprocess.run([compiler, "-g", "-O1", "-o", "server", "server.cc"], check=True)
        with open("requests", "wb") as file:
            file.write(bytes(300))
        environment = dict(os.environ, FLOWBACK_CACHE=folder + "/cache")
        with open("requests", "rb") as requests:
            subprocess.run([program, "record", "-o", "r.data", "--", "./server"], check=True,
                           stdin=requests, env=environment, stderr=subprocess.DEVNULL)
        told = json.loads(subprocess.run([program, "spikes", "r.data", "--auto", "--json"], check=True,
                                         env=environment, stdout=subprocess.PIPE).stdout)
        best = told["loops"][0]
        assert best["function"] == "answer(unsigned int)" and best["caller"] == "main", told["loops"]
        assert best["calls"] == 300 and "read" in best["reason"], best
        assert all(not loop["function"].startswith("depth") for loop in told["loops"]), told["loops"]
        assert told["slow"] == 3 and told["instances"]["whole"] == 300, told
        cause = told["causes"][0]
        assert cause["kind"] in ("branch", "trips") and cause["line"] == 8, cause
        named = subprocess.run([program, "spikes", "r.data", "answer(unsigned int)", "--json"], check=True,
                               env=environment, stdout=subprocess.PIPE).stdout
        assert json.loads(named)["causes"] == told["causes"], "the same as by name"
        for top, verb in (("1", "is"), ("2", "are")):
            text = subprocess.run([program, "spikes", "r.data", "answer(unsigned int)", "--top", top], check=True,
                                  env=environment, stdout=subprocess.PIPE, text=True).stdout
            assert f"\n{top} of the 3 slow calls {verb} explained: --top 3 explains all.\n" in text, text
        none = subprocess.run([program, "spikes", "r.data", "--auto", "main"], env=environment,
                              stderr=subprocess.PIPE, text=True)
        assert none.returncode == 2 and "exclude" in none.stderr, none


main()
