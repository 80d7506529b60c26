# SPDX-License-Identifier: MIT
"""A client of the Debug Adapter Protocol, on a program's standard input and output."""

import json
import subprocess


class Client:
    def __init__(self, command):
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sent = 0
        self.events = []

    def send(self, command, **arguments):
        self.sent += 1
        message = {"seq": self.sent, "type": "request", "command": command, "arguments": arguments}
        self.send_bytes(json.dumps(message).encode())
        return self.sent

    def send_bytes(self, content):
        self.program.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self.program.stdin.flush()

    def read(self):
        length = None
        while True:
            line = self.program.stdout.readline()
            if not line:
                raise EOFError("flowback has ended")
            if not line.strip():
                break
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.program.stdout.read(length))

    def answer(self, number):
        """The response to a request; events that come before it wait."""
        while True:
            message = self.read()
            if message["type"] == "event":
                self.events.append(message)
            elif message["request_seq"] == number:
                return message

    def ask(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def body(self, command, **arguments):
        response = self.ask(command, **arguments)
        assert response["success"], response
        return response.get("body")

    def event(self, name):
        while True:
            for i, event in enumerate(self.events):
                if event["event"] == name:
                    return self.events.pop(i)["body"]
            self.events.append(self.read())

    def outputs(self):
        texts = [e["body"]["output"] for e in self.events if e["event"] == "output"]
        self.events = [e for e in self.events if e["event"] != "output"]
        return texts

    def run(self, command, **arguments):
        """A request that moves the machine; returns how that ended."""
        self.body(command, **arguments)
        return self.event("stopped")

    def open(self, recording, at="end", **initialize):
        self.body("initialize", adapterID="flowback", **initialize)
        self.body("launch", recording=recording, at=at)
        self.event("initialized")

    def start(self):
        self.body("configurationDone")
        return self.event("stopped")

    def when(self):
        """The number of the instruction that the current thread stands before."""
        text = self.body("evaluate", expression="when", context="repl")["result"]
        return int(text.split("#")[1].split(" ")[0])

    def close(self):
        self.ask("disconnect")
        self.program.stdin.close()
        return self.program.wait(60)
