#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""region_test.py FLOWBACK SERVER...: `spikes --region` of what a program names itself.

The judges are the program's own counts, and the names that the recorder counted (`info`)."""

import json
import os
import re
import subprocess
import sys
import tempfile


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, (command, done)
    return done


def counted(text):
    return {name: (int(all), int(slow)) for name, all, slow in re.findall(r"^(\w+) (\d+) (\d+)$", text, re.M)}


def check(flowback, recording, truth):
    for name, (whole, slow) in truth.items():
        told = json.loads(run(flowback, "spikes", recording, "--region", name, "--json").stdout)
        assert told["instances"]["whole"] == whole, (recording, name, told["instances"])
        assert told["slow"] == slow, (recording, name, told["slow"])
        if name == "request":
            assert "called (anonymous namespace)::Reload()" in told["sentences"][1], told["sentences"]
        if name == "background":
            assert told["causes"][0]["kind"] in ("trips", "branch"), told["causes"]
    all_names = json.loads(run(flowback, "spikes", recording, "--region", "*e*", "--json").stdout)
    assert all_names["instances"]["whole"] == truth["request"][0], "parse lies within request"
    none = run(flowback, "spikes", recording, "--region", "nothing", status=2)
    assert "never begun" in none.stderr and "request (%d)" % truth["request"][0] in none.stderr, none
    assert "whose names the code does not contain (1)" in none.stderr, none
    some = run(flowback, "spikes", recording, "--region", "request")
    assert "1 region" in some.stderr and "made when" in some.stderr, some


def main():
    flowback, *servers = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["FLOWBACK_CACHE"] = folder + "/cache"
        for server in servers:
            truth = counted(run(flowback, "record", "-o", "all.data", "--", server).stdout)
            assert set(truth) == {"request", "parse", "background"}, truth
            check(flowback, "all.data", truth)
            again = counted(run(flowback, "record", "--regions", "-o", "regions.data", "--", server).stdout)
            assert again == truth
            names = run(flowback, "info", "regions.data").stdout
            for name in ("request", "background"):  # `parse` is not an outermost one
                assert re.search(r"^ +%d +0 +\d+ +\d+ +%s$" % (truth[name][0], name), names, re.M), names
            check(flowback, "regions.data", truth)
        both = run(flowback, "spikes", "all.data", "main", "--region", "request", status=2)
        assert "exclude" in both.stderr, both
        both = run(flowback, "spikes", "all.data", "--auto", "--region", "request", status=2)
        assert "exclude" in both.stderr, both


main()
