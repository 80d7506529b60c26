# SPDX-License-Identifier: MIT
"""What commands are asked of a recording before it is packed, and of the bundle."""

from commands import run

# What each command is asked; {} is the input.
COMMANDS = [
    ["decode", "{}", "--as", "instructions"],
    ["decode", "{}", "--as", "calls"],
    ["decode", "{}", "--as", "lines"],
    ["decode", "{}", "--as", "digest"],
    ["decode", "{}", "--as", "summary", "--json"],
    ["stack", "{}", "--at", "end"],
    ["stack", "{}", "--at", "50%", "--json"],
    ["timeline", "{}"],
    ["timeline", "{}", "--json"],
    ["spikes", "{}", "add", "--by", "instructions"],
    ["locks", "{}", "--all"],
    ["coverage", "{}"],
    ["coverage", "{}", "--format", "annotate"],
    ["coverage", "{}", "--format", "lcov"],
    ["branches", "{}"],
    ["branches", "{}", "--annotate", "add"],
    ["export", "{}", "--to", "autofdo", "--object", "program"],
    ["export", "{}", "--to", "brstack"],
    ["query", "{}", "SELECT function, calls FROM functions; SELECT function, ip, source(ip) FROM calls"],
]


def say(flowback, words, name, folder, *more):
    """The status and the two outputs of a command on that input, whose own name does not count."""
    done = run([flowback] + [word.format(name) for word in words] + list(more), folder, status=None)
    return done.returncode, done.stdout.replace(name, "INPUT"), done.stderr.replace(name, "INPUT")
