//! What must be so after any fault.

use crate::job::{self, ID, Kind, SESSION};
use crate::world::{Ran, World, until};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What besides exactness a fault allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Nothing: output and outcome are exact.
    Exact,
    /// The job was not started, says so, and did not run.
    NotStarted,
    /// Both keepers died: how it ended may not be known, and the end of its output be missing.
    Lost,
}

/// A job that has ended is what it should be, is told once, leaves nothing, and all verbs work.
pub fn check(world: &World, kind: &Kind, ended: &Value, allowed: Allowed) -> Result<(), String> {
    outcome(world, kind, ended, allowed)?;
    output(world, kind, ended, allowed)?;
    one_end(world)?;
    nothing_is_left(world)?;
    told_once(world, kind, ended)?;
    verbs_work(world, kind, ended)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, should: T) -> Result<(), String> {
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

fn one_end(world: &World) -> Result<(), String> {
    let events = world.events(ID);
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
    world.ok(&["prune", "--all"])?;
    same("left after pruning", left_after_pruning(world), Vec::new())?;
    let started = Ran::of(&mut kind.start(world))?;
    same("the second start's code", started.code, 0)
        .map_err(|loss| format!("{loss}: {started}"))?;
    let ended = kind.go_on(world)?;
    check(world, kind, &ended, Allowed::Exact)
}

/// A directory without its name may be of a launcher that is at work, so a prune leaves it for a minute.
fn age_unnamed(world: &World) -> Result<(), String> {
    let long_ago = SystemTime::now() - Duration::from_secs(120);
    let jobs = fs::read_dir(world.home().join("jobs"));
    for entry in jobs.into_iter().flatten().flatten() {
        File::open(entry.path())
            .and_then(|directory| directory.set_modified(long_ago))
            .map_err(|error| format!("{}: {error}", entry.path().display()))?;
    }
    Ok(())
}

fn nothing_runs(world: &World) -> Result<(), String> {
    until("no process is left", || world.processes().is_empty())
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
    world.ok(&["list", "--state", "all"])?;
    until("no FIFO, socket or live link is left", || left().is_empty())
        .map_err(|loss| format!("{loss}: {:?}", left()))
}

/// The asker hears of everything once, by its inbox, and never again.
fn told_once(world: &World, kind: &Kind, ended: &Value) -> Result<(), String> {
    let told = deliver(world)?;
    let kinds: Vec<&str> = told.iter().filter_map(|it| it["kind"].as_str()).collect();
    match ended["outcome"]["kind"].as_str() {
        // What it printed may not have been looked at.
        Some("lost") => same("the last told", kinds.last().copied(), Some("ended"))?,
        // Whoever started it was told, unless that was killed.
        Some("not_started") if kinds.is_empty() => {}
        Some("not_started") => same("told", kinds.as_slice(), &["ended"])?,
        _ => same("told", kinds.as_slice(), kind.told)?,
    }
    let id = |event: &Value| event["event"].as_str().unwrap_or_default().to_owned();
    let ids: Vec<String> = told.iter().map(id).collect();
    let mut ack = vec!["inbox", "--session", SESSION, "--ack"];
    ack.extend(ids.iter().map(String::as_str));
    if !ids.is_empty() {
        world.ok(&ack)?;
    }
    let again = deliver(world)?;
    same("told again after the ack", again.len(), 0)
}

fn deliver(world: &World) -> Result<Vec<Value>, String> {
    let inbox = world.json(&["inbox", "--session", SESSION, "--json"])?;
    let events = inbox["events"].as_array().cloned();
    events.ok_or_else(|| format!("the inbox has no events: {inbox}"))
}

/// Every verb does to an ended job what it should, the last of them removing it.
fn verbs_work(world: &World, kind: &Kind, ended: &Value) -> Result<(), String> {
    let shown = world.json(&["show", ID, "--json"])?;
    same("show's outcome", &shown["outcome"], &ended["outcome"])?;
    let listed = world.json(&["list", "--state", "all", "--json"])?;
    same("list's id", listed["jobs"][0]["id"].as_str(), Some(ID))?;
    let log = world.ok(&["log", ID, "--raw", "--bytes", "0:"])?;
    let output = fs::read(world.job_dir(ID).join("output")).unwrap_or_default();
    same("log and output are alike", log.stdout == output, true)?;
    let waited = world.outlive(&["wait", ID])?.code;
    let code = ended["exit_code"].as_i64().unwrap_or(125);
    same("wait's code", i64::from(waited), code)?;
    world.ok(&["stop", ID])?;
    let sent = world.outlive(&["send", ID, "late"])?;
    let is_refused = sent.code == 125 && !sent.stderr.is_empty();
    same("sending is refused", is_refused, true).map_err(|loss| format!("{loss}: {sent}"))?;
    world.ok(&["prune", "--all", "--force"])?;
    same("left after pruning", left_after_pruning(world), Vec::new())?;
    let gone = world.outlive(&["show", ID])?.code;
    same("show's code for what is gone", gone, 3)?;
    // The home is as good as new.
    let again = world.outlive(&["run", "--wait", "--", "echo", kind.name])?;
    same(
        "the next job's code and output",
        (again.code, again.text()),
        (0, kind.name.to_owned()),
    )
}

/// What a pruned home may keep is which jobs ended when, and the limits of its sessions.
fn left_after_pruning(world: &World) -> Vec<std::path::PathBuf> {
    let mut files = world.files();
    files.retain(|path| !path.starts_with("ended") && !path.ends_with(".matches"));
    files
}
