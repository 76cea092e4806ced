"""A person at a terminal: sees what a program draws, and types."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time

PATIENCE = 120
"""Nothing takes longer, in seconds, even on a busy machine."""
MOVES = re.compile(r"\x1b\[[0-9;]*[CGHf]")
ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][0-9A-B]|[=>78])")
SIZE = struct.pack("HHHH", 50, 160, 0, 0)


def until(what, is_so, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.05)
    return found


class Terminal:
    def __init__(self, args, env, directory):
        self.side, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, SIZE)

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            args, env=env, cwd=directory, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=lead
        )
        os.close(theirs)
        self.drawn = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while data := os.read(self.side, 65536):
                self.drawn += data
                # Terminals answer these questions; some programs wait for it.
                for question, answer in [(b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62;22c")]:
                    if question in data:
                        os.write(self.side, answer)
        except OSError:
            pass

    @property
    def text(self):
        """Everything that was ever drawn, without colours, and with spaces where it moved on."""
        text = MOVES.sub(" ", self.drawn.decode(errors="replace"))
        return ESCAPES.sub("", text)

    def shows(self, text):
        return text in self.text

    def until_it_shows(self, text):
        deadline = time.monotonic() + PATIENCE
        while not self.shows(text):
            assert time.monotonic() < deadline, f"{text!r} is not in:\n{self.text[-3000:]}"
            time.sleep(0.05)

    def type(self, text):
        os.write(self.side, text.encode())

    def presses(self, key, has_helped):
        """Presses a key until it has helped: a program may not listen yet when it draws."""

        def pressed():
            self.type(key)
            return any(has_helped() or time.sleep(0.1) for _ in range(15))

        assert has_helped() or until(f"{key!r} helps", pressed), self.text[-3000:]

    def end(self):
        """Ends the program, and waits for it."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # The next terminal gets the same number, and a reader that was still at work would take what is drawn there.
        self.reader.join(PATIENCE)
        os.close(self.side)
