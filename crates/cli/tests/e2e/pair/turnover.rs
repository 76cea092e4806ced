//! After both the keeper and the standby were replaced, the new ones can do everything that the first ones could.

use outlive_sys::{process, tree};
use outlive_testkit::checks::{assert_nothing_is_left, exited, until_output};
use outlive_testkit::environment::behind;
use outlive_testkit::gate::Gate;
use outlive_testkit::namespaces::PID_NAMESPACE;
use outlive_testkit::processes::{CONT, STOP, begin, kill, kill_for_good, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::started;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::process::{Child, Command, Stdio};

/// Kills the standby, and waits until the keeper has started another.
fn replace_standby(world: &World, id: &str) {
    let (_, standby) = world.settled_pair(id);
    kill_for_good(standby);
    until("there is another", || {
        world.pair(id).standby.is_some_and(|new| new != standby)
    });
    world.settled_pair(id);
}

/// A PID namespace whose first process never reaps orphans.
struct Careless {
    unshare: Child,
}

impl Careless {
    fn start() -> Careless {
        let mut command = Command::new("unshare");
        command.args(PID_NAMESPACE);
        let unshare = begin({
            command.args(["sleep", "1000"]).stdin(Stdio::null());
            command
        });
        until("it has its first process", || {
            let children = tree::children(unshare.id() as i32).unwrap_or_default();
            children.len() == 1
                && process::started_with(children[0], "PATH").is_ok_and(|it| it.is_some())
        });
        Careless { unshare }
    }

    fn inside(&self, command: &Command) -> Ran {
        let first = tree::children(self.unshare.id() as i32).unwrap()[0].to_string();
        let words = ["--target", &first, "--pid", "--mount"];
        Ran::of(&mut behind("nsenter", words, command))
    }
}

impl Drop for Careless {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// The first process of this namespace does not reap the leader, so its exit status stays in `/proc`. An exit code of
/// 0 must be recognised there too.
#[test]
fn a_success_is_known_where_nobody_waits_for_orphans() {
    needs!(Root);
    let world = World::new();
    let container = Careless::start();
    let gate = Gate::new(&world);
    let script = gate.then("echo done");
    let run = world.command(["run", "--id", "job", "--shell", &script]);
    assert_eq!(container.inside(&run).code, 0);
    // Replace both processes twice. Their pids are those in the namespace.
    for _ in 0..2 {
        let kills = "kill -9 $1; while kill -0 $1 2> /dev/null && ! grep -q '^State:.Z' /proc/$1/status; do sleep 0.01; done";
        let before = world.pair("job");
        let victim = before.standby.unwrap();
        let mut kill = world.within("sh", ["-c", kills, "sh"]);
        container.inside(kill.arg(victim.to_string()));
        until("there is another", || {
            world.pair("job").standby.is_some_and(|new| new != victim)
        });
        let keeper = before.keeper;
        let mut kill = world.within("sh", ["-c", kills, "sh"]);
        container.inside(kill.arg(keeper.to_string()));
        until("the standby keeps it", || {
            world.pair("job").keeper != keeper
        });
        until("it has a standby", || world.pair("job").standby.is_some());
    }
    gate.open();
    let waited = container.inside(&world.command(["wait", "job", "--timeout", "30s"]));
    assert_eq!(waited.code, 0, "{waited:?}");
    assert_eq!(world.events("job", "ended")[0]["outcome"], exited(0));
}

/// An errand fails at the same time as the standby. The keeper must still notice that the standby has ended.
#[test]
fn a_standby_is_replaced_though_its_keeper_meets_another_failure_with_it() {
    let world = World::new();
    let first = started(&world, &["--lock", "one"], "echo up; exec sleep 1000");
    world.ok(&["run", "--id", "job", "--lock", "one", "--", "true"]);
    replace_standby(&world, "job");
    let (keeper, standby) = world.settled_pair("job");
    let errands = || {
        let children = tree::children(keeper).unwrap();
        children.into_iter().find(|pid| *pid != standby)
    };
    until("it waits for its lock", || errands().is_some());
    kill(keeper, STOP);
    until_stopped(keeper);
    kill(errands().unwrap(), outlive_testkit::processes::KILL);
    kill(standby, outlive_testkit::processes::KILL);
    kill(keeper, CONT);
    until("there is another", || {
        world.pair("job").standby.is_some_and(|new| new != standby)
    });
    world.ok(&["stop", &first]);
    assert_eq!(world.outlive(&["wait", "job"]).code, 0);
}

/// The gate must be made before the standby that has to inherit it.
#[test]
fn a_job_that_got_its_lock_is_started_though_its_second_keeper_is_killed() {
    let world = World::new();
    let first = started(&world, &["--lock", "one"], "echo up; exec sleep 1000");
    let mut run = world.command(["run", "--id", "job", "--lock", "one", "--", "echo", "ran"]);
    let ran = Ran::of(run.env("OUTLIVE_HOOKS", "heir:Spawned=stop"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let (keeper, heir) = world.settled_pair("job");
    kill_for_good(keeper);
    until("the standby keeps it", || world.pair("job").keeper == heir);
    let (heir, next) = world.settled_pair("job");
    world.ok(&["stop", &first]);
    until_stopped(heir);
    kill_for_good(heir);
    until_stopped(next);
    kill(next, CONT);
    let job = world.wait("job");
    assert_eq!(job["outcome"], exited(0), "{job}");
    assert_eq!(world.output("job"), b"ran\n");
}

/// The hook delays the keeper, as a slow disk would, while it records the stop.
#[test]
fn a_job_that_a_guard_has_asked_to_end_is_not_asked_twice() {
    let world = World::new();
    // Written to a file, because the keeper does not read the output meanwhile.
    let asked = world.path("asked");
    let script = format!(
        "trap 'echo asked >> {}' TERM; echo up; while :; do sleep 0.02; done",
        asked.display()
    );
    let id = world.shell_with_hooks("keeper:StopAsked=stop", &script);
    until_output(&world, &id, "up\n");
    let times = || {
        fs::read_to_string(&asked)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let stop = world.stopping(&[&id], "3s");
    let keeper = world.until_keeper_stops(&id);
    until("its guard has asked it", || times() > 0);
    kill(keeper, CONT);
    assert_eq!(Ran::end_of(stop).code, 0);
    assert_eq!(world.show(&id)["outcome"]["signal"], "SIGKILL");
    assert_eq!(times(), 1);
    assert_nothing_is_left(&world, &id);
}

/// TERM ends the leader. The process that it started ignores TERM, and its keeper is killed before it sends KILL.
#[test]
fn a_stop_reaches_what_is_left_though_its_keeper_is_killed_after_the_end() {
    let world = World::new();
    let script = "(trap '' TERM; exec sleep 1000) & echo up; exec sleep 1000";
    let id = started(&world, &[], script);
    let mut stop = world.stopping(&[&id], "1s");
    until("its first process has ended", || {
        world.events(&id, "ended").len() == 1
    });
    // No client repeats the stop.
    stop.kill().unwrap();
    stop.wait().unwrap();
    kill_for_good(world.pair(&id).keeper);
    world.until_nothing_runs();
}
