//! `outlive adopt`: a process that somebody else started becomes a job, as far as the kernel allows.

mod ending;
mod killed;
mod refusing;
mod stopping;
mod telling;

use outlive_testkit::processes::{KILL, Process, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::go;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// A shell that this test starts as an agent would with `&`: in a process group of its own, with its output in a file.
/// Its group is killed when this is dropped.
struct Started {
    child: Child,
    is_reaped: bool,
}

impl Started {
    fn with(world: &World, script: &str) -> Started {
        let log = File::create(log(world)).unwrap();
        let mut command = world.within("sh", ["-c", script]);
        command
            .env("GO", go(world))
            .env_remove("OUTLIVE_JOB_DIR")
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null())
            .process_group(0);
        Started {
            child: command.spawn().unwrap(),
            is_reaped: false,
        }
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Reaps it, as the shell does that started it.
    fn reap(&mut self) {
        self.child.wait().unwrap();
        self.is_reaped = true;
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Once it is reaped, its number may be another group's.
        if !self.is_reaped {
            let _ = outlive_sys::process::own::kill_group(self.pid());
            let _ = self.child.wait();
        }
    }
}

fn log(world: &World) -> PathBuf {
    world.path("started.log")
}

fn adopt(world: &World, pid: i32, options: &[&str]) -> Ran {
    let pid = pid.to_string();
    world.outlive(&[&["adopt", &pid], options].concat())
}

/// Adopts a process, which must succeed; returns the job's id.
#[track_caller]
fn adopted(world: &World, pid: i32, options: &[&str]) -> String {
    let ran = adopt(world, pid, options);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.text()
}

/// The process whose pid a script wrote to this file, once it is there.
fn process_in(path: &std::path::Path) -> Process {
    outlive_testkit::waiting::until("the script has written a pid", || {
        std::fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
    });
    Process::find(outlive_testkit::processes::pid_in(path)).unwrap()
}

/// Whether this system tells how a process ends that another has started.
fn outcome_is_told(job: &Value) -> bool {
    job["adopted"]["outcome_is_told"] == true
}

/// Kills a process when it is dropped that no group or job would end.
struct Stray(Process);

impl Drop for Stray {
    fn drop(&mut self) {
        if self.0.is_alive() {
            kill(self.0.pid, KILL);
        }
    }
}
