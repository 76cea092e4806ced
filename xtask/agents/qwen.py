"""Qwen Code, with a model that speaks OpenAI's chat completions."""

from programs import World


class Qwen(World):
    setup = "qwen"
    forgets_stop = True
    shell = "run_shell_command"
    ready = "YOLO mode"
    # Without a person it refuses commands that it would ask about.
    ALLOWED = ["--yolo"]

    def variables(self):
        return {
            "OPENAI_BASE_URL": f"{self.model.url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted",
        }

    def prepare(self):
        self.write(".qwen/settings.json", {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False},
            # Its side jobs would play the script too.
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False, "enableAutoSkill": False},
            "privacy": {"usageStatisticsEnabled": False},
        })

    def run_in_shell(self, command):
        return super().run_in_shell(command, is_background=False)

    def helper(self, prompt):
        arguments = {"description": "help", "prompt": prompt, "subagent_type": "general-purpose"}
        return [{"tool": "agent", "arguments": arguments}]

    def headless(self, prompt, resume=False):
        return [*self.interactive(resume), "-p", prompt]

    def interactive(self, resume=False):
        return [*self.program, *(["--continue"] if resume else []), *self.ALLOWED]
