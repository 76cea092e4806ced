//! Jobs that damage the files of their own directory, which belong to the same user.
//!
//! In these cases Outlive promises: other jobs are not affected, every verb answers or says what is wrong, no process
//! is left running, the directory can be removed, and an unknown outcome is never reported as a success.

use super::{bystander_is_unharmed, is_clear, start_bystander, until_written, write};
use crate::row::{Context, Row, Tried};
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fmt;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "neighbour: spoils its own directory",
        promise: "other jobs are unharmed; verbs answer or say why not; nothing hangs; unknown is no success",
        run,
    }]
}

const FILES: [&str; 12] = [
    "journal",
    "output",
    "spec.json",
    "lock",
    "told",
    "index",
    "watch",
    "control",
    "feed",
    "feed.err",
    "streams",
    ".",
];

/// What the job does to a file, as shell commands for `$f`.
const DEEDS: [(&str, &str); 9] = [
    ("truncates", ": > $f"),
    ("deletes", "rm -rf $f"),
    (
        "replaces by nonsense",
        "rm -rf $f; head -c 3000 /dev/urandom > $f",
    ),
    ("appends nonsense to", "head -c 3000 /dev/urandom >> $f"),
    ("replaces by a directory", "rm -rf $f; mkdir $f"),
    (
        "replaces by a link to nowhere",
        "rm -rf $f; ln -s /nowhere/at/all $f",
    ),
    (
        "replaces by an endless file",
        "rm -rf $f; ln -s /dev/zero $f",
    ),
    ("makes huge", "truncate -s 1T $f"),
    ("replaces by a FIFO", "rm -rf $f; mkfifo $f"),
];

/// What the test does to the keepers afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    Nothing,
    KeeperKilled,
    BothKilled,
}

struct Case {
    file: &'static str,
    deed: usize,
    then: Kill,
}

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "{} {}, then {:?}",
            DEEDS[self.deed].0, self.file, self.then
        )
    }
}

fn run(context: &Context) -> Tried {
    let mut cases = Vec::new();
    for file in FILES {
        for deed in 0..DEEDS.len() {
            // Only deleting and replacing by a directory make sense for the job directory itself.
            if file == "." && ![1, 4].contains(&deed) {
                continue;
            }
            // These deeds only write to the file. A job writes to its feed anyway, and `control` is a socket.
            if ["feed", "feed.err", "control"].contains(&file) && [0, 3, 7].contains(&deed) {
                continue;
            }
            for then in [Kill::Nothing, Kill::KeeperKilled, Kill::BothKilled] {
                cases.push(Case { file, deed, then });
            }
        }
    }
    context.try_cases(cases, 16, |case| check(context, case))
}

fn check(context: &Context, case: &Case) -> Result<(), String> {
    let world = context.world()?;
    start_bystander(&world)?;
    let (begin, done, go) = (world.path("begin"), world.path("done"), world.path("go"));
    let file = match case.file {
        "." => world.job_dir("job"),
        file => world.job_dir("job").join(file),
    };
    let script = format!(
        "echo one; echo two >&2; until [ -e '{}' ]; do sleep 0.02; done; f='{}'; {}; echo > '{}'; \
         until [ -e '{}' ]; do sleep 0.05; done; exit 7",
        begin.display(),
        file.display(),
        DEEDS[case.deed].1.replace("$f", "\"$f\""),
        done.display(),
        go.display()
    );
    // A limit on the output, so that a huge output file is not read as a whole.
    let run = [
        "run",
        "--id",
        "job",
        "--session",
        "s",
        "--max-output",
        "1M",
        "--watch",
        "x",
    ];
    let split: &[&str] = match case.file {
        "feed.err" | "streams" => &["--streams", "split"],
        _ => &[],
    };
    world.try_ok(&[&run[..], split, &["--shell", &script]].concat())?;
    until_written(&world, "job", "one")?;
    // Read the pids now. Later this test must not open files that the job may have replaced.
    let (keeper, standby) = super::pair(&world, "job");
    write(&begin)?;
    try_until("the job has done it", || done.exists())?;
    match case.then {
        Kill::Nothing => {}
        Kill::KeeperKilled => keeper.into_iter().for_each(|pid| kill(pid, KILL)),
        Kill::BothKilled => [standby, keeper]
            .into_iter()
            .flatten()
            .for_each(|pid| kill(pid, KILL)),
    }
    while_it_runs(&world)?;
    write(&go)?;
    let waited = world.try_outlive(&["wait", "job", "--timeout", "10s"])?;
    is_clear(&waited, "wait")?;
    if waited.code == 0 {
        return Err(format!(
            "the job ended with 7 and is reported as a success: {waited}"
        ));
    }
    true_or_unknown(&world)?;
    let stopped = world.try_outlive(&["stop", "job", "--grace", "100ms"])?;
    is_clear(&stopped, "stop")?;
    bystander_is_unharmed(&world)?;
    is_clear(
        &world.try_outlive(&["inbox", "--session", "s", "--json"])?,
        "inbox",
    )?;
    try_until("nothing is left running", || world.processes().is_empty())
        .map_err(|loss| format!("{loss}: {:?}, after stop {stopped}", world.processes()))?;
    world.try_ok(&["list", "--state", "all"])?;
    world.try_ok(&["prune", "--all", "--force"])?;
    match world.job_dir("job").symlink_metadata().is_ok() {
        true => Err("it could not be pruned".to_owned()),
        false => world
            .try_ok(&["run", "--wait", "--id", "job", "--", "true"])
            .map(drop),
    }
}

/// Checks that each verb answers, or says why it cannot.
fn while_it_runs(world: &World) -> Result<(), String> {
    for args in [
        &["show", "job"][..],
        &["list"],
        &["log", "job"],
        &["log", "job", "--json", "--lines", "5"],
        &["log", "job", "--stderr"],
        &["wait", "job", "--timeout", "100ms"],
        &["signal", "job", "CONT"],
        &["send", "job", "x"],
        &["inbox", "--session", "s"],
        &["prune"],
    ] {
        let ran: Ran = world.try_outlive(args)?;
        is_clear(&ran, args[0])?;
        if args[0] == "wait" && ran.code == 0 {
            return Err(format!("a running job is reported as a success: {ran}"));
        }
    }
    Ok(())
}

/// Checks that the reported outcome is the true one or unknown.
fn true_or_unknown(world: &World) -> Result<(), String> {
    let shown = world.try_outlive(&["show", "job", "--json"])?;
    is_clear(&shown, "show")?;
    let Ok(job) = serde_json::from_slice::<Value>(&shown.bytes) else {
        return Ok(());
    };
    let outcome = &job["outcome"];
    let is_true = match outcome["kind"].as_str() {
        Some("exited") => outcome["code"] == 7,
        Some("lost") | None => true,
        Some(_) => false,
    };
    match is_true {
        true => Ok(()),
        false => Err(format!("the reported outcome is wrong: {outcome}")),
    }
}
