"""The inspector's strict lint: schemas of tools that some client would not take are errors.

    inspector.py INSPECTOR OUTLIVE DIRECTORY
"""

import json
import os
import subprocess
import sys


def main(inspector, outlive, directory):
    # It keeps things in the home of whoever calls it.
    env = {**os.environ, "HOME": directory, "OUTLIVE_HOME": os.path.join(directory, "outlive")}
    args = ["--cli", outlive, "mcp", "--compat", "--method", "tools/list", "--strict"]
    ran = subprocess.run([inspector, *args], env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    tools = json.loads(ran.stdout)["tools"]
    findings = [line for line in ran.stderr.splitlines() if "npm warn" not in line and line.strip()]
    print(f"{len(tools)} tools; {'; '.join(findings) or 'no findings'}")


main(*sys.argv[1:])
