"""A model that plays a script, on loopback, for any agent.

A script names what is done after each prompt: `{"start": [MOVE, …], …}`. The prompt `[[start]] …` begins the
moves of `start`, each of which may be a function of the conversation so far; how many of them are done is counted in the conversation that the agent sends. So the script
continues at the right place when an agent is killed and resumed, and each helper plays its own moves. After
its last move the model says that it is done.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dialects import DIALECTS

THINKS = 0.35
"""Every answer takes so long, in seconds. What began that long after a delivery counts as a sign that it was
read; a real model is slower."""
MARK = re.compile(r"\[\[(\w+)\]\]")


def say(text="done"):
    return {"text": text}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """An agent that was killed has closed its connections."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)


class Model:
    def __init__(self):
        self.script = {}
        self.turns = []
        """The conversation that each request sent, as a list of items; without the requests of side jobs."""
        self.played = set()
        """The prompts whose last move was made."""
        self.side_jobs = []
        self.over = threading.Event()
        self.server = Server(("127.0.0.1", 0), handler(self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def prompt_of(self, items):
        """The last prompt of a conversation, and how many moves followed it."""
        name, done = None, 0
        for item in items:
            marks = MARK.findall(item.text) if item.by == "user" else []
            known = [mark for mark in marks if mark in self.script]
            if known:
                name, done = known[-1], 0
            elif item.by == "model":
                done += 1
        return name, done

    def answer(self, dialect, request, path):
        if not dialect.is_turn(request, path):
            self.side_jobs.append((path, request))
            return dialect.answer(say("ok"), request, path)
        items = list(dialect.items(request))
        self.turns.append(items)
        self.over.wait(THINKS)
        name, done = self.prompt_of(items)
        moves = self.script.get(name, [])
        if done + 1 >= len(moves):
            self.played.add(name)
        move = moves[done] if done < len(moves) else say()
        return dialect.answer(move(items) if callable(move) else move, request, path)

    def conversation(self, name):
        """The conversation with this prompt, as the model was sent it last."""
        mark = f"[[{name}]]"
        for items in reversed(self.turns):
            if any(mark in item.text for item in items if item.by == "user"):
                return items
        return []


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send("application/json", '{"data": [], "models": []}')

        do_HEAD = do_GET

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            dialect = next((known for known in DIALECTS if self.path.startswith(known.path)), None)
            if dialect is None:
                self.send("application/json", "{}")
                return
            try:
                self.send(*model.answer(dialect, json.loads(body), self.path))
            except OSError:
                # The agent was killed meanwhile.
                self.close_connection = True

        def send(self, kind, body):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body.encode())))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body.encode())

        def log_message(self, *words):
            pass

    return Handler
