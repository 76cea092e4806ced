"""A user of an agent: one who starts it for each prompt, or one who stays at a terminal."""

import time

from terminal import until

CLEAR_LINE = "\x15"


class Headless:
    """Starts the agent for each prompt."""

    is_there = False

    def __init__(self, world):
        self.world, self.agent, self.has_spoken = world, None, False

    def says(self, name, answers=None):
        """`answers` is what a person at a terminal does when the agent asks something."""
        self.begins(name)
        self.world.finish(self.agent)

    def begins(self, name):
        self.agent = self.world.start(f"[[{name}]] go on", resume=self.has_spoken)
        self.has_spoken = True

    def leaves(self):
        """Ends the agent if it runs."""
        if self.agent and self.agent.poll() is None:
            self.agent.terminate()
            self.agent.communicate()

    def kills(self):
        self.world.kill()
        self.agent.communicate(timeout=5)


class Interactive:
    """Stays at a terminal until it leaves."""

    is_there = True

    def __init__(self, world):
        self.world, self.terminal, self.has_spoken = world, None, False

    def says(self, name, answers=None):
        self.begins(name)
        if answers:
            answers(self.terminal)
        until(f"the turn of {name} ends", lambda: name in self.world.model.played)

    def begins(self, name):
        if not self.terminal:
            self.terminal = self.world.sit_down(resume=self.has_spoken)
            self.world.greets(self.terminal)
        self.types(f"[[{name}]] go on", lambda: self.world.model.conversation(name))
        self.has_spoken = True

    def begins_anew(self):
        """Agents do not draw in the same way that they have done it. If it has failed, the story says so later:
        both jobs are of one conversation."""
        self.terminal.type(self.world.anew)
        time.sleep(1)
        self.terminal.type("\r")
        time.sleep(1)

    def types(self, text, is_heard):
        """Types a line, and presses Enter until it is heard. What is typed while a program starts may be lost."""

        def typed():
            self.terminal.type(CLEAR_LINE + text)
            return any(self.terminal.shows(text) or time.sleep(0.1) for _ in range(50))

        try:
            until(f"{text} is typed", typed)
        except AssertionError:
            print(self.terminal.text[-3000:])
            raise
        self.terminal.presses("\r", is_heard)

    def leaves(self):
        if self.terminal:
            self.terminal.end()
            self.terminal = None

    def kills(self):
        self.world.kill()
        self.terminal.process.wait(5)
        self.leaves()
