# SPDX-License-Identifier: MIT
"""Commands that tests run."""

import subprocess


def run(words, folder, status=0):
    """Runs the words in the folder; any status will do where that is None."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=100)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done
