"""Stories of people with real agents, offline, against a scripted model.

An agent is set up by `outlive setup`, and everything else is its default. Each story counts how often the end
of a job is told in the conversation that the model is finally sent: once. A person sits at a terminal
(`interactive`) or starts the agent for each prompt, resuming the conversation (`headless`).

    stories.py STORY AGENT headless|interactive OUTLIVE DIRECTORY PROGRAM…
"""

import json
import os
import re
import sys

from more import MORE
from people import Headless, Interactive
from programs import AGENTS
from scripted import Model, say
from terminal import until

ENDS = "exit 73"
TOLD = re.compile(r'exit(ed|.code\\*"?[ :]+) ?73')


def tellings(items, job):
    """How often a conversation tells that the job has ended: by an event, or by the result of a call."""
    told = 0
    for item in items:
        if item.by != "model":
            events = len(re.findall(rf"\b{job['id']}:\d", item.text))
            told += events or (job["id"] in item.text and bool(TOLD.search(item.text)))
    return told


class Story:
    """What all stories need."""

    def __init__(self, world, user):
        self.world, self.user, self.model = world, user, world.model
        self.gate = os.path.join(world.work, "gate")

    def script(self, **moves):
        self.model.script = moves

    def job_at_gate(self):
        """A command that ends when the gate opens, or some day."""
        return f"for i in $(seq 1200); do [ -e {self.gate} ] && break; sleep 0.05; done; touch {self.gate}.passed; {ENDS}"

    def ends(self):
        """A command line of the agent's shell during which the job ends. It looks at nothing outside of the
        agent's directory, for which some agents would ask."""
        return f"touch {self.gate}; until [ -e {self.gate}.passed ]; do sleep 0.05; done; sleep 1; echo it is over"

    def open_gate(self):
        open(self.gate, "w").close()

    def ended(self):
        """The job that ends with 73, when all have ended."""
        def all_ended():
            jobs = self.world.jobs()
            return all(job["state"] == "ended" for job in jobs) and jobs
        jobs = until("the job has ended", all_ended)
        [job] = [job for job in jobs if job["exit_code"] == 73]
        return job

    def counts(self, name, job):
        return tellings(self.model.conversation(name), job)

    def expect(self, name, job, expected=1):
        told = self.counts(name, job)
        assert told == expected, f"{job['id']} was told {told} times in {name}, not {expected}"

    def is_told(self, job):
        """The job was told, and that was noted."""
        until("it is noted that the job was told", lambda: "told" in self.world.notes(job))

    def was_told(self, job):
        """The model was told once, though the resumed conversation does not say so."""
        told = [tellings(items, job) for items in self.model.turns]
        assert max(told) == 1, f"{job['id']} was told so often in each request: {told}"

    def stays_told(self, job):
        """The agent is resumed, as often as it can, and hears nothing more. Nothing is left to tell."""
        often = self.world.resumes_at_terminal if self.user.is_there else 2
        for name in ["again", "later"][:often] if self.world.can_resume else []:
            self.user.leaves()
            self.model.script[name] = [say()]
            self.user.says(name)
            if self.world.forgets_stop and not self.counts(name, job):
                self.was_told(job)
            else:
                self.expect(name, job)
        self.user.leaves()
        assert self.world.waiting(job["session"]) == [], "it was told, and that was not noted"


def turn(story):
    """A job of the agent's shell ends after the turn."""
    world, user = story.world, story.user
    story.script(start=[world.starts(story.job_at_gate()), say()], next=[say()])
    user.says("start")
    story.open_gate()
    job = story.ended()
    if user.is_there and world.can_be_woken:
        until("it is woken", lambda: story.counts("start", job))
    else:
        user.says("next")
    story.is_told(job)
    story.stays_told(job)
    return job


def shell(story):
    """A job ends while the agent runs something else in its own shell."""
    world, user = story.world, story.user
    story.script(start=[world.starts(story.job_at_gate()), world.run_in_shell(story.ends()), say()])
    user.says("start")
    job = story.ended()
    story.expect("start", job)
    requests = [tellings(items, job) for items in story.model.turns]
    assert requests == [0, 0, 1], f"told so often in each request: {requests}"
    story.stays_told(job)
    return job


def stop(story):
    """A job ends while the model says its last words: the hook at the end of the turn tells."""
    world, user = story.world, story.user
    story.script(start=[world.starts(f"sleep 0.2; {ENDS}"), say()])
    user.says("start")
    job = story.ended()
    story.is_told(job)
    story.expect("start", job)
    story.stays_told(job)
    return job


def wait(story):
    """A call of our tool waits for a moment, and the job ends later."""
    world, user = story.world, story.user
    later = world.tool("run", command=story.job_at_gate(), wait_seconds=1)
    story.script(start=[later, say()], next=[say()])
    user.says("start")
    story.open_gate()
    job = story.ended()
    if user.is_there and world.can_be_woken:
        until("it is woken", lambda: story.counts("start", job))
    else:
        user.says("next")
    story.is_told(job)
    story.stays_told(job)
    return job


def killed(story):
    """A call of our tool waits for a job, and the agent is killed meanwhile. It has finished a turn before: Gemini
    CLI resumes no conversation without one."""
    world, user = story.world, story.user
    waits = world.tool("run", command=story.job_at_gate(), wait_seconds=50)
    story.script(hello=[say()], start=[waits, say()])
    user.says("hello")
    user.begins("start")
    until("the job runs", world.jobs)
    user.kills()
    story.open_gate()
    job = story.ended()
    story.stays_told(job)
    return job


def result(story):
    """A call of our tool waits until the job has ended, and says so."""
    world, user = story.world, story.user
    story.script(start=[world.tool("run", command=f"sleep 2; {ENDS}", wait_seconds=30), say()])
    user.says("start")
    job = story.ended()
    story.expect("start", job)
    story.stays_told(job)
    return job


def clear(story):
    """The user begins another conversation in the program, and then resumes the first one."""
    world, user = story.world, story.user
    start = world.tool("run", command=story.job_at_gate())
    story.script(start=[world.tool("run", command="exit 0"), say()], fresh=[start, say()], next=[say()])
    user.says("start")
    first = until("a job was started", world.jobs)[0]
    until("the first job was told", lambda: "told" in world.notes(first))
    user.begins_anew()
    user.says("fresh")
    story.open_gate()
    job = story.ended()
    assert job["session"] != first["session"], "both jobs are of one conversation"
    if world.can_be_woken:
        until("it is woken", lambda: story.counts("fresh", job))
    else:
        user.says("next")
    story.is_told(job)
    assert story.counts("fresh", first) == 0, "the new conversation was told of the old one's job"
    return job


def helper(story):
    """A job ends while a helper of the agent works."""
    world, user = story.world, story.user
    script = {"start": [world.starts(story.job_at_gate()), *world.helper("[[help]] the user"), say()]}
    script["help"] = [world.run_in_shell(story.ends()), world.tool("jobs", state="running"), say()]
    story.script(**script)
    user.says("start")
    job = story.ended()
    until("it is told", lambda: story.counts("start", job))
    story.is_told(job)
    until("the helper is done", lambda: "help" in story.model.played)
    story.expect("help", job, 0)
    story.stays_told(job)
    return job


def environment(story):
    """A job of our tool finds its user's environment, and is where its user looks for it."""
    world, user = story.world, story.user
    command = f"echo $VIRTUAL_ENV $PATH; {ENDS}"
    story.script(start=[world.tool("run", command=command), say()], next=[say()])
    user.says("start")
    job = story.ended()
    said = world.call("log", job["id"])
    assert world.env["VIRTUAL_ENV"] in said and world.env["PATH"] in said, said
    user.says("next")
    story.is_told(job)
    story.stays_told(job)
    return job


def approval(story):
    """Setup was not allowed to let the agent call our tools unasked. Its shell is a sandbox, and says so."""
    world, user = story.world, story.user
    world.call("setup", world.setup, "--yes", "--no-approve")
    start = [world.run_in_shell(f"outlive run --shell '{ENDS}'"), world.tool("run", command=ENDS), say()]
    story.script(start=start, next=[world.tool("run", command=ENDS), say()])
    user.says("start", world.allows)
    if not user.is_there:
        assert world.jobs() == [], world.jobs()
        refused = [item.text for item in story.model.conversation("start") if item.by == "tool"]
        assert "sandbox" in refused[0] and "outlive setup" in refused[0], refused[0]
        world.call("setup", world.setup, "--yes", "--approve")
        user.says("next")
    job = story.ended()
    story.stays_told(job)
    return job


STORIES = {
    story.__name__: story
    for story in [turn, shell, stop, wait, killed, result, clear, helper, environment, approval]
}
USERS_OWN = {"environment": {"XDG_STATE_HOME": "state", "VIRTUAL_ENV": "venv", "OUTLIVE_SESSION": "mine"}}
"""What users have in their environment in a story. Files are below the directory of the story."""


def show(model, jobs):
    """What the model was sent last in each conversation, and how often each request told of a job's end."""
    for name in model.script:
        print(f"\n===== {name}")
        for item in model.conversation(name):
            print(f"--- {item.by}: {item.text[:1500]}")
    print([{job["id"]: tellings(items, job) for job in jobs} for items in model.turns])


def main(story, agent, how, outlive, directory, *program):
    model = Model()
    own = USERS_OWN.get(story, {})
    own = {key: os.path.join(directory, value) if key != "OUTLIVE_SESSION" else value for key, value in own.items()}
    world = (AGENTS | MORE)[agent](list(program), outlive, directory, model, own)
    user = Interactive(world) if how == "interactive" else Headless(world)
    try:
        world.set_up()
        job = STORIES[story](Story(world, user))
    except AssertionError:
        show(model, world.jobs())
        raise
    finally:
        user.leaves()
        world.kill()
        model.close()
    print(f"{world.version()}: the end of {job['id']} was told once")


if __name__ == "__main__":
    main(*sys.argv[1:])
