# SPDX-License-Identifier: MIT
"""The guard speaks up when a loop takes more than is allowed, and only then."""
import contextlib
import io
import json
import unittest

import guard

NAME = "guard_flow"


class Comparing(unittest.TestCase):
    def said(self, recorded, measured):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            slower = guard.compare(recorded, {NAME: measured}, "RECORD IT")
        return slower, text.getvalue()

    def test_more_than_the_slack_fails(self):
        slower, text = self.said({NAME: 1000}, 1051)
        self.assertEqual(slower, 1)
        for part in ("FAILED", guard.LOOPS[NAME], "5.1% more", "RECORD IT"):
            self.assertIn(part, text)

    def test_the_slack_is_allowed(self):
        for measured in (951, 1000, 1049):
            slower, text = self.said({NAME: 1000}, measured)
            self.assertEqual(slower, 0)
            self.assertNotIn("RECORD IT", text)

    def test_a_gain_asks_to_be_kept(self):
        slower, text = self.said({NAME: 1000}, 940)
        self.assertEqual(slower, 0)
        self.assertIn("WARNING", text)
        self.assertIn("RECORD IT", text)

    def test_a_loop_without_a_figure_fails(self):
        self.assertEqual(self.said({}, 1000)[0], 1)

    def test_every_loop_has_a_figure(self):
        recorded = json.loads(guard.RECORDED.read_text(encoding="utf-8"))["instructions"]
        self.assertEqual(set(recorded), set(guard.LOOPS))


if __name__ == "__main__":
    unittest.main()
