"""The official conformance suite, over HTTP, against our server with the suite's fixtures next to it.

Every scenario that a revision of the specification requires has to pass, but for those listed here. One
that is listed and passes, or is not run at all, is a mistake in the list. One of which the suite could try
nothing has not passed, though the suite says so. What the suite itself does not score (extensions, and
what its own server cannot do) is only counted.

    conformance.py REVISION NODE SUITE FIXTURES DIRECTORY
"""

import os
import re
import subprocess
import sys

from proxy import Proxy

ASKS = "asks the client in the middle of a call of 2025; we keep no sessions over HTTP, nor does a tool ask"
SESSIONS = "nothing of it can be tried without sessions over HTTP, of which we keep none"
SUBSCRIBES = "a client of 2025 cannot be told over HTTP without sessions; over stdio it can"
NOT_OURS = {
    "2025-11-25": {
        "tools-call-sampling": ASKS,
        "tools-call-elicitation": ASKS,
        "elicitation-sep1034-defaults": ASKS,
        "elicitation-sep1330-enums": ASKS,
        "server-sse-multiple-streams": SESSIONS,
        "resources-subscribe": SUBSCRIBES,
        "resources-unsubscribe": SUBSCRIBES,
    },
    "2026-07-28": {},
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
    not_ours = NOT_OURS[revision]
    ours = {name: came for name, came in scored.items() if name not in not_ours}
    for name, came in sorted((scored | others).items()):
        why = not_ours.get(name) or ("not scored" if name in others else "")
        print(f"{came:9} {name}" + (f" ({why})" if why else ""))
    bad = [name for name, came in ours.items() if came != "passed"]
    mistaken = [name for name in not_ours if scored.get(name, "passed") == "passed"]
    print(
        f"{len(ours) - len(bad)} of {len(ours)} passed, {len(not_ours)} not ours;"
        f" of those not scored {list(others.values()).count('passed')} of {len(others)}"
    )
    assert not bad, f"did not pass: {', '.join(bad)}"
    assert not mistaken, f"listed as not ours, but passed or not there: {', '.join(mistaken)}"


def main(revision, node, suite, fixtures, directory):
    home = os.path.join(directory, "outlive")
    server = subprocess.Popen([fixtures, home], stderr=subprocess.PIPE, text=True)
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
