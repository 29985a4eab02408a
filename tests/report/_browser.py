# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its DevTools protocol over pipes."""

import base64
import itertools
import json
import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser():
    """The path of a Chromium; None without one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One tab. Use as a context: the process ends with it."""

    def __init__(self, path, profile):
        commands, self._commands = os.pipe()
        self._results, results = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                 "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        # The protocol's descriptors are 3 and 4.
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{commands} 4>&{results}', path, *flags],
            pass_fds=(commands, results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(results)
        self._ids = itertools.count(1)
        self._unread = b""
        self._session = None
        self.events = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def _read(self):
        while b"\0" not in self._unread:
            part = os.read(self._results, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended")
            self._unread += part
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """The result of a command; events that arrive meanwhile go to self.events."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, path, width, dark=False, media=""):
        """Loads a file in a window of a width, in light or dark mode, on screen or with another media type."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read())

    def evaluate(self, expression):
        """The JSON value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "an exception"))
        return answer["result"].get("value")

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      text="\r" if key == "Enter" and kind == "keyDown" else "")

    def screenshot(self, path):
        height = min(8000, self.evaluate("document.documentElement.scrollHeight"))
        width = self.evaluate("document.documentElement.clientWidth")
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """Exceptions, and messages such as those on a violated policy."""
        texts = [e["params"]["exceptionDetails"]["text"] for e in self.events
                 if e.get("method") == "Runtime.exceptionThrown"]
        return texts + [e["params"]["entry"]["text"] for e in self.events if e.get("method") == "Log.entryAdded"]
