"""Copilot CLI with a model of its user's (COPILOT_PROVIDER_…), which needs no account."""

from programs import World


class Copilot(World):
    setup = "copilot"
    shell = "bash"
    prefix = "outlive-"
    ready = "/ commands"

    def variables(self):
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1", "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
        }

    def prepare(self):
        self.write(".copilot/config.json", {"trusted_folders": [self.work], "trustedFolders": [self.work]})

    def run_in_shell(self, command):
        return super().run_in_shell(command, description="x", mode="sync", initial_wait=120)

    def helper(self, prompt):
        arguments = {"description": "help", "prompt": prompt, "agent_type": "general-purpose", "name": "help", "mode": "sync"}
        return [{"tool": "task", "arguments": arguments}]

    def headless(self, prompt, resume=False):
        return [*self.interactive(resume), "-p", prompt]

    def interactive(self, resume=False):
        return [*self.program, *(["--continue"] if resume else []), "--allow-all-tools"]
