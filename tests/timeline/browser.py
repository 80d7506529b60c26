# SPDX-License-Identifier: MIT
"""A headless Chromium, ruled by its DevTools protocol over two pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest

LACKS = "FLOWBACK_TEST_HOST_LACKS"


def program():
    """Chromium's path; None where there is none, or the host is to be one that lacks it."""
    if "chromium" in os.environ.get(LACKS, "").split(","):
        return None
    return shutil.which("chromium")


class Browser:
    def __init__(self, width=1200, height=800):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands_out, commands_in = os.pipe()
        answers_out, answers_in = os.pipe()

        def become():
            # Both numbers may be among those that are to be moved.
            first, second = os.dup(commands_out), os.dup(answers_in)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--remote-debugging-pipe",
             f"--window-size={width},{height}", f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=become, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_out)
        os.close(answers_in)
        self.commands, self.answers = commands_in, answers_out
        self.number, self.pending, self.events = 0, b"", []
        self.session = None
        target = None
        while target is None:
            pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
            target = pages[0]["targetId"] if pages else None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.profile.cleanup()

    def _message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message(90)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.ask("document.readyState === 'complete'"):
            time.sleep(0.05)

    def ask(self, expression):
        """The value of the expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def drawn(self):
        """Waits until what was asked for has been drawn."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        self.mouse("mouseMoved", x, y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=number)

    def drag(self, x, y, dx, dy):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + dx * step / 5, y + dy * step / 5, button="left", buttons=1)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)

    def wheel(self, x, y, delta, modifiers=0):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=modifiers)

    def key(self, key, text=None):
        more = {"text": text or key} if len(key) == 1 else {}
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowUp": 38, "ArrowDown": 40}
        if key in codes:
            more["windowsVirtualKeyCode"] = codes[key]
        if key == "Enter":
            more["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def problems(self):
        """What the page complained of, and what it wanted from elsewhere."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append("asked for " + url)
        return found


class PageTest(unittest.TestCase):
    """Tests of pages that `make` writes into `folder`. A test fails if a page complains or asks a network."""

    size = (1200, 800)  # of the window

    @classmethod
    def make(cls):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.make()
        cls.browser = Browser(*cls.size)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.events.clear()

    def tearDown(self):
        self.assertEqual(self.browser.problems(), [])

    def open(self, page):
        self.browser.open(page)
        self.browser.drawn()

    def ask(self, expression):
        return self.browser.ask(expression)

    def text(self, name):
        """The words of an element, one a line."""
        return self.ask(f"document.getElementById('{name}').innerText").replace("\t", "\n")
