"""The real Codex, offline, against a scripted model.

It starts a job through our tool and is SIGKILLed; the job ends with nobody there; a new Codex of the
same thread is told of the end, once, and the one after that is told nothing more. With `tool` it is
told in the reply to a call; with `hook` by what `outlive setup codex` wrote, before it asks for anything.

With `after` nobody is killed: the job ends while Codex runs something in its own shell, and the hook that is
called after that tells. Here the hooks are trusted as a person does it, at the question Codex asks.

    codex.py tool|hook|after CODEX OUTLIVE DIRECTORY
"""

import json
import os
import signal
import subprocess
import sys
import time

from model import SAY, Model, call, shell

PATIENCE = 60
CLAIM = 1
"""For so many seconds, here, an event that was told counts as told though that was not noted."""


class World:
    """Homes of Codex and Outlive in one directory, and the programs."""

    def __init__(self, codex, outlive, directory):
        self.codex, self.outlive, self.directory = codex, outlive, directory
        self.codex_home = os.path.join(directory, "codex")
        self.gate = os.path.join(directory, "gate")
        self.bypass = ["--dangerously-bypass-hook-trust"]
        os.makedirs(self.codex_home)
        os.mkdir(os.path.join(directory, "outlive"), 0o700)
        with open(os.path.join(directory, "outlive", "config.toml"), "w") as config:
            config.write(f'[inbox]\nclaim = "{CLAIM}s"\n')
        # Nothing of the agent that may be running this.
        agents = ("CODEX", "CLAUDE", "GEMINI", "OUTLIVE", "OPENAI")
        clean = {key: value for key, value in os.environ.items() if not key.startswith(agents)}
        self.env = clean | {
            "HOME": directory,
            "CODEX_HOME": self.codex_home,
            "OUTLIVE_HOME": os.path.join(directory, "outlive"),
            "PATH": os.path.dirname(outlive) + os.pathsep + os.environ["PATH"],
            "SCRIPTED_KEY": "none",
            "TERM": "xterm-256color",
        }

    def configure(self, route, url):
        provider = f"""
[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""
        server = f"""
[mcp_servers.outlive]
command = {json.dumps(self.outlive)}
args = ["mcp"]
env = {{ OUTLIVE_HOME = {json.dumps(self.env["OUTLIVE_HOME"])} }}
"""
        config = 'model = "scripted"\nmodel_provider = "scripted"\n' + provider
        path = os.path.join(self.codex_home, "config.toml")
        with open(path, "w") as file:
            file.write(config + (server if route == "tool" else ""))
        if route != "tool":
            self.run("setup", "codex", "--yes")
            # Codex gives a server no variable that is not asked for.
            with open(path, "a") as file:
                home = json.dumps(self.env["OUTLIVE_HOME"])
                file.write(f"\n[mcp_servers.outlive.env]\nOUTLIVE_HOME = {home}\n")

    def run(self, *args):
        """As somebody else: what is shown to a caller without a name counts as shown to the owner."""
        env = self.env | {"OUTLIVE_SESSION": "onlooker"}
        ran = subprocess.run([self.outlive, *args], env=env, capture_output=True, text=True)
        assert ran.returncode == 0, f"outlive {args}: {ran}"
        return ran.stdout

    def job(self):
        # Its name means something only in its own session.
        [job] = json.loads(self.run("list", "--limit", "all", "--json"))["jobs"]
        return job

    def servers(self):
        """The MCP servers of Codex that are alive."""
        mark, found = f"OUTLIVE_HOME={self.env['OUTLIVE_HOME']}".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/cmdline", "rb") as words:
                    if mark in environ.read().split(b"\0") and words.read().endswith(b"\0mcp\0"):
                        found.append(pid)
            except OSError:
                continue
        return found

    def waiting(self, session):
        """Ids of the events that wait; looking at them tells nobody."""
        inbox = json.loads(self.run("inbox", "--session", session, "--peek", "--json"))
        return [event["event"] for event in inbox["events"]]

    def trust_hooks(self):
        """Says yes where Codex asks whether its hooks are to be trusted. It is a job of ours, in a home of its
        own, with a terminal that we read and type at."""
        home = ["--home", os.path.join(self.directory, "terminal")]
        bypass = "--dangerously-bypass-approvals-and-sandbox"
        start = ["--pty=40x120", "--name", "codex", "--cwd", self.codex_home, "--", self.codex, bypass]
        self.run(*home, "run", *start)
        try:

            def shows(text):
                return text in self.run(*home, "log", "--screen", "codex")

            until("Codex asks whether to trust its hooks", lambda: shows("Hooks need review"))
            self.run(*home, "send", "codex", "2")
            until("the answer is chosen", lambda: shows("› 2. Trust all"))
            self.run(*home, "send", "codex", "--key", "Enter")
            until("the question is gone", lambda: not shows("Hooks need review"))
        finally:
            self.run(*home, "stop", "codex")
        self.bypass = []

    def start_codex(self, *words):
        args = [
            self.codex, "exec", "--skip-git-repo-check", "--json",
            "--dangerously-bypass-approvals-and-sandbox", *self.bypass,
        ]
        with open(os.path.join(self.directory, "codex.log"), "a") as log:
            return subprocess.Popen(
                [*args, *words], env=self.env, cwd=self.codex_home,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )


def thread_of(codex):
    """Which thread it says it is in."""
    for line in codex.stdout:
        said = json.loads(line)
        if said.get("type") == "thread.started":
            return said["thread_id"]
    raise AssertionError("Codex named no thread")


def until(what, is_so):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.05)


def killed_in_the_middle(world, model):
    """A Codex starts the job, hears that it runs, and is killed. Gives its thread."""
    # It ends some day, even if nobody is left to open the gate.
    wait = f"for i in $(seq 600); do [ -e {world.gate} ] && break; sleep 0.1; done"
    command = f"{wait}; echo finished by itself; exit 7"
    model.play(call("run", {"command": command, "name": "build"}))
    codex = world.start_codex("start the build")
    try:
        thread = thread_of(codex)
        assert model.held.wait(PATIENCE), "the model never heard of the job"
        assert world.servers(), "Codex has no server of ours"
    finally:
        os.kill(codex.pid, signal.SIGKILL)
        codex.wait()
        codex.stdout.close()
    [result] = model.results().values()
    assert '"state":"running"' in result, result
    return thread


def resumed(world, model, thread, moves):
    model.play(*moves)
    codex = world.start_codex("resume", thread, "go on")
    try:
        out, _ = codex.communicate(timeout=PATIENCE)
    finally:
        codex.kill()
        codex.wait()
    assert codex.returncode == 0, out
    assert thread in out, f"it is another thread: {out}"


def check_after(world, model):
    """The job ends in the middle of a turn, during a call of a tool that is not ours."""
    world.configure("after", model.url)
    world.trust_hooks()
    wait = f"until [ -e {world.gate} ]; do sleep 0.05; done; exit 7"
    live = os.path.join(world.env["OUTLIVE_HOME"], "live", "*")
    ends = f"touch {world.gate}; while ls {live} 2>/dev/null; do sleep 0.05; done; echo the shell is done"
    model.play(call("run", {"command": wait, "name": "build"}), shell(ends), SAY)
    codex = world.start_codex("start the build")
    try:
        out, _ = codex.communicate(timeout=PATIENCE)
    finally:
        codex.kill()
        codex.wait()
    assert codex.returncode == 0, out
    started, shown = model.results().values()
    assert '"state":"running"' in started, started
    assert "the shell is done" in shown, shown
    job = world.job()
    assert (job["state"], job["exit_code"]) == ("ended", 7), job
    told = model.tellings("exit code 7")
    assert len(told) == 1 and told[0]["type"] != "function_call_output", told
    # Not by the hook at the end of the turn: that would have made it go on.
    assert len(model.requests) == 3, f"{len(model.requests)} requests"
    time.sleep(CLAIM)
    assert world.waiting(job["session"]) == [], "it was told, and that was not noted"
    print(f"thread {job['session']}: told once, by the hook after a command in its own shell")


def check(route, world, model):
    world.configure(route, model.url)
    thread = killed_in_the_middle(world, model)
    until("the server goes with its Codex", lambda: not world.servers())
    assert world.job()["state"] == "running", world.job()
    with open(world.gate, "w"):
        pass
    until("the job ends by itself", lambda: world.job()["state"] == "ended")
    job = world.job()
    assert job["exit_code"] == 7, job
    assert job["session"] == thread, f"the job is of {job['session']}, not of thread {thread}"
    [event] = world.waiting(thread)

    moves = [call("jobs", {}), SAY] if route == "tool" else [SAY]
    resumed(world, model, thread, moves)
    told = model.tellings(event)
    assert len(told) == 1, f"told {len(told)} times: {told}"
    is_result = told[0]["type"] == "function_call_output"
    assert is_result == (route == "tool"), told
    time.sleep(CLAIM)
    assert world.waiting(thread) == [], "it was told, and that was not noted"

    resumed(world, model, thread, [call("jobs", {}), SAY])
    told = model.tellings(event)
    assert len(told) == 1, f"told {len(told)} times: {told}"
    last = list(model.results().values())[-1]
    assert job["id"] in last and '"events"' not in last, last
    print(f"thread {thread}: event {event} was told once, by a {route}")


def main(route, codex, outlive, directory):
    world, model = World(codex, outlive, directory), Model()
    try:
        if route == "after":
            check_after(world, model)
        else:
            check(route, world, model)
    finally:
        model.close()


main(*sys.argv[1:])
