# SPDX-License-Identifier: MIT
# Shows the call stacks of a replayed recording in gdb. flowback replay loads this; for a gdb of your
# own: flowback replay --gdb-init > flowback-gdb.py, then (gdb) source flowback-gdb.py
#
# The trace has no stack memory to unwind, but the flow shows which calls a thread is in. The server
# gives them as a list of frames. The register flow_frame says which one a frame is.
import re

import gdb
import gdb.unwinder
from gdb.FrameDecorator import FrameDecorator

FRAME = "flow_frame"
# Frames need distinct identities that stay the same during a call. No address of the program is
# known, so an identity is made of the frame's height above the outermost one. No memory of a program
# lies there, so what gdb looks for at such an address is an error and never a value.
HIGHEST = {8: 0x0100000000000000, 4: 0xFFFFF000}
FOR_STACK = {8: 1 << 32, 4: 1 << 22}
FOR_FRAME = 64


class Frames:
    """The frames of the thread that gdb looks at, as the server sent them last."""

    def __init__(self):
        self.stack = 0
        self.frames = []
        self.missing = 0  # frames that found no room in the server's reply: the outermost ones

    def load(self):
        inferior, lwp, _ = gdb.selected_thread().ptid
        # A connection's send_packet would change threads, and so forget the frame that gdb is at.
        words = "maintenance packet qFlowbackFrames:p%x.%x" % (inferior, lwp)
        received = re.findall(r'received: "([0-9a-fE;,]*)"', gdb.execute(words, to_string=True))
        parts = received[-1].split(";") if received else [""]
        self.frames, self.missing = [], 0
        if parts[0].startswith("E") or not parts[0]:
            return
        self.stack, count = (int(word, 16) for word in parts[0].split(","))
        self.frames = [tuple(int(word, 16) for word in part.split(",")) for part in parts[1:]]
        self.missing = count - len(self.frames)


class Identity:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


def counter_of(architecture):
    for name in ("rip", "eip", "pc"):
        if architecture.registers().find(name) is not None:
            return name
    return None


def stack_pointer(pending, architecture):
    for name in ("rsp", "esp", "sp"):
        if architecture.registers().find(name) is None:
            continue
        try:
            return int(pending.read_register(name))
        except gdb.error:
            return None
    return None


def stack_holds(sp, address, size):
    """Whether the known memory from the stack pointer on has the return address."""
    word = address.to_bytes(size, "little")
    at = sp
    for _ in range(256):
        try:
            part = gdb.selected_inferior().read_memory(at, 256).tobytes()
        except gdb.error:
            # Maybe a shorter part is known.
            part = b""
            for i in range(0, 256, size):
                try:
                    part += gdb.selected_inferior().read_memory(at + i, size).tobytes()
                except gdb.error:
                    break
        if any(part[i:i + size] == word for i in range(0, len(part), size)):
            return True
        if len(part) < 256:
            return False
        at += 256
    return False


class FlowUnwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("flowback")
        self.told = Frames()

    def __call__(self, pending):
        architecture = pending.architecture()
        if architecture.registers().find(FRAME) is None:
            return None
        register = pending.read_register(FRAME)
        number = int(register)
        counter = pending.read_register(counter_of(architecture))
        size = 4 if counter.type.sizeof == 4 else 8
        if number == 0:
            self.told.load()
        frames = self.told.frames
        # Frames that gdb itself unwound all have the number 0.
        pc = int(counter)
        if number == 0 and frames and frames[0][0] != pc:
            number = next((i for i, frame in enumerate(frames) if frame[0] == pc), len(frames))
        if number >= len(frames):
            return None
        sp = stack_pointer(pending, architecture)
        if sp is not None:
            # A core dump, and what follows from it, may have what gdb's own unwinders need.
            if number + 1 >= len(frames) or stack_holds(sp, frames[number + 1][0], size):
                return None
        _, entry, height = frames[number]
        sp = HIGHEST[size] - self.told.stack * FOR_STACK[size] - height * FOR_FRAME
        unwound = pending.create_unwind_info(Identity(gdb.Value(sp), gdb.Value(entry)))
        # Behind the outermost frame comes itself again, where gdb ends the stack.
        caller = min(number + 1, len(frames) - 1)
        if number == caller and self.told.missing:
            gdb.write("flowback: gdb shows the innermost %d frames of %d\n"
                      % (len(frames), len(frames) + self.told.missing), gdb.STDERR)
            self.told.missing = 0  # said once at each stop
        address = gdb.Value(frames[caller][0]).cast(counter.type)
        unwound.add_saved_register(counter_of(architecture), address)
        unwound.add_saved_register(FRAME, gdb.Value(caller).cast(register.type))
        return unwound


class FrameName(FrameDecorator):
    """A frame as gdb shows it without a filter: "f (...)", not "f(int) (...)"."""

    def function(self):
        name = super().function()
        if not isinstance(name, str):
            # An address, which gdb would look up as it is: behind a call at a function's end, the next one begins.
            name = self.inferior_frame().name() or told_name(self.inferior_frame().pc()) or "??"
        if not name.endswith(")"):
            return name
        depth = 0
        for at in range(len(name) - 1, 0, -1):
            depth += {")": 1, "(": -1}.get(name[at], 0)
            if depth == 0:
                return name[:at]
        return name


    def frame_locals(self):
        frame = self.inferior_frame()
        return [Shown(symbol, frame) for symbol in symbols_of(frame, False) or []]


def told_name(pc):
    """Symbols of code that no file has, such as that which a program makes at run time."""
    told = gdb.execute("maintenance packet qFlowbackName:%x" % pc, to_string=True)
    name = re.search(r'received: "([0-9a-f]+)"', told)
    return bytes.fromhex(name.group(1)).decode(errors="replace") if name else None


class FlowFilter:
    """With a filter gdb says nothing of a stack that ends where it begins."""

    def __init__(self):
        self.name = "flowback"
        self.priority = 1
        self.enabled = True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return map(FrameName, frames)


def is_replay():
    """Whether the server that gdb is connected to is flowback."""
    try:
        return gdb.selected_frame().architecture().registers().find(FRAME) is not None
    except gdb.error:
        return False


class Settings:
    """gdb's settings for a replay. Another target in the same gdb finds the user's own."""

    # The first stack of a thread takes a pass over its flow; gdb would wait for two seconds.
    # Arguments and returned values lie in registers and on the stack, which have no values. gdb
    # would print zero for a returned value in an unavailable register. A step moves the thread that
    # gdb shows; the others stand where they were at that time.
    OURS = {"remotetimeout": "3600", "print frame-arguments": "presence", "print entry-values": "no",
            "print finish": "off"}
    CONNECTED = {"scheduler-locking": "step"}

    def __init__(self):
        self.users = {}
        self.waits = False  # for a stop, to give more back

    def take(self, settings):
        for name, value in settings.items():
            try:
                before = gdb.parameter(name)
                gdb.execute("set %s %s" % (name, value), to_string=True)
                self.users.setdefault(name, before)
            except (gdb.error, RuntimeError):
                pass  # an older gdb, or no connection came about

    def quiet(self):
        """gdb then prints no stops. Returns what it did before; None: this gdb always prints them."""
        try:
            before = gdb.parameter("suppress-cli-notifications")
            gdb.execute("set suppress-cli-notifications on")
            return before
        except (gdb.error, RuntimeError):
            return None

    def loud(self, before):
        if before is not None:
            gdb.execute("set suppress-cli-notifications " + ("on" if before else "off"))

    def give_back(self):
        for name, value in list(self.users.items()):
            if isinstance(value, bool):
                value = "on" if value else "off"
            try:
                gdb.execute("set %s %s" % (name, value), to_string=True)
                del self.users[name]
            except gdb.error:
                pass  # gdb takes some only while there is a target: the next one's first stop


settings = Settings()


def read_program_again():
    """The process may be another program where the machine went (exec)."""
    told = gdb.execute("maintenance packet qXfer:exec-file:read:%x:0,fff" % gdb.selected_inferior().pid, to_string=True)
    path = re.search(r'received: "[lm](.+)"', told)
    shown = gdb.current_progspace().filename or ""
    if path and path.group(1) != shown.replace("target:", "", 1):
        # Without files, gdb takes the registers that the server describes.
        for words in ("nosharedlibrary", "file", "unset tdesc filename", "file target:" + path.group(1), "sharedlibrary"):
            gdb.execute(words, to_string=True)


class Monitor:
    """`monitor goto` moves the machine under gdb, which must ask again. Nothing else does: gdb loses the frame that the
    user chose, and 13 fails if the commands of a breakpoint make it ask in the middle of a stop."""

    def __init__(self):
        self.moment = ""

    def told(self):
        told = gdb.execute("maintenance packet qFlowbackMoment", to_string=True)
        return re.search(r'received: "([^";]*);?(?:p([0-9a-f]+)[.]([0-9a-f]+))?', told).groups()

    def before(self):
        """The command is about the thread that the user looks at."""
        if is_replay():
            inferior, lwp, _ = gdb.selected_thread().ptid
            gdb.execute("maintenance packet qFlowbackMonitorOf:p%x.%x" % (inferior, lwp), to_string=True)
            self.moment = self.told()[0]

    def after(self):
        if not is_replay():
            return
        moment, process, number = self.told()
        if moment != self.moment:
            gdb.execute("maintenance flush register-cache", to_string=True)
            read_program_again()
        for thread in gdb.selected_inferior().threads() if number else ():
            if thread.ptid[:2] == (int(process, 16), int(number, 16)):
                thread.switch()


def before_connecting():
    settings.take(Settings.OURS)


def connected():
    if is_replay():
        settings.take(Settings.CONNECTED)
        Variables("info locals", False)
        Variables("info args", True)
    else:
        settings.give_back()


def flowback_connect(place):
    """Connects without the line that gdb prints for each file that it reads."""
    gdb.execute("target remote " + place, to_string=True)


class History:
    """gdb's own history commands, which need its record target. That target would step back through its window
    alone, and the server would not move. So it starts with the commands that list it, and ends before a step back."""

    LISTS = ("record hook-instruction-history", "record hook-function-call-history")
    GOES_BACK = ("hook-reverse-stepi", "hook-reverse-nexti",
                 "hook-reverse-continue", "hook-reverse-finish", "set hook-exec-direction")

    def __init__(self):
        self.started = False
        for hooks, function in ((self.LISTS, "begin"), (self.GOES_BACK, "end")):
            for hook in hooks:
                gdb.execute("define %s\npython flowback_history.%s()\nend" % (hook, function), to_string=True)

    def begin(self):
        if is_replay() and gdb.current_recording() is None:
            gdb.execute("record btrace bts", to_string=True)
            self.started = True

    def end(self):
        if self.started and gdb.current_recording() is not None:
            gdb.execute("record stop", to_string=True)
        self.started = False


def may_return_in_memory(frame):
    """Whether gdb may look in memory for what the frame's function returns. Which structures lie there depends on
    what the compiler knows of them."""
    function = frame.function()
    if function is None or frame.type() == gdb.INLINE_FRAME or "Reverse" in gdb.execute("show exec-direction", False, True):
        return False
    kind = function.type.target().strip_typedefs()
    return kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)


class BeforeFinish(gdb.Command):
    """gdb reads a structure that a function returned as soon as it returns. The address is in a register, which has
    no value, and gdb then fails without printing where it stopped. So the run goes on in another way: at address 0
    nothing runs, but `advance` also stops where the frame returns. Only an error keeps gdb from its own way."""

    def __init__(self):
        super().__init__("flowback-before-finish", gdb.COMMAND_OBSCURE)

    def invoke(self, _words, _from_tty):
        if not is_replay():
            return
        frame = gdb.selected_frame()
        if frame.older() is None or not may_return_in_memory(frame):
            return
        gdb.execute("advance *0")
        raise gdb.GdbError("flowback: what the function returned is not known")


def others_moved():
    """A step resumes one thread, and gdb keeps what it knows of the others. But they stand where they were at the time
    that the step has led to."""
    if is_replay() and len(gdb.selected_inferior().threads()) > 1:
        gdb.execute("maintenance flush register-cache", to_string=True)


class OverThrows:
    """A step back from where an exception is caught comes to the unwinder's code, many calls deeper. gdb takes that for
    the function that it was to come to. The step goes on from there: back to the call that led to the throw, or, for
    reverse-step, to the throw itself, and to the begin of that line."""

    def __init__(self):
        self.call = None
        self.told = Frames()
        self.busy = False
        for command, into in (("reverse-next", False), ("reverse-step", True)):
            gdb.execute("define hook-%s\npython flowback_throws.before()\nend" % command, to_string=True)
            gdb.execute("define hookpost-%s\npython flowback_throws.after('%s', %s)\nend" % (command, command, into),
                        to_string=True)

    def before(self):
        flowback_history.end()
        if self.busy or not is_replay():
            return
        self.told.load()
        frames = self.told.frames
        self.call = (self.told.stack, *frames[0][1:]) if frames else None

    def deeper(self, into):
        """How many calls deeper the thread is than where the step is to end; 0 if something else stopped it."""
        if "after being stepped" not in gdb.execute("info program", to_string=True):
            return 0
        self.told.load()
        places = self.told.frames
        for i, (pc, entry, height) in enumerate(places):
            if (self.told.stack, entry, height) == self.call or (into and gdb.find_pc_line(pc).line != 0):
                return i
        return 0

    def after(self, command, into):
        others_moved()
        if self.busy or self.call is None or not is_replay():
            return
        deeper = self.deeper(into)
        if deeper == 0:
            return
        self.busy = True
        quiet = settings.quiet()
        try:
            # gdb goes back to the call of the innermost frame, whichever is selected.
            for left in range(deeper - 1, -1, -1):
                gdb.execute("reverse-finish", to_string=True)
                if self.deeper(into) != left:
                    break
            settings.loud(quiet)
            gdb.execute(command if self.deeper(into) == 0 else "frame")
        finally:
            settings.loud(quiet)
            self.busy = False


WATCHPOINTS = (gdb.BP_WATCHPOINT, gdb.BP_HARDWARE_WATCHPOINT, gdb.BP_READ_WATCHPOINT, gdb.BP_ACCESS_WATCHPOINT)


def breakpoint_created(point):
    """Says at once what gdb would find out after a run through the whole recording."""
    if not point.visible or not is_replay():
        return
    if point.type in WATCHPOINTS:
        gdb.write("flowback: watchpoint %d: the trace has no values to watch, so no command can run on; delete it\n"
                  % point.number)
        return
    # gdb before 13 does not return a breakpoint's places. A catchpoint of signals is nowhere, which
    # is address 0.
    places = [place.address for place in getattr(point, "locations", None) or [] if place.address]
    if places:
        tell_of_never(point.number, places)


def dprintf_made():
    """gdb has no event for these."""
    number = gdb.convenience_variable("bpnum")
    if number is None or not is_replay():
        return
    told = gdb.execute("info breakpoints %d" % int(number), to_string=True)
    places = [int(place, 16) for place in re.findall(r"^[0-9.]+ .* [yn] +(0x[0-9a-f]+) ", told, re.MULTILINE)]
    if "dprintf" in told and places:
        tell_of_never(int(number), places)


def tell_of_never(number, places):
    words = ",".join("%x" % place for place in places[:100])
    told = gdb.execute("maintenance packet qFlowbackNeverRan:" + words, to_string=True)
    if '"never"' in told:
        gdb.write("flowback: breakpoint %d: nothing ran there in this process\n" % number)
    elif '"lost"' in told:
        gdb.write("flowback: breakpoint %d: nothing ran there where the flow was recorded; parts of it are missing\n"
                  % number)


def stopped(_event):
    if not is_replay():
        settings.give_back()
    if not settings.users or is_replay():
        settings.waits = False
        gdb.events.stop.disconnect(stopped)


def disconnected(_event):
    """Some settings can be given back at the next target's first stop only. During a replay nothing listens to stops:
    gdb 13 crashes when somebody does and the commands of a breakpoint resume the program."""
    settings.give_back()
    if settings.users and not settings.waits:
        settings.waits = True
        gdb.events.stop.connect(stopped)


flowback_history = History()
flowback_monitor = Monitor()
flowback_throws = OverThrows()
BeforeFinish()
gdb.execute("define hook-monitor\npython flowback_monitor.before()\nend", to_string=True)
gdb.execute("define hookpost-monitor\npython flowback_monitor.after()\nend", to_string=True)
gdb.execute("define hookpost-dprintf\npython dprintf_made()\nend", to_string=True)
gdb.execute("define hook-finish\nflowback-before-finish\nend", to_string=True)
for step in ("step", "stepi", "next", "nexti", "reverse-stepi", "reverse-nexti"):
    gdb.execute("define hookpost-%s\npython others_moved()\nend" % step, to_string=True)
for target in ("remote", "extended-remote"):
    gdb.execute("define target hook-%s\npython before_connecting()\nend" % target, to_string=True)
    gdb.execute("define target hookpost-%s\npython connected()\nend" % target, to_string=True)
gdb.events.breakpoint_created.connect(breakpoint_created)
if hasattr(gdb.events, "connection_removed"):
    gdb.events.connection_removed.connect(disconnected)
gdb.unwinder.register_unwinder(None, FlowUnwinder(), replace=True)
FlowFilter()
