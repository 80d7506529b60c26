# SPDX-License-Identifier: MIT
"""check.py CHECK ROOT: prints what breaks a convention, one a line; status 1 if anything does."""

import importlib
import sys

from project import Project

if __name__ == "__main__":
    name, root = sys.argv[1:]
    findings = list(importlib.import_module(name).check(Project(root)))
    print("\n".join(findings) or f"{name}: kept")
    sys.exit(bool(findings))
