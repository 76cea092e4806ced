"""What `outlive setup` leaves a user with, in each agent's own default settings and without a person, offline and
against a scripted model.

An agent that asks before it calls a tool refuses our tools until its user allows them (`setup AGENT --approve`). Then
the job that it starts has the user's own environment and lies in the user's own home, whatever the agent gives its MCP
servers.

    setups.py AGENT OUTLIVE DIRECTORY PROGRAM…
"""

import json
import os
import sys

from programs import Claude, Codex, World
from scripted import Model, say

USERS = {"VIRTUAL_ENV": "/users/venv", "CARGO_HOME": "/users/cargo"}
"""What the user has set for the commands of a project."""


class PlainClaude(Claude):
    ALLOWED = []


class PlainCodex(Codex):
    def after_setup(self):
        """Its user changes nothing."""


class PlainGemini(World):
    setup = "gemini"
    prefix = "mcp_outlive_"

    def variables(self):
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.model.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def prepare(self):
        os.mkdir(os.path.join(self.home, ".gemini"))
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        with open(os.path.join(self.home, ".gemini", "settings.json"), "w") as file:
            json.dump(settings, file)

    def headless(self, prompt, resume=False):
        return [*self.program, "-m", "gemini-2.5-flash", "-p", prompt]


class PlainOpencode(World):
    setup = "opencode"
    prefix = "outlive_"

    def prepare(self):
        directory = os.path.join(self.home, ".config", "opencode")
        os.makedirs(directory)
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": self.model.url + "/v1", "apiKey": "none"},
            "models": {"scripted": {}},
        }
        config = {"autoupdate": False, "model": "scripted/scripted", "provider": {"scripted": provider}}
        with open(os.path.join(directory, "opencode.json"), "w") as file:
            json.dump(config, file)

    def headless(self, prompt, resume=False):
        return [*self.program, "run", prompt]


PLAIN = {"claude": PlainClaude, "codex": PlainCodex, "gemini": PlainGemini, "opencode": PlainOpencode}
ASKS_NOBODY = {"opencode"}
"""Agents that call any tool of a server that their user has added."""


def starts_a_job(world, name):
    """The model starts a job with our tool. Returns the job, or nothing if the agent refuses the call."""
    environment = os.path.join(world.work, name)
    move = world.tool("run", command=f"env > {environment}; exit 73", wait_seconds=20)
    world.model.script = {name: [move, say()]}
    world.finish(world.start(f"[[{name}]] go on"))
    jobs = world.jobs()
    if not jobs:
        return None
    with open(environment) as file:
        return {"job": jobs[0], "environment": dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)}


def check(world, agent):
    if agent not in ASKS_NOBODY:
        assert starts_a_job(world, "unasked") is None, "it was not allowed"
        world.call("setup", world.setup, "--approve", "--yes")
    started = starts_a_job(world, "allowed")
    assert started, "no job was started:\n" + "\n".join(item.text for item in world.model.conversation("allowed"))
    for name, value in USERS.items():
        assert started["environment"].get(name) == value, f"{name} is {started['environment'].get(name)}"
    place = started["job"]["output"]["path"]
    assert place.startswith(world.env["XDG_STATE_HOME"]), f"it lies in {place}"


def main(agent, outlive, directory, *program):
    model = Model()
    variables = USERS | {"XDG_STATE_HOME": os.path.join(directory, "state")}
    world = PLAIN[agent](list(program), outlive, directory, model, variables)
    try:
        check(world, agent)
    finally:
        model.close()
    asked = "asks nobody" if agent in ASKS_NOBODY else "refused until allowed"
    print(f"{world.version()}: {asked}; the job is in the user's home, with the user's environment")


main(*sys.argv[1:])
