"""Kilo, with a provider of its user's."""

from programs import World


class Kilo(World):
    setup = "kilo"
    shell = "bash"
    prefix = "outlive_"
    ready = "scripted"
    can_be_woken = True

    def variables(self):
        return {"KILO_DISABLE_MODELS_FETCH": "1", "KILO_DISABLE_AUTOUPDATE": "1"}

    def prepare(self):
        model = {"name": "scripted", "limit": {"context": 100000, "output": 4000}}
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options, "models": {"scripted": model}}
        self.write(".config/kilo/kilo.json", {"model": "scripted/scripted", "provider": {"scripted": provider}})

    def run_in_shell(self, command):
        return super().run_in_shell(command, description="a command")

    def helper(self, prompt):
        arguments = {"description": "help", "prompt": prompt, "subagent_type": "general"}
        return [{"tool": "task", "arguments": arguments}]

    def headless(self, prompt, resume=False):
        return [*self.program, "run", "--auto", *(["--continue"] if resume else []), prompt]

    def interactive(self, resume=False):
        return [*self.program, *(["--continue"] if resume else [])]
