# SPDX-License-Identifier: MIT
"""A client that others wrote, from npm, at one recording. Without npm, or where it reaches no registry, it is skipped.

  judge_client.py FLOWBACK COMPILER SOURCE"""

import os
import shutil
import subprocess
import sys
import tempfile

# With all that the client depends on.
PACKAGES = ["@vscode/debugadapter-testsupport@1.68.0", "@vscode/debugprotocol@1.68.0"]


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def install(folder):
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip("there is no node with npm")
    words = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix", folder, *PACKAGES]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=folder)
    except subprocess.TimeoutExpired:
        skip("npm does not answer")
    if done.returncode != 0:
        skip("npm cannot install " + PACKAGES[0])


def main():
    flowback, compiler, source = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        install(folder)
        shutil.copy(os.path.join(here, "client_of_editors.js"), folder)
        program, recording = os.path.join(folder, "steps"), os.path.join(folder, "steps.data")
        subprocess.run([compiler, "-g", "-O0", "-o", program, source], check=True)
        subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
        adapter = os.path.join(folder, "adapter.sh")
        with open(adapter, "w") as script:
            script.write(f"exec '{flowback}' replay --dap --cache-dir '{folder}/cache'\n")
        done = subprocess.run(["node", "client_of_editors.js", adapter, recording, source], cwd=folder, timeout=120)
        sys.exit(done.returncode)


main()
