#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reuse_object.py OTHER OWN POISON COMPILER ARGUMENTS...: a compiler launcher for a second build.

The build in OWN differs from the build in OTHER by one option, so that nearly all of its objects are
compiled by the same command from the same sources. Such an object is copied from OTHER, which is up to
date while its tests run. Every other object is compiled. The folder POISON, which only OWN includes
from, is left out of the comparison; an object that includes a header of the same name as one in POISON
is never copied.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys


def without_dependency_flags(arguments):
    """Returns the arguments without the flags that compile_commands.json leaves out as well."""
    kept = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-MT", "-MF"):
            skip = True
        elif argument != "-MD":
            kept.append(argument)
    return kept


def command_in(build, output):
    """Returns the arguments that compiled `output` in `build`, or None."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        for entry in json.load(commands):
            if output not in entry["command"]:
                continue  # to split all the others takes longer than to compile some objects
            arguments = shlex.split(entry["command"])
            if value_of(arguments, "-o") == output:
                return arguments
    return None


def value_of(arguments, flag):
    return arguments[arguments.index(flag) + 1] if flag in arguments else None


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def same_source(source, own, other):
    """Compares a generated source with the other build's. Unity sources include others by their paths."""
    here = read(source)
    included = [line.split('"')[1] for line in here.splitlines() if line.startswith(f'#include "{own}')]
    return here.replace(own, other) == read(source.replace(own, other)) and all(
        same_source(path, own, other) for path in included
    )


def includes_any(build, output, headers):
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps", output], capture_output=True, text=True, check=True)
    return any(os.path.basename(line.strip()) in headers for line in deps.stdout.splitlines())


def may_copy(other, own, poison, arguments):
    output = value_of(arguments, "-o")
    if output is None or not os.path.isfile(os.path.join(other, output)):
        return False
    here = [argument.replace(own, other) for argument in arguments if argument != "-I" + poison]
    if here != command_in(other, output):
        return False
    source = value_of(arguments, "-c")
    if source.startswith(own) and not same_source(source, own, other):
        return False
    return not includes_any(other, output, os.listdir(poison))


def main():
    other, own, poison = sys.argv[1:4]
    command = sys.argv[4:]
    arguments = without_dependency_flags(command)
    if not may_copy(other, own, poison, arguments):
        return subprocess.run(command, check=False).returncode
    output = value_of(arguments, "-o")
    shutil.copyfile(os.path.join(other, output), output)
    with open(value_of(command, "-MF") or os.devnull, "w", encoding="utf-8") as dependencies:
        dependencies.write(f"{output}:\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
