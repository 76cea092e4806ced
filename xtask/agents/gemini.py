"""The real Gemini CLI, offline, against a scripted model on loopback, with what `outlive setup gemini` writes.

It is told at the start of the conversation which session it is, starts a job as that, and runs something else
in its shell, during which the job ends: the hook that is called after that tells, once.

    gemini.py NODE GEMINI OUTLIVE DIRECTORY
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 120
CLAIM = 1
"""For so many seconds, here, an event that was told counts as told though that was not noted."""
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
}


class Model(ThreadingHTTPServer):
    """Plays one move of its script for each request of a turn. A move is made from what it was sent."""

    daemon_threads = True

    def __init__(self, moves):
        super().__init__(("127.0.0.1", 0), Answer)
        self.moves, self.requests = list(moves), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def part(self, request):
        self.requests.append(json.dumps(request["contents"]))
        assert self.moves, "it asks once more than the script has moves"
        return self.moves.pop(0)(self.requests[-1])


class Answer(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_turn = ":streamGenerateContent" in self.path
        part = self.server.part(request) if is_turn else {"text": "{}"}
        content = {"role": "model", "parts": [part]}
        said = json.dumps({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})
        kind, said = ("text/event-stream", f"data: {said}\r\n\r\n") if is_turn else ("application/json", said)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *words):
        pass


def shell(command):
    return {"functionCall": {"name": "run_shell_command", "args": {"command": command}}}


def session_in(request):
    return re.search(r"OUTLIVE_SESSION=(\S+) outlive", request)[1]


def script(home, gate):
    waits = f"until [ -e {gate} ]; do sleep 0.05; done; exit 7"
    over = f"touch {gate}; while ls {home}/live/*; do sleep 0.05; done 2>/dev/null; echo the shell is done"
    return [
        lambda request: shell(f"outlive run --session {session_in(request)} --name build --shell '{waits}'"),
        lambda request: shell(over),
        lambda request: {"text": "done"},
    ]


def prepare(outlive, node, directory, model):
    """The environment of a Gemini that has been set up."""
    home = os.path.join(directory, "outlive")
    os.mkdir(home, 0o700)
    with open(os.path.join(home, "config.toml"), "w") as config:
        config.write(f'[inbox]\nclaim = "{CLAIM}s"\n')
    os.makedirs(os.path.join(directory, ".gemini"))
    with open(os.path.join(directory, ".gemini", "settings.json"), "w") as settings:
        json.dump(SETTINGS, settings)
    agents = ("CODEX", "CLAUDE", "GEMINI", "GOOGLE", "OUTLIVE")
    env = {key: value for key, value in os.environ.items() if not key.startswith(agents)} | {
        "HOME": directory,
        "OUTLIVE_HOME": home,
        "PATH": os.pathsep.join([os.path.dirname(outlive), os.path.dirname(node), os.environ["PATH"]]),
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{model.server_port}",
    }
    subprocess.run([outlive, "setup", "gemini", "--yes"], env=env, check=True, capture_output=True)
    return env


def asked(outlive, env, *args):
    """As somebody else, so that looking tells nobody."""
    args = [outlive, *args, "--json"]
    ran = subprocess.run(args, env=env | {"OUTLIVE_SESSION": "onlooker"}, check=True, capture_output=True)
    return json.loads(ran.stdout)


def main(node, gemini, outlive, directory):
    model = Model(script(os.path.join(directory, "outlive"), os.path.join(directory, "gate")))
    env = prepare(outlive, node, directory, model)
    work = os.path.join(directory, "work")
    os.mkdir(work)
    args = [node, gemini, "--prompt", "start the build", "--yolo", "--skip-trust", "--model", "gemini-2.5-flash"]
    ran = subprocess.run(
        args, env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # The hook at the end of the turn would have made it go on.
    assert len(model.requests) == 3, f"{len(model.requests)} requests"
    session = session_in(model.requests[0])
    job = asked(outlive, env, "show", "build")
    assert (job["session"], job["state"], job["exit_code"]) == (session, "ended", 7), job
    last = model.requests[-1]
    assert "the shell is done" in last, last
    tellings = [request.count("with exit code 7") for request in model.requests]
    assert tellings == [0, 0, 1], f"told so often in each request: {tellings}"
    time.sleep(CLAIM)
    waiting = asked(outlive, env, "inbox", "--session", session, "--peek")["events"]
    assert waiting == [], "it was told, and that was not noted"
    print(f"session {session}: told once, by the hook after a command in its own shell")


main(*sys.argv[1:])
