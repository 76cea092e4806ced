"""The agents that are described in a file of their own."""

from cline import Cline
from copilot import Copilot
from droid import Droid
from kilo import Kilo
from qwen import Qwen

MORE = {"qwen": Qwen, "copilot": Copilot, "droid": Droid, "kilo": Kilo, "cline": Cline}
