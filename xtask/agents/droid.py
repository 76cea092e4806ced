"""Droid, with a model of its user's (`customModels`), which needs no account."""

from programs import World


class Droid(World):
    setup = "droid"
    shell = "Execute"
    # Its backend has the conversations.
    can_resume = False
    prefix = "outlive___"

    def variables(self):
        return {"FACTORY_AIRGAP_ENABLED": "true"}

    def prepare(self):
        model = {
            "model": "scripted", "displayName": "Scripted", "baseUrl": f"{self.model.url}/v1",
            "apiKey": "none", "provider": "generic-chat-completion-api", "maxOutputTokens": 8192,
        }
        self.write(".factory/settings.json", {"customModels": [model]})

    def starts(self, command):
        """Its shells do not know their session."""
        return self.tool("run", command=command)

    def run_in_shell(self, command):
        risk = {"riskLevel": "low", "riskLevelReason": "none", "summary": "a command"}
        return super().run_in_shell(command, timeout=60, **risk)

    def headless(self, prompt, resume=False):
        return [*self.program, "exec", "--auto", "high", "--model", "custom:scripted", prompt]
