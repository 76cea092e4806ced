//! Signals to the launcher of a job do not reach the job.

use super::{GROUP, TTY, everyone, stat_field, text, with_outlive};
use outlive_sys::{process, tree};
use outlive_testkit::checks::exited;
use outlive_testkit::processes::{KILL, is_alive, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A job that waits for a file and ends with 7. Returns that file, and the command that starts the job.
fn job(world: &World, id: &str) -> (PathBuf, String) {
    let go = world.path(&format!("{id}-go"));
    let script = format!("{}; echo ended; exit 7", loop_until(&go));
    let run = format!("\"$OUTLIVE\" run --id {id} --shell '{script}'");
    (go, run)
}

fn until_running(world: &World, id: &str) {
    until("the job runs", || {
        let shown = world.outlive(&["show", id, "--json"]);
        shown.code == 0 && shown.stdout.contains("\"state\":\"running\"")
    });
}

/// A launcher in its own session that stays after it has started a job.
struct Launcher {
    process: Child,
    go: PathBuf,
}

impl Launcher {
    fn start(world: &World, id: &str) -> Launcher {
        let (go, run) = job(world, id);
        let launch = format!("{run}; sleep 60; sleep 60");
        let process = with_outlive(world.within("setsid", ["sh", "-c", &launch]))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        until_running(world, id);
        Launcher { process, go }
    }

    fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Checks that the job and its keepers survived and that the end is exact.
    fn assert_outlived(mut self, world: &World, id: &str, before: (i32, i32, i32)) {
        self.process.wait().unwrap();
        assert_eq!(everyone(world, id), before);
        for pid in [before.0, before.1, before.2] {
            assert!(is_alive(pid));
        }
        File::create(&self.go).unwrap();
        let job = world.wait(id);
        assert_eq!(job["outcome"], exited(7));
        assert_eq!(job["ended_by"], "itself");
        assert_eq!(text(world.output(id)), "ended\n");
        assert_eq!(world.events(id, "kept").len(), 1);
        assert_eq!(world.events(id, "ended").len(), 1);
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        for pid in in_session(self.pid()) {
            kill(pid, KILL);
        }
        let _ = self.process.wait();
    }
}

fn in_session(session: i32) -> Vec<i32> {
    let inside = |pid: &i32| process::stat(*pid).is_some_and(|stat| stat.session == session);
    tree::all().unwrap().into_iter().filter(inside).collect()
}

#[test]
fn a_signal_to_the_launchers_group_reaches_neither_job_nor_keepers() {
    let world = World::new();
    for signal in ["TERM", "HUP", "INT", "QUIT", "KILL"] {
        let launcher = Launcher::start(&world, signal);
        let before = everyone(&world, signal);
        assert_eq!(stat_field(launcher.pid(), GROUP), launcher.pid());
        let kill = format!("kill -{signal} -- -{}", launcher.pid());
        assert_eq!(Ran::of(Command::new("bash").args(["-c", &kill])).code, 0);
        launcher.assert_outlived(&world, signal, before);
    }
}

#[test]
fn a_signal_to_everyone_in_the_launchers_session_reaches_neither() {
    let world = World::new();
    for signal in [1, 2, 9, 15] {
        let id = signal.to_string();
        let launcher = Launcher::start(&world, &id);
        let before = everyone(&world, &id);
        let session = in_session(launcher.pid());
        assert!(session.contains(&launcher.pid()));
        for pid in session {
            kill(pid, signal);
        }
        launcher.assert_outlived(&world, &id, before);
    }
}

/// Starts a launcher on a terminal that the program `script` provides, then runs `end`.
fn on_a_terminal(world: &World, id: &str, end: impl FnOnce(&mut Child)) {
    let (go, run) = job(world, id);
    // The launch has returned before the interrupt comes. A shell that still waits for a child may ignore an
    // interrupt.
    let launch = format!(
        "[ -t 0 ] && touch {} && {run}; : > {}; sleep 60",
        world.path("had-a-terminal").display(),
        world.path("returned").display()
    );
    let mut terminal = with_outlive(world.within("script", ["-qec", &launch, "/dev/null"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until_running(world, id);
    until("the launcher has returned", || {
        world.path("returned").exists()
    });
    let before = everyone(world, id);
    end(&mut terminal);
    terminal.wait().unwrap();
    assert!(world.path("had-a-terminal").exists());
    assert_eq!(stat_field(before.0, TTY), 0);
    assert_eq!(everyone(world, id), before);
    File::create(go).unwrap();
    assert_eq!(world.wait(id)["exit_code"], 7);
    assert_eq!(text(world.output(id)), "ended\n");
    assert_eq!(world.events(id, "kept").len(), 1);
}

#[test]
fn a_hangup_of_the_launchers_terminal_does_not_reach_the_job() {
    let world = World::new();
    on_a_terminal(&world, "hangup", |terminal| {
        terminal.kill().unwrap();
    });
}

#[test]
fn ctrl_c_on_the_launchers_terminal_does_not_reach_the_job() {
    let world = World::new();
    on_a_terminal(&world, "interrupt", |terminal| {
        let mut keyboard = terminal.stdin.take().unwrap();
        keyboard.write_all(b"\x03").unwrap();
        keyboard.flush().unwrap();
        until("the interrupt has ended the launcher", || {
            terminal.try_wait().unwrap().is_some()
        });
    });
}
