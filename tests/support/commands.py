# SPDX-License-Identifier: MIT
"""Commands that tests run."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest


def run(words, folder, status=0, **more):
    """Runs the words in the folder; any status will do where that is None."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=100, **more)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


LARGEST_DUMP = 1 << 30  # bytes; the tests' programs have smaller ones


def why_no_core_dump(pattern="/proc/sys/kernel/core_pattern"):
    """Why the emulator, which follows the kernel's rules, writes no core dump that can be read here; None: it does."""
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if limit != resource.RLIM_INFINITY and limit < LARGEST_DUMP:
        return f"no process may dump core here, or only a part of it (ulimit -H -c is {limit} bytes)"
    with open(pattern, encoding="utf-8") as file:
        name = file.read().strip()
    if name.startswith("|"):
        return None
    folder = os.path.dirname(name)
    if not name or (os.path.exists(name) and not os.path.isfile(name)):
        return f"core dumps go to no file here ({pattern} has '{name}')"
    if folder and not os.access(folder, os.W_OK):
        return f"core dumps go to {folder}, which cannot be written to"
    if folder and "%p" not in name.lower():
        return f"the core dumps of all programs go to one file here, {name}"
    return None


def needs_core_dump(test, told):
    """Skips the test where this machine writes no dump, and fails it where `crash` did not find the one it wrote."""
    if why_no_core_dump():
        test.skipTest(why_no_core_dump())
    test.assertTrue(told["has_core"], told["sentence"])


def test_with_core_dumps():
    """Runs the main program's tests, whose commands may dump cores and have a cache of their own. Ends with 77 where
    this machine writes no core dump: then a part of the tests was left out."""
    # Without this, a recorder under the address sanitizer takes the limit away, the program's too.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":disable_coredump=0"
    resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)[1:] * 2)
    os.environ["FLOWBACK_CACHE"] = tempfile.mkdtemp()
    try:
        result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    finally:
        shutil.rmtree(os.environ["FLOWBACK_CACHE"])
    for why in sorted({why for _, why in result.skipped} - {why_no_core_dump()}):
        print("left out:", why, flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    if why_no_core_dump():
        print("skipped in part:", why_no_core_dump(), flush=True)
        sys.exit(77)
