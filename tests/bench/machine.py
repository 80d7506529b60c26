# SPDX-License-Identifier: MIT
"""What a measurement was made on."""
import os
import pathlib
import platform
import re
import shutil
import subprocess


def load():
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _first_line(*command):
    if shutil.which(command[0]) is None:
        return "not installed"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else "unknown"


def _system():
    found = re.search(r'^PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text(), re.M)
    return found[1] if found else platform.system()


def _processor():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def describe(binaries):
    """name -> text."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} CPUs",
        "system": f"{_system()}, Linux {platform.release()}",
        "compiler": _first_line("c++", "--version"),
        "libipt": _first_line("dpkg-query", "-W", "-f", "${Version}", "libipt2"),
        "perf": _first_line("perf", "--version"),
        "flowback": _first_line(str(binaries / "flowback"), "--version"),
        "load": load(),
    }
