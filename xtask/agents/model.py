"""A model that plays a script: the part of the Responses API that Codex needs, on loopback.

It remembers every request. A move of its script is one answer: a call of a tool, or its last words of
a turn; where the script has ended it holds the request and never answers, as a model that thinks.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def call(name, arguments):
    """The model calls a tool of ours."""
    return {"namespace": "mcp__outlive", "name": name, "arguments": json.dumps(arguments)}


def shell(command):
    """The model runs a command in its own shell."""
    return {"name": "exec_command", "arguments": json.dumps({"cmd": command})}


SAY = {}
"""The model ends its turn."""


class Model:
    def __init__(self):
        self.moves = []
        self.requests = []
        self.calls = 0
        self.held = threading.Event()
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def play(self, *moves):
        with self.lock:
            self.moves = list(moves)
            self.held.clear()

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def next_item(self, request):
        """What it answers, or None if it only thinks."""
        with self.lock:
            self.requests.append(request)
            if not self.moves:
                return None
            move = self.moves.pop(0)
            if move is SAY:
                text = [{"type": "output_text", "text": "done"}]
                return {"type": "message", "id": "msg", "role": "assistant", "content": text}
            self.calls += 1
            return {
                "type": "function_call",
                "id": f"fc_{self.calls}",
                "call_id": f"call_{self.calls}",
                **move,
            }

    def results(self):
        """What each call of a tool brought, by its id, as far as the model has been told."""
        return {
            item["call_id"]: item["output"]
            for request in self.requests
            for item in request["input"]
            if item.get("type") == "function_call_output"
        }

    def tellings(self, text):
        """The different pieces of conversation that hold a text. History is sent with every request;
        the longest request has all of it."""
        whole = max((request["input"] for request in self.requests), key=len)
        return [item for item in whole if text in json.dumps(item)]


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer("application/json", b'{"data": [], "models": []}')

        def do_POST(self):
            length = int(self.headers.get("content-length", 0))
            item = model.next_item(json.loads(self.rfile.read(length)))
            if item is None:
                model.held.set()
                model.over.wait()
                return
            usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
            events = [
                {"type": "response.created", "response": {"id": "r"}},
                {"type": "response.output_item.done", "item": item},
                {"type": "response.completed", "response": {"id": "r", "usage": usage}},
            ]
            lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
            self.answer("text/event-stream", "".join(lines).encode())

        def answer(self, kind, body):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    return Handler
