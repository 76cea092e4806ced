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

/// What besides exactness a fault allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Nothing: output and outcome are exact.
    Exact,
    /// The job was not started, says so, and did not run.
    NotStarted,
    /// The same, or a stop that could not look at the job's processes came to its KILL.
    Scarce,
    /// The job was not started, or the disk did not take some of its output, which is said.
    Gaps,
    /// Both keepers died: how it ended may not be known, and the end of its output be missing.
    Lost,
}

/// What the asker has been told, and acked, before it is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    All,
}

/// A job that has ended is what it should be, is told once, leaves nothing, and all verbs work.
pub fn check(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    check_heard(world, kind, ended, allowed, Heard::Nothing)
}

/// The same where the asker may have heard of it already.
pub fn check_heard(
    world: &World,
    kind: &Kind,
    ended: &Value,
    allowed: Allowed,
    heard: Heard,
) -> Result<(), String> {
    outcome(world, kind, ended, allowed)?;
    output(world, kind, ended, allowed)?;
    one_end(world)?;
    nothing_is_left(world)?;
    match heard {
        Heard::Nothing => told_once(world, kind, ended, allowed)?,
        Heard::All => same("told again", deliver(world)?.len(), 0)?,
    }
    verbs_work(world, kind, ended)
}

/// The kinds of events, but for one that may be there or not: on a slow machine a job may be seen to wait
/// for its input, which is so.
pub fn kinds(events: &Value) -> Vec<&str> {
    let events = events.as_array().into_iter().flatten();
    let kinds = events.filter_map(|it| it["kind"].as_str());
    kinds.filter(|kind| *kind != "awaiting_input").collect()
}

pub fn ids(events: &Value) -> Vec<&str> {
    let events = events.as_array().into_iter().flatten();
    events.filter_map(|it| it["event"].as_str()).collect()
}

/// An ack is on the disk, though nobody may know yet.
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
            same("runs of a job that was not started", runs, 0)
        }
        Some("lost") if allowed == Allowed::Lost => Ok(()),
        // A terminal hangs up when nobody holds it.
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
            same("runs", runs, 1)
        }
    }
}

fn output(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    let output = fs::read(world.job_dir(ID).join("output")).unwrap_or_default();
    let expected = match job::runs(world) {
        0 => Vec::new(),
        _ => (kind.output)(),
    };
    if allowed == Allowed::Lost && expected.starts_with(&output) {
        let complete = &ended["output"]["complete"];
        return match *complete == output.len().eq(&expected.len()) || *complete == false {
            true => Ok(()),
            false => Err(format!("a part of the output is said to be all: {ended}")),
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

/// Where the journal says that output is missing.
fn gaps(world: &World) -> Vec<Range<usize>> {
    let place = |value: &Value| value.as_u64().unwrap_or_default() as usize;
    let events = world.all_events(ID).into_iter();
    events
        .filter(|(kind, _)| kind == "gap")
        .map(|(_, gap)| place(&gap["from"])..place(&gap["to"]))
        .collect()
}

/// What is not missing is what it should be, and how much is missing is said.
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

/// A launch that failed before the job had its name leaves nothing that a prune does not remove, and
/// can be repeated.
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

/// A directory without its name and a link that leads nowhere may be of a launcher that is at work, so
/// a prune leaves them for a minute.
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

/// No process, no FIFO, no socket, no link to a job that runs.
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
    // What a verb clears up that its killed keeper could not is cleared up when it is met.
    world.try_ok(&["list", "--state", "all"])?;
    try_until("no FIFO, socket or live link is left", || left().is_empty())
        .map_err(|loss| format!("{loss}: {:?}", left()))
}

/// The asker hears of everything once, by its inbox, and never again.
fn told_once(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    let told = Value::Array(deliver(world)?);
    let mut kinds = kinds(&told);
    if allowed != Allowed::Exact {
        // What could not be told at once is told later.
        kinds.sort_by_key(|told| kind.told.iter().position(|kind| kind == told));
    }
    match ended["outcome"]["kind"].as_str() {
        // What it printed may not have been looked at.
        Some("lost") => same("the last told", kinds.last().copied(), Some("ended"))?,
        // Whoever started it was told, unless that was killed.
        Some("not_started") if kinds.is_empty() => {}
        Some("not_started") => same("told", kinds.as_slice(), &["ended"])?,
        // A line that the disk did not take, or that died with both keepers, was not seen.
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

/// Every verb does to an ended job what it should, the last of them removing it.
fn verbs_work(world: &World, kind: &Kind, ended: &Value) -> Result<(), String> {
    let shown = world.try_json(&["show", ID, "--json"])?;
    same("show's outcome", &shown["outcome"], &ended["outcome"])?;
    let listed = world.try_json(&["list", "--state", "all", "--json"])?;
    same("list's id", listed["jobs"][0]["id"].as_str(), Some(ID))?;
    let log = world.try_ok(&["log", ID, "--raw", "--bytes", "0:"])?;
    let output = fs::read(world.job_dir(ID).join("output")).unwrap_or_default();
    // What is missing is left out of the one and a hole in the other.
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
    // The home is as good as new.
    let again = world.try_outlive(&["run", "--wait", "--", "echo", kind.name])?;
    same(
        "the next job's code and output",
        (again.code, again.text()),
        (0, kind.name.to_owned()),
    )
}

/// What a pruned home may keep is which jobs ended when, and the limits of its sessions.
pub fn left_after_pruning(world: &World) -> Vec<PathBuf> {
    let mut files = world.files();
    let is_of_the_home = |path: &PathBuf| path.starts_with("ended") || path.ends_with("boot");
    files.retain(|path| !is_of_the_home(path) && !path.ends_with(".matches"));
    files
}

#[cfg(test)]
mod tests;
