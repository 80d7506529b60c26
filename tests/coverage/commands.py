# SPDX-License-Identifier: MIT
"""Runs commands for tests."""

import subprocess


def run(words, status=0, **more):
    """The finished process. Fails, and says what the command said, if it ends with another status."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}, not {status}: {done.stderr}")
    return done


def output_of(words, **more):
    """What the command printed."""
    return run(words, **more).stdout
