"""The official conformance suite, over HTTP, against our server with the suite's fixtures in front of it.

Every scenario that is run for a revision of the specification has to pass, those too that the suite itself
does not score (extensions, and what its own server cannot do), but for those listed here. One that is listed
and passes, or is not run at all, is a mistake in the list. One of which the suite could try nothing has not
passed, though the suite says so.

    conformance.py REVISION NODE SUITE FIXTURES DIRECTORY
"""

import os
import re
import subprocess
import sys

from proxy import Proxy

NOT_TRIED = {
    "2025-11-25": {},
    "2026-07-28": {
        "tasks-status-notifications": "the suite tries nothing of it yet; a server may send none",
    },
}


def run(revision, node, suite, url, directory):
    """What the suite says."""
    args = ["server", "--url", url, "--requirements", revision, "--output-dir", directory]
    ran = subprocess.run([node, suite, *args], cwd=directory, capture_output=True, text=True)
    assert "=== SUMMARY ===" in ran.stdout, ran.stdout + ran.stderr
    return ran.stdout


def results(said):
    """What came of each scenario, of those that count and of those that do not."""
    _, _, summary = said.partition("=== SUMMARY ===")
    scored, _, not_scored = summary.partition("Not scored")
    others = re.findall(r"^ +[✓✗] (\S+) \(", not_scored, re.M)
    counts = re.findall(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", scored, re.M)
    came = {name: result(int(good), int(bad)) for name, good, bad in counts}
    return {name: came[name] for name in came if name not in others}, {name: came[name] for name in others}


def result(good, bad):
    if bad:
        return "failed"
    return "passed" if good else "not tried"


def judge(revision, scored, others):
    not_tried = NOT_TRIED[revision]
    all_of_them = scored | others
    ours = {name: came for name, came in all_of_them.items() if name not in not_tried}
    for name, came in sorted(all_of_them.items()):
        why = not_tried.get(name) or ("not scored" if name in others else "")
        print(f"{came:9} {name}" + (f" ({why})" if why else ""))
    bad = [name for name, came in ours.items() if came != "passed"]
    mistaken = [name for name in not_tried if all_of_them.get(name, "passed") == "passed"]
    extra = [name for name in others if name not in not_tried]
    print(
        f"{len(ours) - len(bad)} of {len(ours)} passed, {len(extra)} of these not scored;"
        f" {len(not_tried)} not tried"
    )
    assert not bad, f"did not pass: {', '.join(bad)}"
    assert not mistaken, f"listed as not tried, but passed or not there: {', '.join(mistaken)}"


def main(revision, node, suite, fixtures, directory):
    home = os.path.join(directory, "outlive")
    # Beside the programs' directory is that of the examples.
    programs = os.path.dirname(os.path.dirname(fixtures))
    env = {**os.environ, "PATH": programs + os.pathsep + os.environ["PATH"]}
    server = subprocess.Popen([fixtures, home], env=env, stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"//(.+):(\d+)/", server.stderr.readline())
        token = server.stderr.readline().strip()
        proxy = Proxy((address[1], int(address[2])), token)
        try:
            url = f"http://127.0.0.1:{proxy.port}/mcp"
            judge(revision, *results(run(revision, node, suite, url, directory)))
        finally:
            proxy.close()
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


main(*sys.argv[1:])
