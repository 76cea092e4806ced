"""An agent is SIGKILLed at many random moments of a story, and resumed. What it started is never lost on it.

In the story three jobs end: during a command in the agent's shell, during a call that waits, and during the last
words of the turn. After the kill the conversation is resumed, twice. Then it must contain the end of each job
once. It may contain it twice if the agent was killed after it got the news and before its next sign of life;
then under the same event id.

    kills.py AGENT headless|interactive LIVES SEED OUTLIVE DIRECTORY PROGRAM…
"""

import os
import random
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from people import Headless, Interactive
from programs import AGENTS
from scripted import Model, say
from stories import ENDS, show, tellings
from terminal import until

AFTER = 0.5
"""The story lasts so much longer than its last words, in seconds: the hook at the end of the turn tells."""
AT_ONCE = 3
"""So many agents live at the same time. They spend most of it waiting for the model."""


def script(world):
    return {
        "hello": [say()],
        "start": [
            world.starts(f"sleep 0.5; {ENDS}"),
            world.run_in_shell("sleep 1"),
            world.tool("run", command=f"sleep 0.6; {ENDS}", wait_seconds=20),
            world.starts(f"sleep 0.3; {ENDS}"),
            say(),
        ],
        "after": [say()],
        "again": [say()],
    }


class Life:
    def __init__(self, agent, how, number, moment, outlive, directory, program):
        directory = os.path.join(directory, str(number))
        os.mkdir(directory)
        self.model = Model()
        self.world = AGENTS[agent](program, outlive, directory, self.model)
        self.user = Interactive(self.world) if how == "interactive" else Headless(self.world)
        self.moment = moment

    def live(self):
        """Returns how many ends were told, and how many of them twice; or how long a life without a kill is."""
        try:
            self.world.set_up()
            self.model.script = script(self.world)
            # Gemini CLI resumes no conversation that has no whole turn.
            self.user.says("hello")
            asked = len(self.model.turns)
            self.user.begins("start")
            # How long an agent takes to start depends on the machine.
            until("the model is asked", lambda: len(self.model.turns) > asked)
            begun = time.monotonic()
            if self.moment is None:
                until("the turn ends", lambda: "start" in self.model.played)
                return time.monotonic() - begun + AFTER
            time.sleep(self.moment)
            self.user.kills()
            return self.judged(self.resumed())
        except AssertionError:
            print(f"killed after {self.moment} s")
            show(self.model, self.world.jobs())
            raise
        finally:
            self.user.leaves()
            self.world.kill()
            self.model.close()

    def resumed(self):
        """Resumes the conversation twice. Returns the jobs, and which of them had been told before the kill."""
        def all_ended():
            return all(job["state"] == "ended" for job in self.world.jobs())

        until("the jobs have ended", all_ended)
        jobs = self.world.jobs()
        told = {job["id"] for job in jobs if "told" in self.world.notes(job)}
        self.user.says("after")
        for job in jobs:
            until("it is noted that the job was told", lambda: "told" in self.world.notes(job))
        self.user.leaves()
        self.user.says("again")
        return jobs, told

    def judged(self, found):
        jobs, told = found
        items = self.model.conversation("again")
        twice = 0
        for job in jobs:
            times = tellings(items, job)
            assert times > 0, f"the end of {job['id']} was lost"
            if times == 1:
                continue
            assert job["id"] not in told, f"{job['id']} was told, which was noted, and told again"
            assert times == 2, f"{job['id']} was told {times} times"
            ids = {event for item in items for event in re.findall(rf"\b{job['id']}:[\w.]+", item.text)}
            assert len(ids) == 1, f"one end has the event ids {ids}"
            signs = calls_after(items, job) if self.world.dates_calls else 0
            assert signs <= 1, f"{job['id']} was told again after a sign of life"
            twice += 1
        return len(jobs), twice


def calls_after(items, job):
    """How many tool calls the model made after the end of the job was in the conversation, until the kill. The
    agent may have been killed before it called the hook of the last one."""
    told = next(at for at, item in enumerate(items) if tellings([item], job))
    prompt = next(at for at, item in enumerate(items) if item.by == "user" and "[[after]]" in item.text)
    after = items[told + 1 : prompt]
    model = next((at for at, item in enumerate(after) if item.by == "model"), len(after))
    return sum(item.by == "tool" for item in after[model:])


def main(agent, how, lives, seed, outlive, directory, *program):
    def life(number, moment):
        ended = Life(agent, how, number, moment, outlive, directory, list(program)).live()
        # Codex copies itself into the home of each life, with 400 MB.
        shutil.rmtree(os.path.join(directory, str(number)), ignore_errors=True)
        return ended

    whole = life("whole", None)
    moments = random.Random(int(seed))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = list(pool.map(life, range(int(lives)), [moments.uniform(0, whole) for _ in range(int(lives))]))
    jobs, twice = (sum(counts) for counts in zip(*ended))
    print(f"killed {lives} times in {whole:.1f} s (seed {seed}): {jobs} ends, none lost, {twice} told twice")


main(*sys.argv[1:])
