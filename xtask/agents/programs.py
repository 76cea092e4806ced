"""How each agent is installed for its user, started, resumed and told what to do.

`World` is one user: a home, a directory to work in, and one agent that `outlive setup` has prepared. Its
subclasses know the agents.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess

from terminal import PATIENCE, Terminal, until

FOREIGN = ("ANTHROPIC", "CLAUDE", "CODEX", "GEMINI", "GOOGLE", "OPENAI", "OPENCODE", "OUTLIVE", "QWEN", "XDG")
"""Prefixes of variables of the agent that may be running this."""


class World:
    """One user with one agent. What is said here is true of most agents."""

    shell = "Bash"
    prefix = "mcp__outlive__"
    setup = ""
    """What `outlive setup` calls the agent."""
    consent = ["--yes"]
    """What its user answers to setup."""
    ready = ""
    """What it draws when it waits for a prompt."""
    anew = "/clear"
    """What begins another conversation in the program."""
    can_be_woken = False
    dates_calls = True
    """Its hooks tell how long a tool call took, so that the end of a call can show that the model has answered."""
    can_resume = True
    """Whether it resumes a conversation without a person, offline."""
    resumes_at_terminal = 2
    """How often it resumes the same conversation at a terminal. Gemini CLI 0.61 takes no input the second time."""
    forgets_stop = False
    """Whether a resumed conversation lacks what the hook at the end of a turn said. Gemini CLI forgets what any hook said
    before a prompt, and the prompt too."""

    def __init__(self, program, outlive, directory, model, variables=None):
        self.program, self.outlive, self.model = program, outlive, model
        self.home, self.work = os.path.join(directory, "home"), os.path.join(directory, "work")
        state = (variables or {}).get("XDG_STATE_HOME", os.path.join(self.home, ".local", "state"))
        self.state = os.path.join(state, "outlive")
        os.makedirs(self.home)
        os.mkdir(self.work)
        clean = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        path = [os.path.dirname(outlive), os.path.dirname(program[0]), os.environ["PATH"]]
        self.env = clean | {
            # opencode works in the directory that PWD names, and asks before a command touches another one.
            "HOME": self.home, "PWD": self.work, "PATH": os.pathsep.join(path), "TERM": "xterm-256color",
            # The mark that `cargo xtask agents` finds the processes by.
            "OUTLIVE_AGENTS_PLACE": directory,
        } | self.variables() | (variables or {})

    def set_up(self):
        self.prepare()
        self.call("setup", self.setup, *self.consent)
        self.after_setup()

    def variables(self):
        return {}

    def prepare(self):
        """What its user has answered before: the agent's first questions."""

    def write(self, path, value):
        """Writes a file of the agent, below the home."""
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            json.dump(value, file)

    def after_setup(self):
        """What setup leaves to its user."""

    # What the model does.

    def run_in_shell(self, command, **more):
        return {"tool": self.shell, "arguments": {"command": command, **more}}

    def tool(self, name, **arguments):
        return {"tool": self.prefix + name, "arguments": arguments}

    def starts(self, command):
        """A move that starts a job."""
        return self.run_in_shell(f"outlive run --shell {shlex.quote(command)}")

    # What the user does.

    def headless(self, prompt, resume=False):
        """The command line of a run without a person."""
        raise NotImplementedError

    def interactive(self, resume=False):
        raise NotImplementedError

    def start(self, prompt, resume=False):
        return subprocess.Popen(
            self.headless(prompt, resume), env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

    def finish(self, agent, patience=PATIENCE):
        """Waits for an agent that runs without a person. Returns what it printed."""
        try:
            said, _ = agent.communicate(timeout=patience)
        finally:
            agent.kill()
            agent.wait()
        assert agent.returncode == 0, f"{agent.args} ended with {agent.returncode}:\n{said}"
        return said

    def greets(self, terminal):
        """The agent is ready for a prompt, after its first questions."""
        terminal.until_it_shows(self.ready)

    def sit_down(self, resume=False):
        return Terminal(self.interactive(resume), self.env, self.work)

    # What is to be seen.

    def version(self):
        ran = subprocess.run([*self.program, "--version"], env=self.env, capture_output=True, text=True)
        return ran.stdout.strip()

    def processes(self):
        """The processes of the agent, also those that work for it in the background."""
        mark, names = f"HOME={self.home}\0".encode(), {os.path.basename(os.path.realpath(self.program[0]))}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ:
                    if mark in environ.read() and os.path.basename(os.readlink(f"/proc/{pid}/exe")) in names:
                        yield int(pid)
            except OSError:
                continue

    def kill(self):
        """Kills the agent, wherever it is in its work."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def call(self, *args, env=None):
        """Runs Outlive as somebody else: looking tells nobody."""
        env = self.env | {"OUTLIVE_SESSION": "onlooker"} | (env or {})
        ran = subprocess.run([self.outlive, *args], env=env, capture_output=True, text=True, cwd=self.work)
        assert ran.returncode == 0, f"outlive {args}: {ran}"
        return ran.stdout

    def jobs(self):
        return json.loads(self.call("list", "--state", "all", "--json"))["jobs"]

    def notes(self, job):
        """What is written down about who was told of the job: `claimed`, `handed`, `told`."""
        directory = os.path.dirname(job["output"]["path"])
        try:
            with open(os.path.join(directory, "told")) as file:
                return [next(iter(json.loads(line)["note"])) for line in file if line.strip()]
        except FileNotFoundError:
            return []

    def waiting(self, session):
        """Events that the session still has to be told. Looking at them tells nobody."""
        inbox = json.loads(self.call("inbox", "--session", session, "--peek", "--json"))
        return [event["event"] for event in inbox["events"]]


class Claude(World):
    setup = "claude-code"
    can_be_woken = True
    ready = "for shortcuts"
    # The check of auto mode runs on servers that a scripted model has not.
    ALLOWED = ["--permission-mode", "default", "--allowedTools=mcp__outlive,Bash,Agent"]
    key = "scripted-0123456789-0123456789"

    def variables(self):
        return {
            "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": self.key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        }

    def prepare(self):
        answered = {
            "hasCompletedOnboarding": True, "theme": "dark", "numStartups": 5,
            "customApiKeyResponses": {"approved": [self.key[-20:]], "rejected": []},
            "projects": {self.work: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        with open(os.path.join(self.home, ".claude.json"), "w") as file:
            json.dump(answered, file)

    def headless(self, prompt, resume=False):
        again = ["--continue"] if resume else []
        return [*self.program, *again, *self.ALLOWED, "-p", prompt]

    def helper(self, prompt):
        arguments = {"description": "help", "prompt": prompt, "subagent_type": "general-purpose"}
        return [{"tool": "Agent", "arguments": arguments}]

    def interactive(self, resume=False):
        return [*self.program, *(["--continue"] if resume else []), *self.ALLOWED]


class Codex(World):
    setup = "codex"
    consent = ["--yes", "--approve"]
    prefix = "mcp__outlive/"
    ready = "Ask Codex to do anything"
    dates_calls = False
    anew = "/new"

    def variables(self):
        return {"SCRIPTED_KEY": "none"}

    def prepare(self):
        os.mkdir(os.path.join(self.home, ".codex"))
        with open(os.path.join(self.home, ".codex", "config.toml"), "w") as file:
            file.write(f"""model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{self.model.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[projects."{self.work}"]
trust_level = "trusted"

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
""")
            # The sandbox of its shells could write to the home of this test otherwise, which is below /tmp.
        # Codex starts its shells as login shells.
        with open(os.path.join(self.home, ".profile"), "w") as file:
            file.write(f"PATH={self.env['PATH']}\n")

    def after_setup(self):
        """Its user starts it once, and trusts its hooks."""
        path = os.path.join(self.home, ".codex", "config.toml")
        terminal = self.sit_down()
        try:
            terminal.until_it_shows("Trust all and continue")
            terminal.presses("2", lambda: terminal.shows("› 2. Trust all"))
            terminal.presses("\r", lambda: "trusted_hash" in open(path).read())
        finally:
            terminal.end()

    def allows(self, terminal):
        """Answers the question whether our tool may run."""
        terminal.until_it_shows("Allow the outlive MCP server")
        terminal.presses("\r", self.jobs)

    def run_in_shell(self, command):
        return {"tool": "exec_command", "arguments": {"cmd": command}}

    def starts(self, command):
        """No job can be started in the sandbox of its shell."""
        return self.tool("run", command=command)

    def helper(self, prompt):
        def wait(items):
            [helper] = re.findall(r'"agent_id": ?"([^"]+)"', items[-1].text)
            return {"tool": "multi_agent_v1/wait_agent", "arguments": {"targets": [helper], "timeout_ms": 60000}}

        return [{"tool": "multi_agent_v1/spawn_agent", "arguments": {"message": prompt}}, wait]

    def headless(self, prompt, resume=False):
        again = ["resume", "--last"] if resume else []
        return [*self.program, "exec", "--skip-git-repo-check", *again, prompt]

    def interactive(self, resume=False):
        return [*self.program, *(["resume", "--last"] if resume else [])]


class Opencode(World):
    setup = "opencode"
    shell, prefix = "bash", "outlive_"
    can_be_woken = True
    ready = "ctrl+p"
    anew = "/new"

    def variables(self):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def prepare(self):
        directory = os.path.join(self.home, ".config", "opencode")
        os.makedirs(directory)
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "none"},
            "models": {"scripted": {"name": "scripted"}},
        }
        with open(os.path.join(directory, "opencode.json"), "w") as file:
            json.dump({"model": "scripted/scripted", "provider": {"scripted": provider}}, file)

    def run_in_shell(self, command):
        return super().run_in_shell(command, description="it runs a command")

    def helper(self, prompt):
        arguments = {"description": "help", "prompt": prompt, "subagent_type": "general"}
        return [{"tool": "task", "arguments": arguments}]

    def headless(self, prompt, resume=False):
        return [*self.program, "run", *(["--continue"] if resume else []), prompt]

    def interactive(self, resume=False):
        return [*self.program, *(["--continue"] if resume else [])]


class Gemini(World):
    setup = "gemini"
    shell, prefix = "run_shell_command", "mcp_outlive_"
    forgets_stop = True
    resumes_at_terminal = 1
    ready = "Type your message"

    def variables(self):
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.model.url}

    def prepare(self):
        answered = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        os.mkdir(os.path.join(self.home, ".gemini"))
        with open(os.path.join(self.home, ".gemini", "settings.json"), "w") as file:
            json.dump(answered, file)

    def starts(self, command):
        """Its shells do not know the conversation. A hook tells the model what to write."""
        def move(items):
            said = [re.search(r"OUTLIVE_SESSION=\S+ ", item.text) for item in items if item.by == "user"]
            session = next(found[0] for found in reversed(said) if found)
            return self.run_in_shell(f"{session}outlive run --shell {shlex.quote(command)}")

        return move

    def headless(self, prompt, resume=False):
        again = ["--resume", "latest"] if resume else []
        return [*self.program, *again, *self.ALLOWED, "--prompt", prompt]

    def interactive(self, resume=False):
        return [*self.program, *(["--resume", "latest"] if resume else []), *self.ALLOWED]

    ALLOWED = ["--yolo", "--skip-trust", "--model", "gemini-2.5-flash"]


AGENTS = {"claude": Claude, "codex": Codex, "opencode": Opencode, "gemini": Gemini}
