# SPDX-License-Identifier: MIT
"""typed.py COMPLETION PROGRAM CXX: what bash makes of a line when TAB is pressed at functions' names.

A bash of its own runs on a terminal of its own. Each line is typed with a TAB in it; then the words
that bash would run are printed, by putting `show` in front of the line.
"""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

SOURCE = r"""
namespace space {
namespace { __attribute__((noinline, used)) int hidden_one(int a) { return a + 1; } }
template <class A, class B> struct Box {
  __attribute__((noinline)) B get(A a) { return B(a); }
};
__attribute__((noinline)) int twice(int a) { return 2 * a; }
struct Caller { __attribute__((noinline)) int operator()(int a) { return a + 3; } };
}
template struct space::Box<int, char>;
extern "C" {
__attribute__((noinline, used)) int alone_here(int a) { return a; }
__attribute__((noinline, used)) int several_one(int a) { return a; }
__attribute__((noinline, used)) int several_two(int a) { return a; }
__attribute__((noinline, used)) int EVIL(int a) { return a + 7; }
__attribute__((noinline, used)) int RULES(int a) { return a + 8; }
}
int main() {
  return space::Caller()(space::twice(alone_here(several_one(several_two(RULES(EVIL(1))))))) == 0;
}
"""

# Names that no compiler lets through: they are put in place of others as long.
EVIL = "evil$HOME;`touch harm` & |<'x"
RULES = "rules\033[31m\n"
# Typed, with a TAB for each %, and the words that come of it.
CASES = [
    ("record --from alone% -- ./program", ["record", "--from", "alone_here", "--", "./program"]),
    ("record --until=alone% ./program", ["record", "--until=alone_here", "./program"]),
    ("record --from sev%o% -- ./program",
     ["record", "--from", "several_one", "--", "./program"]),
    ("record --from space::tw% -- ./program", ["record", "--from", "space::twice", "--", "./program"]),
    ("record --from=space::tw% -- ./program", ["record", "--from=space::twice", "--", "./program"]),
    ("record --from 'space::tw%' -- ./program", ["record", "--from", "space::twice", "--", "./program"]),
    ("record --from evil% -- ./program", ["record", "--from", EVIL, "--", "./program"]),
    ("record --from space::Box% -- ./program",
     ["record", "--from", "space::Box<int, char>::get", "--", "./program"]),
    ("record --from space::Ca% -- ./program",
     ["record", "--from", "space::Caller::operator()", "--", "./program"]),
    ("record --from 'space::(an%' -- ./program",
     ["record", "--from", "space::(anonymous namespace)::hidden_one", "--", "./program"]),
    ("record --from rules% -- ./program", ["record", "--from", "rules", "--", "./program"]),
    ("record --from nothing_like% -- ./program",
     ["record", "--from", "nothing_like", "--", "./program"]),
    # There is a folder of the name, and a file that begins so.
    ("record --from several_on% -- ./program", ["record", "--from", "several_one", "--", "./program"]),
    ("record --from nofunc% -- ./program", ["record", "--from", "nofunc", "--", "./program"]),
    ("record -- ./program --from alone%", ["record", "--", "./program", "--from", "alone"]),
    ("decode --function alone% --raw-pt padding --image program",
     ["decode", "--function", "alone_here", "--raw-pt", "padding", "--image", "program"]),
    ("decode --raw-pt padding --image program --function space::Box%",
     ["decode", "--raw-pt", "padding", "--image", "program", "--function",
      "space::Box<int, char>::get"]),
]


class Shell:
    def __init__(self, folder, completion):
        environment = dict(os.environ, PS1="ready$ ", TERM="dumb", INPUTRC="/dev/null")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        self.seen = ""
        self.send(f"bind 'set enable-bracketed-paste off'; . '{completion}'; "
                  "show() { printf '<%s>' \"$@\"; echo ' sho''wn'; }\n")
        self.send("echo rea''dy\n")
        self.wait("ready\r\n")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, text, seconds=60):
        """Returns the output up to and with `text`."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        before, self.seen = self.seen.split(text, 1)
        return before

    def words(self, typed):
        """The words of the line, after each TAB of it has been answered."""
        *parts, behind = typed.split("%")
        # The text after the cursor stands there before the first TAB.
        self.send("flowback " + behind + "\x02" * len(behind))
        for part in parts:
            self.send(part + "\t")
        # To its beginning, where the program's name becomes `show`.
        self.send("\x01show \n")
        shown = self.wait("shown\r\n")
        return re.findall(r"<((?:[^>]|>(?!<|[ ]?$))*)>", shown[shown.rindex("<flowback>"):])[1:]


def build(folder, compiler):
    places = {"EVIL": EVIL, "RULES": RULES}
    source = SOURCE
    for place, name in places.items():
        source = source.replace(place, place.ljust(len(name), "_"))
    with open(folder + "/source.cc", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run([compiler, "-O1", "-o", folder + "/program", folder + "/source.cc"], check=True)
    with open(folder + "/program", "r+b") as file:
        image = file.read()
        for place, name in places.items():
            image = image.replace(place.ljust(len(name), "_").encode(), name.encode())
        file.seek(0)
        file.write(image)


def main(completion, program, compiler):
    with tempfile.TemporaryDirectory() as folder:
        build(folder, compiler)
        with open(folder + "/padding", "wb") as file:
            file.write(bytes(64))
        open(folder + "/nofunction_but_a_file", "w", encoding="utf-8").close()
        os.mkdir(folder + "/several_one")
        os.symlink(program, folder + "/flowback")
        os.environ["PATH"] = folder + ":" + os.environ["PATH"]
        shell = Shell(folder, completion)
        wrong = 0
        for typed, expected in CASES:
            words = shell.words(typed)
            if words != expected:
                print(f"'{typed}' becomes {words}, not {expected}")
                wrong += 1
        shell.send("exit\n")
        os.waitpid(shell.pid, 0)
        if os.path.exists(folder + "/harm"):
            print("a function's name was run as a command")
            wrong += 1
        return wrong


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
