//! The jobs that faults happen to, and how each must end.

mod queued;

use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Every case gives its job this ID, so that the job can be found even if its launcher prints nothing.
pub const ID: &str = "job";

/// The session that asks for it.
pub const SESSION: &str = "asker";

/// Another session, which waits for the job and stops it. So nothing counts as told to the asker.
pub const OTHER: &str = "other";

/// A kind of job, what is done to it, and how it must end.
pub struct Kind {
    pub name: &'static str,
    options: &'static [&'static str],
    script: &'static str,
    /// What the test does to the job after the start.
    drive: fn(&World) -> Result<(), String>,
    /// What each run of its command writes.
    pub output: fn() -> Vec<u8>,
    /// Its stdout and its stderr, if they are told apart.
    pub streams: Option<[&'static str; 2]>,
    pub outcome: fn() -> Value,
    pub ended_by: &'static str,
    /// The kinds of events that its session must be told, in order.
    pub told: &'static [&'static str],
}

fn exited(code: i32) -> Value {
    json!({ "kind": "exited", "code": code })
}

fn terminated() -> Value {
    json!({ "kind": "signaled", "signal": "SIGTERM", "core_dumped": false })
}

fn left_alone(_: &World) -> Result<(), String> {
    Ok(())
}

pub static KINDS: [Kind; 11] = [
    queued::QUEUED,
    Kind {
        name: "short",
        options: &[],
        script: "echo hello; exit 3",
        drive: left_alone,
        output: || b"hello\n".to_vec(),
        streams: None,
        outcome: || exited(3),
        ended_by: "itself",
        told: &["ended"],
    },
    // Writes several times as much as a FIFO can hold.
    Kind {
        name: "chatty",
        options: &[],
        script: "seq 1 50000",
        drive: left_alone,
        output: || {
            (1..=50_000)
                .flat_map(|n| format!("{n}\n").into_bytes())
                .collect()
        },
        streams: None,
        outcome: || exited(0),
        ended_by: "itself",
        told: &["ended"],
    },
    Kind {
        name: "pty",
        options: &["--pty"],
        script: "test -t 1 && echo a terminal; exit 4",
        drive: left_alone,
        output: || b"a terminal\r\n".to_vec(),
        streams: None,
        outcome: || exited(4),
        ended_by: "itself",
        told: &["ended"],
    },
    Kind {
        name: "stdin",
        options: &["--stdin", "pipe"],
        script: "cat; exit 5",
        drive: talk,
        output: || b"one\ntwo\n".to_vec(),
        streams: None,
        outcome: || exited(5),
        ended_by: "itself",
        told: &["ended"],
    },
    // Writes each part when the one before was taken, so that their order is known.
    Kind {
        name: "split",
        options: &["--streams", "split"],
        script: "said() { until [ \"$(stat -c %s \"$OUTLIVE_JOB_DIR/output\")\" -ge $1 ]; do sleep 0.01; done; }; \
                 printf 'out '; said 4; echo err >&2; said 8; echo two; said 12; printf end >&2; exit 6",
        drive: left_alone,
        output: || b"out err\ntwo\nend".to_vec(),
        streams: Some(["out two\n", "err\nend"]),
        outcome: || exited(6),
        ended_by: "itself",
        told: &["ended"],
    },
    Kind {
        name: "watched",
        options: &["--watch", "found"],
        script: "echo before; echo found it; echo after",
        drive: left_alone,
        output: || b"before\nfound it\nafter\n".to_vec(),
        streams: None,
        outcome: || exited(0),
        ended_by: "itself",
        told: &["matched", "ended"],
    },
    Kind {
        name: "timing out",
        options: &["--timeout", "150ms"],
        script: "echo up; exec sleep 60",
        drive: left_alone,
        output: || b"up\n".to_vec(),
        streams: None,
        outcome: terminated,
        ended_by: "timeout",
        told: &["ended"],
    },
    Kind {
        name: "stopped",
        options: &[],
        script: "echo up; exec sleep 60",
        drive: stop,
        output: || b"up\n".to_vec(),
        streams: None,
        outcome: terminated,
        ended_by: "stop",
        told: &["ended"],
    },
    Kind {
        name: "restarted",
        options: &["--restart", "on-failure:1"],
        script: "echo try; exit 6",
        drive: left_alone,
        output: || b"try\n".to_vec(),
        streams: None,
        outcome: || exited(6),
        ended_by: "itself",
        told: &["restarted", "ended"],
    },
    Kind {
        name: "limited",
        options: &["--memory", "200M", "--nice", "3"],
        script: "nice; exit 6",
        drive: left_alone,
        output: || b"3\n".to_vec(),
        streams: None,
        outcome: || exited(6),
        ended_by: "itself",
        told: &["ended"],
    },
];

/// A job with processes that have left its session and one orphaned process. A stop must end all of them.
pub static TREE: Kind = Kind {
    name: "tree",
    options: &[],
    script: "setsid sleep 61 & (sleep 62 &); echo up; exec sleep 63",
    drive: stop,
    output: || b"up\n".to_vec(),
    streams: None,
    outcome: terminated,
    ended_by: "stop",
    told: &["ended"],
};

/// Sends two lines, then the end of the input. Each line has a write ID, so that a repeated write is recognised.
fn talk(world: &World) -> Result<(), String> {
    say_lines(world)?;
    world.try_ok(&["send", ID, "--eof"]).map(drop)
}

pub fn say_lines(world: &World) -> Result<(), String> {
    for line in ["one", "two"] {
        world.try_ok(&["send", ID, line, "--enter", "--write-id", line])?;
    }
    Ok(())
}

fn stop(world: &World) -> Result<(), String> {
    until_up(world)?;
    Ran::try_of(world.command(["stop", ID]).env("OUTLIVE_SESSION", OTHER)).map(drop)
}

pub fn until_up(world: &World) -> Result<(), String> {
    let mut looked = 0;
    try_until("the job says that it is up", || {
        // After the launcher or both keepers were killed, nobody keeps the job until a verb looks at it. The new
        // keepers may be killed too, so this runs a verb again from time to time.
        if looked % 500 == 0 && world.try_ok(&["show", ID]).is_err() {
            return false;
        }
        looked += 1;
        // If the disk refused the line, the file has a hole of the same length.
        fs::metadata(world.job_dir(ID).join("output")).is_ok_and(|output| output.len() >= 3)
            || world.all_events(ID).iter().any(|(kind, _)| kind == "ended")
    })
}

impl Kind {
    /// How often its command runs.
    pub fn runs(&self) -> usize {
        let restarts = self.told.iter().filter(|kind| **kind == "restarted");
        1 + restarts.count()
    }

    /// The kind with this name, which must exist.
    pub fn called(name: &str) -> &'static Kind {
        let called = KINDS.iter().find(|kind| kind.name == name);
        called.expect("every name that is asked for is one of a kind")
    }

    /// The command that starts the job. Each time the script runs, it appends a line to a file outside the home.
    pub fn start(&self, world: &World) -> Command {
        if self.waits() {
            // If it cannot be started, the job does not have to wait.
            let _ = queued::begin(world);
        }
        let ran = world.path("ran");
        let script = format!("echo ran >> '{}'; {}", ran.display(), self.script);
        let mut command = world.command(["run", "--id", ID, "--session", SESSION]);
        command.args(self.options).args(["--shell", &script]);
        command
    }

    /// Whether the job waits for its turn before it is started.
    pub fn waits(&self) -> bool {
        self.name == queued::QUEUED.name
    }

    /// Whether this is another job, which the story of this kind needs.
    pub fn is_helper(&self, id: &str) -> bool {
        self.waits() && queued::is_helper(id)
    }

    /// Does to the started job what its kind says, and waits for its end.
    pub fn go_on(&self, world: &World) -> Result<Value, String> {
        let driven = (self.drive)(world);
        let ended = wait(world)?;
        match ended["outcome"]["kind"] == "not_started" {
            // A job that did not start cannot be driven, so that error does not count.
            true => Ok(ended),
            false => driven.map(|()| ended),
        }
    }
}

/// How often the job's command ran.
pub fn runs(world: &World) -> usize {
    let ran = fs::read_to_string(world.path("ran")).unwrap_or_default();
    ran.lines().count()
}

/// Waits for the end of the job as another session, so that its own session does not count as told.
pub fn wait(world: &World) -> Result<Value, String> {
    let mut command = world.command(["wait", ID, "--json", "--timeout", "30s"]);
    let ran = Ran::try_of(command.env("OUTLIVE_SESSION", OTHER))?;
    match ran.job_or_null() {
        job if job["state"] == "ended" => Ok(job),
        _ => Err(format!("wait did not tell of an end: {ran}")),
    }
}
