# SPDX-License-Identifier: MIT
# Shows variables of a replayed recording in gdb: what has no value is unavailable. Joined to flow_frames.py.
import re

import gdb

UNAVAILABLE = "<unavailable>"


def symbols_of(frame, are_arguments):
    """As gdb lists them: the innermost block's first. None: the code has no symbols."""
    try:
        block = frame.block()
    except RuntimeError:
        return None
    found = []
    while block is not None:
        for symbol in block:
            wanted = symbol.is_argument if are_arguments else symbol.is_variable and not symbol.is_argument
            if wanted and not (are_arguments and block.function is None):
                found.append(symbol)
        if block.function is not None:
            break
        block = block.superblock
    return found


def has_place(symbol, frame):
    """Whether the program keeps the variable somewhere at this instruction. Then it is not optimized out, even if gdb
    says so: it does so for a caller's registers without known places."""
    pc = frame.pc() - (1 if frame.level() else 0)
    told = gdb.execute("info scope *%d" % pc, to_string=True)
    place = re.search(r"Symbol %s is (.*?)(?=\nSymbol |\Z)" % re.escape(symbol.name), told, re.DOTALL)
    if place is None or not place.group(1).startswith("multi-location"):
        return place is not None and "optimized out" not in place.group(1)
    ranges = re.findall(r"Range (0x[0-9a-f]+)-(0x[0-9a-f]+): (.*)", place.group(1))
    return any(int(begin, 16) <= pc < int(end, 16) and "optimized out" not in words for begin, end, words in ranges)


def value_of(symbol, frame):
    """Returns the known value; None: unknown."""
    try:
        value = symbol.value(frame)
        value.format_string()
    except (gdb.error, gdb.MemoryError):
        return None
    return None if value.is_optimized_out and has_place(symbol, frame) else value


class Shown:
    """A variable for `backtrace full`."""

    def __init__(self, variable, frame):
        self.variable = variable
        self.frame = frame

    def symbol(self):
        return self.variable

    def value(self):
        value = value_of(self.variable, self.frame)
        return unavailable_value() if value is None else value


def unavailable_value():
    """The value of a register that no source of values has."""
    registers = gdb.newest_frame().architecture().registers()
    name = next((name for name in ("mxcsr", "fpcr", "fctrl") if registers.find(name)), None)
    return gdb.newest_frame().read_register(name) if name else UNAVAILABLE


class Variables(gdb.Command):
    """`info locals` or `info args`, as gdb prints them. Variables without a value are unavailable."""

    def __init__(self, words, are_arguments):
        super().__init__(words, gdb.COMMAND_STACK)
        self.are_arguments = are_arguments

    def invoke(self, words, _from_tty):
        frame = gdb.selected_frame()
        symbols = symbols_of(frame, self.are_arguments)
        if symbols is None:
            gdb.write("No symbol table info available.\n")
        elif not symbols:
            gdb.write("No arguments.\n" if self.are_arguments else "No locals.\n")
        wanted = [word for word in words.split() if not word.startswith("-")]
        for symbol in symbols or []:
            if wanted and not re.search(wanted[0], symbol.print_name):
                continue
            value = value_of(symbol, frame)
            gdb.write("%s = %s\n" % (symbol.print_name, UNAVAILABLE if value is None else value.format_string()))
