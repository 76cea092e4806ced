"""Cline, with a provider of its user's."""

import subprocess

from programs import World


class Cline(World):
    setup = "cline"
    shell = "run_commands"
    # It resumes at a terminal only.
    can_resume = False
    prefix = "outlive__"

    def variables(self):
        # Otherwise it leaves a process behind that serves its other programs.
        return {"CLINE_SESSION_BACKEND_MODE": "local"}

    def prepare(self):
        """Its user names the model."""
        model = ["-k", "none", "-b", f"{self.model.url}/v1", "-m", "scripted"]
        subprocess.run([*self.program, "auth", "openai", *model], env=self.env, check=True, capture_output=True)

    def starts(self, command):
        """Its shells do not know their session."""
        return self.tool("run", command=command)

    def run_in_shell(self, command):
        return {"tool": self.shell, "arguments": {"commands": [command]}}

    def headless(self, prompt, resume=False):
        return [*self.program, prompt]
