//! What must hold after any fault.

use crate::job::{self, ID, Kind, SESSION};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which deviations from the exact result a fault allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// None: output and outcome are exact.
    Exact,
    /// The job may not have been started. Then it reports that and did not run.
    NotStarted,
    /// As `NotStarted`. A stop may also end with KILL, because the keeper could not look at the job's processes.
    Scarce,
    /// As `NotStarted`. Some output may also be missing because the disk refused it, if the record says so.
    Gaps,
    /// Both keepers died: the outcome may be unknown, and the end of the output may be missing.
    Lost,
}

/// What the session has been told and has acked before the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    All,
}

/// Checks an ended job: its outcome and output, that its session is told once, that nothing is left, and that all
/// verbs work.
pub fn check(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    check_heard(world, kind, ended, allowed, Heard::Nothing)
}

/// Like [`check`], for a session that may have been told already.
pub fn check_heard(
    world: &World,
    kind: &Kind,
    ended: &Value,
    allowed: Allowed,
    heard: Heard,
) -> Result<(), String> {
    outcome(world, kind, ended, allowed)?;
    output(world, kind, ended, allowed)?;
    streams(world, kind, ended)?;
    one_end(world)?;
    nothing_is_left(world)?;
    match heard {
        Heard::Nothing => told_once(world, kind, ended, allowed)?,
        Heard::All => same("told again", deliver(world)?.len(), 0)?,
    }
    verbs_work(world, kind, ended)
}

/// The kinds of the events, without `awaiting_input`. On a slow machine a job may be seen waiting for its input, so
/// that event may or may not be there.
pub fn kinds(events: &Value) -> Vec<&str> {
    let events = events.as_array().into_iter().flatten();
    let kinds = events.filter_map(|it| it["kind"].as_str());
    kinds.filter(|kind| *kind != "awaiting_input").collect()
}

pub fn ids(events: &Value) -> Vec<&str> {
    let events = events.as_array().into_iter().flatten();
    events.filter_map(|it| it["event"].as_str()).collect()
}

/// Whether an ack is recorded on the disk. The client that acked may not know that yet.
pub fn is_acked(world: &World) -> bool {
    let told = fs::read_to_string(world.job_dir(ID).join("told")).unwrap_or_default();
    let mut lines = told.lines().map(serde_json::from_str::<Value>);
    lines.any(|line| line.is_ok_and(|line| line["note"]["told"].is_object()))
}

pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, should: T) -> Result<(), String> {
    match is == should {
        true => Ok(()),
        false => Err(format!("{what}: {is:?}, not {should:?}")),
    }
}

fn outcome(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    let runs = job::runs(world);
    match ended["outcome"]["kind"].as_str() {
        Some("not_started") if allowed != Allowed::Exact => {
            // Only the attempt that is recorded last was not started.
            let started = attempt(ended) - 1;
            same("runs of a job that was not started", runs as u64, started)
        }
        Some("lost") if allowed == Allowed::Lost => Ok(()),
        // If no process holds the terminal, the kernel sends SIGHUP to the job.
        Some("signaled") if allowed == Allowed::Lost && kind.name == "pty" => {
            let signal = ended["outcome"]["signal"].as_str();
            same("the signal of a hangup", signal, Some("SIGHUP"))
        }
        Some("signaled") if allowed == Allowed::Scarce && kind.ended_by != "itself" => {
            same("ended by", ended["ended_by"].as_str(), Some(kind.ended_by))
        }
        _ => {
            same("outcome", &ended["outcome"], &(kind.outcome)())?;
            same("ended by", ended["ended_by"].as_str(), Some(kind.ended_by))?;
            match is_over_early(ended) {
                true => same(
                    "runs of a job without its keepers",
                    runs as u64,
                    attempt(ended),
                ),
                false => same("runs", runs, kind.runs()),
            }
        }
    }
}

/// Which attempt was the last.
fn attempt(ended: &Value) -> u64 {
    ended["attempt"].as_u64().unwrap_or(1)
}

/// Both keepers were killed, so no further attempt followed, and the job says so.
fn is_over_early(ended: &Value) -> bool {
    ended["not_restarted"].is_string()
}

fn output(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    let output = fs::read(world.job_dir(ID).join("output")).unwrap_or_default();
    let expected = (kind.output)().repeat(job::runs(world));
    if allowed == Allowed::Lost && expected.starts_with(&output) {
        let complete = &ended["output"]["complete"];
        return match *complete == output.len().eq(&expected.len()) || *complete == false {
            true => Ok(()),
            false => Err(format!(
                "an incomplete output is reported as complete: {ended}"
            )),
        };
    }
    let gaps = gaps(world);
    if allowed == Allowed::Gaps && !gaps.is_empty() {
        return output_but_for(&gaps, &output, &expected, ended);
    }
    let alike = output.iter().zip(&expected);
    let alike = alike.take_while(|(is, should)| is == should).count();
    match output == expected {
        true => same("complete", &ended["output"]["complete"], &Value::Bool(true)),
        false => Err(format!(
            "output: {} bytes, not {}; the same up to {alike}",
            output.len(),
            expected.len()
        )),
    }
}

/// Checks that each stream is exact, or lacks only what the record says is missing.
fn streams(world: &World, kind: &Kind, ended: &Value) -> Result<(), String> {
    let Some([stdout, stderr]) = kind.streams else {
        return Ok(());
    };
    let ran = job::runs(world) > 0;
    let is_whole = gaps(world).is_empty() && ended["output"]["complete"] == true;
    for (option, expected) in [("--stdout", stdout), ("--stderr", stderr)] {
        let read = world.try_ok(&["log", ID, option, "--raw", "--bytes", "0", "--peek"])?;
        let mut left = expected.bytes();
        let is_right = match (ran, is_whole) {
            (false, _) => read.bytes.is_empty(),
            (true, true) => read.bytes == expected.as_bytes(),
            (true, false) => read.bytes.iter().all(|byte| left.any(|it| it == *byte)),
        };
        if !is_right {
            return Err(format!("{option} is {:?}, not {expected:?}", read.stdout));
        }
    }
    Ok(())
}

/// The parts of the output that are missing, as the journal says.
fn gaps(world: &World) -> Vec<Range<usize>> {
    let place = |value: &Value| value.as_u64().unwrap_or_default() as usize;
    let events = world.all_events(ID).into_iter();
    events
        .filter(|(kind, _)| kind == "gap")
        .map(|(_, gap)| place(&gap["from"])..place(&gap["to"]))
        .collect()
}

/// Checks the output outside the gaps, and that the job reports how much is missing.
fn output_but_for(
    gaps: &[Range<usize>],
    output: &[u8],
    expected: &[u8],
    ended: &Value,
) -> Result<(), String> {
    let missing: usize = gaps.iter().map(Range::len).sum();
    same(
        "dropped",
        ended["output"]["dropped_bytes"].as_u64(),
        Some(missing as u64),
    )?;
    let is_kept = |at: &usize| !gaps.iter().any(|gap| gap.contains(at));
    let wrong = (0..expected.len())
        .filter(is_kept)
        .find(|at| output.get(*at) != expected.get(*at));
    same("the first wrong byte outside gaps", wrong, None)
}

fn one_end(world: &World) -> Result<(), String> {
    let events = world.all_events(ID);
    let count = |name: &str| events.iter().filter(|(kind, _)| kind == name).count();
    same("ends in the journal", count("ended"), 1)
}

/// Checks a launch that failed before the job had a name: a prune removes everything that is left, and the start can
/// be repeated.
pub fn check_never_was(world: &World, kind: &Kind) -> Result<(), String> {
    same("runs of a job that never was", job::runs(world), 0)?;
    same("told of a job that never was", deliver(world)?.len(), 0)?;
    nothing_runs(world)?;
    age_unnamed(world)?;
    world.try_ok(&["prune", "--all"])?;
    same("left after pruning", left_after_pruning(world), Vec::new())?;
    let started = Ran::try_of(&mut kind.start(world))?;
    same("the second start's code", started.code, 0)
        .map_err(|loss| format!("{loss}: {started}"))?;
    let ended = kind.go_on(world)?;
    check(world, kind, &ended, Allowed::Exact)
}

/// Sets old times on everything in the home. A prune leaves a directory without a name, and a link that leads nowhere,
/// alone for a minute, because a running launcher may have made them.
pub fn age_unnamed(world: &World) -> Result<(), String> {
    let home = world.home();
    let mut touch = Command::new("touch");
    touch.args(["--no-dereference", "--date", "2 minutes ago"]);
    touch.args(world.files().iter().map(|path| home.join(path)));
    let jobs = fs::read_dir(home.join("jobs"));
    touch.args(jobs.into_iter().flatten().flatten().map(|job| job.path()));
    let touched = match home.exists() {
        true => Ran::try_of(touch.arg(&home))?,
        false => return Ok(()),
    };
    same("touch's code", touched.code, 0).map_err(|loss| format!("{loss}: {touched}"))
}

pub fn nothing_runs(world: &World) -> Result<(), String> {
    try_until("no process is left", || world.processes().is_empty())
        .map_err(|loss| format!("{loss}: {:?}", world.processes()))
}

/// Checks that no process, FIFO, socket or link to a running job is left.
pub fn nothing_is_left(world: &World) -> Result<(), String> {
    nothing_runs(world)?;
    let is_plain = |path: &Path| {
        let kind = world.home().join(path).symlink_metadata();
        let is_special =
            kind.is_ok_and(|it| it.file_type().is_fifo() || it.file_type().is_socket());
        !is_special && !path.starts_with("live")
    };
    let left = || {
        let mut files = world.files();
        files.retain(|path| !is_plain(path));
        files
    };
    // If both keepers were killed, they could not clean up. A verb that looks at the job does that.
    world.try_ok(&["list", "--state", "all"])?;
    try_until("no FIFO, socket or live link is left", || left().is_empty())
        .map_err(|loss| format!("{loss}: {:?}", left()))
}

/// Checks that the inbox of the session delivers every event once, and none again after the ack.
fn told_once(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    let told = Value::Array(deliver(world)?);
    let mut kinds = kinds(&told);
    if allowed != Allowed::Exact {
        // An event that could not be reported when it happened is reported later, so the order may differ.
        kinds.sort_by_key(|told| kind.told.iter().position(|kind| kind == told));
    }
    match ended["outcome"]["kind"].as_str() {
        // The keepers may not have seen all output before they died, so other events may be missing.
        Some("lost") => same("the last told", kinds.last().copied(), Some("ended"))?,
        // The launcher reported this to its caller, so the inbox may have no event. A launcher that was killed
        // reported nothing.
        Some("not_started") if kinds.is_empty() => {}
        Some("not_started") if attempt(ended) > 1 => same("told", kinds.as_slice(), kind.told)?,
        _ if is_over_early(ended) => same("the last told", kinds.last().copied(), Some("ended"))?,
        Some("not_started") => same("told", kinds.as_slice(), &["ended"])?,
        // Nobody saw the lines that the disk refused or that were lost with both keepers.
        _ if !gaps(world).is_empty() || ended["output"]["complete"] == false => {
            same("the last told", kinds.last().copied(), Some("ended"))?
        }
        _ => same("told", kinds.as_slice(), kind.told)?,
    }
    let ids = ids(&told);
    let mut ack = vec!["inbox", "--session", SESSION, "--ack"];
    ack.extend(&ids);
    if !ids.is_empty() {
        world.try_ok(&ack)?;
    }
    let again = deliver(world)?;
    same("told again after the ack", again.len(), 0)
}

pub fn deliver(world: &World) -> Result<Vec<Value>, String> {
    let inbox = world.try_json(&["inbox", "--session", SESSION, "--json"])?;
    let events = inbox["events"].as_array().cloned();
    events.ok_or_else(|| format!("the inbox has no events: {inbox}"))
}

/// Checks that every verb works on the ended job. The last one removes it.
fn verbs_work(world: &World, kind: &Kind, ended: &Value) -> Result<(), String> {
    let shown = world.try_json(&["show", ID, "--json"])?;
    same("show's outcome", &shown["outcome"], &ended["outcome"])?;
    let listed = ["list", "--state", "all", "--session", SESSION, "--json"];
    let listed = world.try_json(&listed)?;
    same("list's id", listed["jobs"][0]["id"].as_str(), Some(ID))?;
    let log = world.try_ok(&["log", ID, "--raw", "--bytes", "0:"])?;
    let output = fs::read(world.job_dir(ID).join("output")).unwrap_or_default();
    // `log` leaves missing output out. The output file has a hole there instead.
    let are_alike = log.bytes == output || !gaps(world).is_empty();
    same("log and output are alike", are_alike, true)?;
    let waited = world.try_outlive(&["wait", ID])?.code;
    let code = ended["exit_code"].as_i64().unwrap_or(125);
    same("wait's code", i64::from(waited), code)?;
    world.try_ok(&["stop", ID])?;
    let sent = world.try_outlive(&["send", ID, "late"])?;
    let is_refused = sent.code == 125 && !sent.stderr.is_empty();
    same("sending is refused", is_refused, true).map_err(|loss| format!("{loss}: {sent}"))?;
    world.try_ok(&["prune", "--all", "--force"])?;
    same("left after pruning", left_after_pruning(world), Vec::new())?;
    let gone = world.try_outlive(&["show", ID])?.code;
    same("show's code for what is gone", gone, 3)?;
    // The home can be used again.
    let again = world.try_outlive(&["run", "--wait", "--", "echo", kind.name])?;
    same(
        "the next job's code and output",
        (again.code, again.text()),
        (0, kind.name.to_owned()),
    )
}

/// The files that are left in a pruned home, except those that may stay: the history of ended jobs, the boot, when
/// retention last looked, and the match limits of its sessions.
pub fn left_after_pruning(world: &World) -> Vec<PathBuf> {
    let mut files = world.files();
    // What a killed job has left in its queue is removed when the next one joins.
    let is_of_the_home = |path: &PathBuf| {
        ["ended", "queues"]
            .iter()
            .any(|stays| path.starts_with(stays))
            || ["boot", "retention"]
                .iter()
                .any(|stays| path.ends_with(stays))
    };
    files.retain(|path| !is_of_the_home(path) && !path.ends_with(".matches"));
    files
}

#[cfg(test)]
mod tests;
