"""A person at a terminal: sees what a program draws, and types."""

import os
import pty
import re
import signal
import struct
import fcntl
import subprocess
import termios
import threading

MOVES = re.compile(r"\x1b\[[0-9;]*[CGHf]")
ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][0-9A-B]|[=>78])")
SIZE = struct.pack("HHHH", 50, 160, 0, 0)


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
        threading.Thread(target=self.read, daemon=True).start()

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

    def type(self, text):
        os.write(self.side, text.encode())

    def end(self, how=signal.SIGTERM):
        """Ends the program, and waits for it."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.side)
