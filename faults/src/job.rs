//! The jobs that faults happen to, and how each must end.

use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// The id that every case's job is given, so that it is known whatever its launcher prints.
pub const ID: &str = "job";

/// The session that asks for it.
pub const SESSION: &str = "asker";

/// A session that waits for and stops the job without being told in the asker's place.
pub const OTHER: &str = "other";

/// A job, how it is treated, and what comes of that.
pub struct Kind {
    pub name: &'static str,
    options: &'static [&'static str],
    script: &'static str,
    /// What others do to it once it has been started.
    drive: fn(&World) -> Result<(), String>,
    pub output: fn() -> Vec<u8>,
    pub outcome: fn() -> Value,
    pub ended_by: &'static str,
    /// What its session is to hear of it, in order.
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

pub static KINDS: [Kind; 7] = [
    Kind {
        name: "short",
        options: &[],
        script: "echo hello; exit 3",
        drive: left_alone,
        output: || b"hello\n".to_vec(),
        outcome: || exited(3),
        ended_by: "itself",
        told: &["ended"],
    },
    // Several times what a FIFO holds.
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
        outcome: || exited(5),
        ended_by: "itself",
        told: &["ended"],
    },
    Kind {
        name: "watched",
        options: &["--watch", "found"],
        script: "echo before; echo found it; echo after",
        drive: left_alone,
        output: || b"before\nfound it\nafter\n".to_vec(),
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
        outcome: terminated,
        ended_by: "stop",
        told: &["ended"],
    },
];

/// A job with processes that have left its session, and one that has been orphaned, all of which are stopped.
pub static TREE: Kind = Kind {
    name: "tree",
    options: &[],
    script: "setsid sleep 61 & (sleep 62 &); echo up; exec sleep 63",
    drive: stop,
    output: || b"up\n".to_vec(),
    outcome: terminated,
    ended_by: "stop",
    told: &["ended"],
};

/// Sends two lines and the end of the input, each under an id by which a repeat is known.
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
        // Nobody looks after a job whose launcher or keepers were killed until some verb meets it, and they
        // may be killed after that.
        if looked % 500 == 0 && world.try_ok(&["show", ID]).is_err() {
            return false;
        }
        looked += 1;
        // Where the disk did not take it there is a hole in its place.
        fs::metadata(world.job_dir(ID).join("output")).is_ok_and(|output| output.len() >= 3)
            || world.all_events(ID).iter().any(|(kind, _)| kind == "ended")
    })
}

impl Kind {
    /// The kind of this name, which there is.
    pub fn called(name: &str) -> &'static Kind {
        let called = KINDS.iter().find(|kind| kind.name == name);
        called.expect("every name that is asked for is one of a kind")
    }

    /// The command that starts it. What it runs leaves a line in a file of its own each time it runs.
    pub fn start(&self, world: &World) -> Command {
        let ran = world.path("ran");
        let script = format!("echo ran >> '{}'; {}", ran.display(), self.script);
        let mut command = world.command(["run", "--id", ID, "--session", SESSION]);
        command.args(self.options).args(["--shell", &script]);
        command
    }

    /// Does to the started job what is done to this kind, and waits for its end.
    pub fn go_on(&self, world: &World) -> Result<Value, String> {
        let driven = (self.drive)(world);
        let ended = wait(world)?;
        match ended["outcome"]["kind"] == "not_started" {
            // Nothing can be done to what does not run.
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

/// The job once it has ended; its session is not told by this.
pub fn wait(world: &World) -> Result<Value, String> {
    let mut command = world.command(["wait", ID, "--json", "--timeout", "30s"]);
    let ran = Ran::try_of(command.env("OUTLIVE_SESSION", OTHER))?;
    match ran.job_or_null() {
        job if job["state"] == "ended" => Ok(job),
        _ => Err(format!("wait did not tell of an end: {ran}")),
    }
}
