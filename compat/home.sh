#!/usr/bin/env bash
# Makes a home with ended jobs of every kind, and writes down what the programs say of them.
#
#   compat/home.sh PROGRAMS DIRECTORY
#
# PROGRAMS holds outlive and outlive-keeper. In DIRECTORY, which must exist, it makes `home`,
# `jobs.jsonl` (`show --json` of each job) and `inbox.json` (what the session `agent` has not been told).
# crates/cli/tests/e2e/compat/homes.rs knows these jobs by their ids: change both together.
set -euo pipefail

if [ $# -ne 2 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
programs=$(cd "$1" && pwd)
made=$(cd "$2" && pwd)
home=$made/home
# What the jobs and this script need besides the home.
work=$made/work
mkdir "$home" "$work"

# If something went wrong before they ended, the jobs of this home are ended here.
clean_up() {
    for job in "$home"/live/*; do
        if [ -e "$job" ] && [ "$(basename "$job")" != interrupted ]; then
            outlive stop --grace 0 "$(basename "$job")" >"$work/stopped" 2>&1 || true
        fi
    done
    rm -rf "$work"
}
trap clean_up EXIT

# Nothing of whoever runs this script may end up in the home.
outlive() {
    outlive_as "" "$@"
}

# outlive_as SESSION ARGUMENT…
outlive_as() {
    local session=$1
    shift
    env -i PATH="$PATH" HOME="$work" OUTLIVE_HOME="$home" WORK="$work" OUTLIVE_SESSION="$session" \
        "$programs/outlive" "$@"
}

# start ID [OPTION…] -- COMMAND…, or --shell STRING
start() {
    local id=$1
    shift
    outlive run --quiet --id "$id" --cwd / "$@" >"$work/started"
}

# Waits for something that the programs do. `outlive wait` would count as telling the session.
until_true() {
    local tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -gt 3000 ]; then
            echo "never came true: $*" >&2
            exit 1
        fi
        sleep 0.01
    done
}
is_over() { [ -e "$home/jobs/$1/journal" ] && [ ! -e "$home/live/$1" ]; }
has_event() { grep -q "\"event\":{\"$2\"\|\"event\":\"$2\"" "$home/jobs/$1/journal"; }
has_output() { [ -s "$home/jobs/$1/output" ]; }

# The pids that the journal names: standby, keeper and leader, in this order.
pids_of() {
    grep -o '"standby":{"pid":[0-9]*\|"keeper":{"pid":[0-9]*\|"leader":{"pid":[0-9]*' "$home/jobs/$1/journal" |
        sort -r | grep -o '[0-9]*$' >"$work/pids"
    # Sorted backwards: standby, leader, keeper.
    sed -n 1p "$work/pids"
    sed -n 3p "$work/pids"
    sed -n 2p "$work/pids"
}
has_ended() { [ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }
# Leaves the job as a power cut does: all of its processes are gone, and the boot is another one.
# They are suspended first: else a keeper that is left for a moment would note the end, or make itself a partner.
cut_power() {
    local pid pids
    pids=$(pids_of "$1")
    for pid in $pids; do kill -STOP "$pid"; done
    for pid in $pids; do
        kill -KILL "$pid"
        until_true has_ended "$pid"
    done
    sed -i 's/"boot":"[^"]*"/"boot":"00000000-0000-0000-0000-000000000000"/' "$home/jobs/$1/journal"
}

chmod 700 "$home"
# Else what nobody was told would be dropped for its age two days later.
printf '[inbox]\nkeep = "36500d"\n' >"$home/config.toml"

# How a job ends.
start exited-0 --shell 'echo one; echo two'
start exited-3 --session agent --shell 'echo failed >&2; exit 3'
start signaled --session agent --shell 'kill -USR1 $$'
start stopped -- sleep 600
outlive stop --quiet stopped >"$work/told"
start stopped-deaf --grace 50ms --shell 'trap "" TERM; echo deaf; while :; do sleep 600; done'
until_true has_output stopped-deaf
outlive stop --quiet stopped-deaf >"$work/told"
start timed-out --session agent --timeout 50ms -- sleep 600
start not-found -- /nowhere/such-program 2>"$work/words" && exit 1
printf 'not a program' >"$work/file"
start not-executable -- "$work/file" 2>"$work/words" && exit 1

# How it is talked to.
start terminal --pty=24x80 --shell 'stty size'
start piped --stdin pipe -- cat
outlive send --quiet piped 'sent' --enter --eof

# What is looked for in it.
start watched --session agent --watch warning --shell 'echo fine; echo warning: low; echo fine'
start ready --session agent --stdin pipe --ready line:up --shell 'echo up; cat'
until_true has_event ready ready
outlive send --quiet ready --eof
start quiet --session agent --stdin pipe --quiet-after 20ms --shell 'echo up; cat'
until_true has_event quiet quiet
outlive send --quiet quiet --eof

# What it is called, and who asked.
start named --name web -- true
start labelled --session other --task build -- true
start never-told --session agent --notify never -- true

# What becomes of its output.
start bounded --max-output 64K --shell 'seq 1 100000'
outlive detach --quiet --id detached --cwd / "$work/log" -- echo logged >"$work/started"

# What it waits for, leaves behind and rings.
start locked --lock door -- true
start lingered --stdin pipe --shell 'exec 3<&0; (cat <&3; echo late) & exit 5'
start rung --session agent --on-end 'cat >"$WORK/rung"' --shell 'exit 6'

# A job that ran when the machine went down, and that somebody met afterwards.
start lost --session agent -- sleep 600
cut_power lost
outlive show lost >"$work/shown"

for id in exited-0 exited-3 signaled stopped stopped-deaf timed-out not-found not-executable terminal piped \
    watched ready quiet named labelled never-told bounded detached locked lingered rung lost; do
    until_true is_over $id
done

# Posts, and what has been told: acked, waited for, claimed and not acked in time.
echo '{"goal":"look","status":"completed","summary":"seen"}' | outlive post --quiet --session agent --id posted >"$work/posted"
start acked --session told -- true
until_true is_over acked
outlive inbox --session told --ack-all >"$work/told"
start waited --session told -- true
outlive_as told wait --quiet waited >"$work/told"
outlive inbox --session agent --limit 1 --claim 1ms --json >"$work/claimed"

# What pruning leaves: a line in `ended`, and what a pruner and a launcher that were killed left half done.
start pruned -- true
outlive wait --quiet pruned >"$work/told"
until_true is_over pruned
rm -r "$home/jobs/pruned"
mkdir "$home/jobs/.gone-half-0001" "$home/jobs/.new-half-0001"
echo left >"$home/jobs/.gone-half-0001/output"

# What these programs say of these jobs, one a line, and of the inbox.
for directory in "$home"/jobs/*; do
    outlive show --json "$(basename "$directory")"
done >"$made/jobs.jsonl"
outlive inbox --session agent --peek --json >"$made/inbox.json"

# One that nobody has met since: last, because any verb that meets it settles it.
start interrupted --session power-cut --shell 'echo begun; exec sleep 600'
until_true has_output interrupted
cut_power interrupted
