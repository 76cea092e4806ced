//! The keeper looks for the processes of a job. After it has read its own children, and before it reads those of a
//! parent, that parent ends. Then the child moves up and could be missed.

use super::{stopped, with_silence};
use outlive_testkit::checks::{exited, signaled, until_output};
use outlive_testkit::processes::{CONT, is_alive, is_stopped, kill, kill_for_good, pid_in};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::started;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// A job whose leader leaves a parent with a child behind and exits with 5. A hook stops the keeper each time it has
/// read its own children.
struct Left {
    world: World,
    id: String,
    keeper: i32,
}

impl Left {
    /// `trap` is what the child does on TERM.
    fn new(options: &[&str], trap: &str) -> Left {
        let world = World::new();
        let script = format!(
            "cd {directory}
            write() {{ echo $BASHPID >$1.new; mv $1.new $1; }}
            child() {{ trap {trap} TERM; write child; while :; do read -u 9; done; }}
            parent() {{ child & write parent; wait; }}
            parent >/dev/null 2>&1 &
            until [ -e child ] && [ -e parent ]; do sleep 0.01; done
            exit 5",
            directory = world.path("").display()
        );
        let script = with_silence(&world, &script);
        let mut command = world.command([&["run"], options, &["--shell", &script]].concat());
        let ran = Ran::of(command.env("OUTLIVE_HOOKS", "walk:OwnChildrenRead=stop"));
        assert_eq!(ran.code, 0, "{ran:?}");
        let id = ran.stdout.trim_end().to_owned();
        let keeper = world.pair(&id).keeper;
        Left { world, id, keeper }
    }

    fn has_ended(&self) -> bool {
        self.world.events(&self.id, "ended").len() == 1
    }

    fn child(&self) -> i32 {
        pid_in(&self.world.path("child"))
    }

    /// Continues the keeper until it stops at the hook while the condition holds. Then kills the parent.
    fn parent_dies_once(&self, condition: impl Fn() -> bool) {
        until("the keeper looks for them", || {
            let is_stopped = is_stopped(self.keeper);
            if is_stopped && condition() {
                return true;
            }
            if is_stopped {
                kill(self.keeper, CONT);
            }
            false
        });
        kill_for_good(pid_in(&self.world.path("parent")));
    }

    /// Continues the keeper each time it stops, until the condition holds.
    fn goes_on_until(&self, what: &str, condition: impl Fn() -> bool) {
        until(what, || {
            if is_stopped(self.keeper) {
                kill(self.keeper, CONT);
            }
            condition()
        });
    }

    fn goes_on_until_over(&self) {
        let link = self.world.live(&self.id);
        self.goes_on_until("it is over", || link.symlink_metadata().is_err());
    }
}

#[test]
fn a_child_that_moves_up_while_leftovers_are_stopped_is_killed() {
    let left = Left::new(&["--leftovers", "stop", "--grace", "200ms"], "''");
    left.parent_dies_once(|| left.has_ended());
    left.goes_on_until_over();
    assert!(!is_alive(left.child()), "it survived the stop");
    let job = left.world.show(&left.id);
    assert_eq!(
        (&job["outcome"], &job["lingering"]),
        (&exited(5), &0.into())
    );
    left.world.until_nothing_runs();
}

/// A child that is found late still gets the grace time.
#[test]
fn a_child_that_moves_up_is_asked_before_it_is_killed() {
    let trap = "'echo asked >asked; exit'";
    let left = Left::new(&["--leftovers", "stop", "--grace", "20s"], trap);
    left.parent_dies_once(|| left.has_ended());
    left.goes_on_until_over();
    let asked = fs::read_to_string(left.world.path("asked"));
    assert_eq!(asked.unwrap_or_default(), "asked\n");
    assert!(!is_alive(left.child()));
}

/// If the job were over, nobody would watch the child.
#[test]
fn a_job_is_not_over_while_a_child_that_moved_up_lives() {
    let left = Left::new(&[], "''");
    left.parent_dies_once(|| true);
    left.goes_on_until("the end is recorded", || left.has_ended());
    assert_eq!(left.world.events(&left.id, "ended")[0]["lingering"], 1);
    assert_eq!(left.world.events(&left.id, "closed").len(), 0);
    kill_for_good(left.child());
    left.goes_on_until_over();
}

/// `/proc` reports such a process as a zombie.
#[test]
fn a_process_whose_first_thread_has_ended_is_stopped_too() {
    needs!(Python);
    let world = World::new();
    let program = world.path("threads.py");
    fs::write(&program, FIRST_THREAD_ENDS).unwrap();
    let script = format!("exec python3 {}", program.display());
    let id = started(&world, &["--grace", "20s"], &script);
    let leader = world.leader(&id);
    until("its first thread has ended", || {
        fs::read_to_string(format!("/proc/{leader}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    });
    assert_eq!(world.show(&id)["state"], "running");
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], signaled("SIGTERM"));
    world.until_nothing_runs();
}

const FIRST_THREAD_ENDS: &str = r#"
import ctypes, threading, time
def rest():
    print("up", flush=True)
    time.sleep(60)
threading.Thread(target=rest).start()
ctypes.CDLL(None).pthread_exit(None)
"#;

/// Chains of processes: each forks the next after a few milliseconds, in a new session, and ends. A keeper that first
/// listed all of them and then killed them was too late each time.
#[test]
fn processes_that_fork_and_end_all_the_time_are_caught() {
    needs!(Python);
    let world = World::new();
    let script = r#"
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.time() + 20
for line in range(8):
    if os.fork() == 0:
        while time.time() < end:
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.003)
        print("ran to its own end", flush=True)
        os._exit(0)
print("begun", flush=True)
while time.time() < end:
    time.sleep(1)
"#;
    let id = world.ok(&["run", "--grace", "200ms", "--", "python3", "-c", script]);
    until_output(&world, &id, "begun\n");
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.until_over(&id);
    assert_eq!(world.show(&id)["outcome"], signaled("SIGKILL"));
    assert_eq!(world.output(&id), b"begun\n");
    world.until_nothing_runs();
}
