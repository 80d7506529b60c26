# SPDX-License-Identifier: MIT
"""Commands that tests run."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest


def run(words, folder, status=0):
    """Runs the words in the folder; any status will do where that is None."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=100)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def test_with_core_dumps():
    """Runs the main program's tests, whose commands may dump cores and have a cache of their own."""
    resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)[1:] * 2)
    os.environ["FLOWBACK_CACHE"] = tempfile.mkdtemp()
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result.wasSuccessful() or sys.exit(1)
    finally:
        shutil.rmtree(os.environ["FLOWBACK_CACHE"])
