//! A stop and a timeout reach the whole tree.

use super::{stopped, with_silence};
use outlive_testkit::checks::{exited, signaled};
use outlive_testkit::processes::{is_alive, pid_in};
use outlive_testkit::scripts::started;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::path::Path;

/// A script that starts descendants of every kind. Each writes its pid to `pids/NAME`.
fn family(world: &World, body: &str) -> String {
    let pids = world.path("pids");
    fs::create_dir(&pids).unwrap();
    let one = |name: &str| {
        format!(
            "sh -c '{body} echo $$ > {dir}/{name}.new; mv {dir}/{name}.new {dir}/{name}; exec sleep 60'",
            dir = pids.display()
        )
    };
    [
        format!("{} &", one("child")),
        format!("setsid {} &", one("own-session")),
        format!("( {} & )", one("orphan")),
        format!("( setsid {} & )", one("orphan-own-session")),
        format!("( ( ( setsid {} & ) & ) & )", one("daemon")),
        format!("env -i PATH=\"$PATH\" {} &", one("no-environment")),
        format!(
            "env -i PATH=\"$PATH\" setsid {} &",
            one("no-environment-own-session")
        ),
        format!("nohup {} >/dev/null 2>&1 </dev/null &", one("nohup")),
        format!(
            "bash -c '( {} & ); exit' &",
            one("grandchild").replace('\'', "'\\''")
        ),
        format!("{PYTHON} -c '{DAEMON}' {}/python &", pids.display()),
    ]
    .join("\n")
}

const PYTHON: &str = "/usr/bin/env python3";
/// A daemon as in the textbook: fork, new session, fork, close all descriptors.
const DAEMON: &str = r#"
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/"); os.umask(0)
os.closerange(0, 64)
name = sys.argv[1]
with open(name + ".new", "w") as f: f.write(str(os.getpid()))
os.rename(name + ".new", name)
time.sleep(60)
"#;
const FAMILY: usize = 10;

fn family_pids(world: &World) -> Vec<(String, i32)> {
    let entries = fs::read_dir(world.path("pids")).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none())
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                pid_in(&path),
            )
        })
        .collect()
}

/// Starts a job with all these descendants; returns once they run.
fn started_family(world: &World, options: &[&str], body: &str) -> (String, Vec<(String, i32)>) {
    let script = format!("{body}\n{}\necho up\nwait\nsleep 60", family(world, body));
    let id = started(world, options, &script);
    until("all of them run", || family_pids(world).len() == FAMILY);
    let pids = family_pids(world);
    for (name, pid) in &pids {
        assert!(is_alive(*pid), "{name} ended too early");
    }
    (id, pids)
}

fn assert_all_gone(pids: &[(String, i32)]) {
    let left: Vec<_> = pids.iter().filter(|(_, pid)| is_alive(*pid)).collect();
    assert_eq!(left, Vec::<&(String, i32)>::new());
}

#[test]
fn stop_ends_every_descendant_however_it_detached_itself() {
    let world = World::new();
    let (id, pids) = started_family(&world, &["--grace", "20s"], "");
    let job = stopped(&world, &id);
    assert_all_gone(&pids);
    assert_eq!(job["lingering"], 0);
    assert_eq!(job["ended_by"], "stop");
    world.until_nothing_runs();
}

#[test]
fn stop_kills_every_descendant_that_does_not_listen() {
    let world = World::new();
    let (id, pids) = started_family(&world, &["--grace", "300ms"], "trap \"\" TERM HUP INT;");
    let job = stopped(&world, &id);
    assert_all_gone(&pids);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    world.until_nothing_runs();
}

#[test]
fn a_timeout_ends_every_descendant_too() {
    let world = World::new();
    let (id, pids) = started_family(&world, &["--grace", "20s", "--timeout", "4s"], "");
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "timeout");
    world.until_nothing_runs();
    assert_all_gone(&pids);
}

#[test]
fn descendants_that_ignore_term_are_killed_though_the_leader_listened() {
    let world = World::new();
    let pid = world.path("pid");
    let script = format!(
        "setsid sh -c 'trap \"\" TERM; echo $$ > {}; echo up; exec sleep 60' & trap 'exit 0' TERM; while :; do read -u 9; done",
        pid.display()
    );
    let id = started(
        &world,
        &["--grace", "300ms"],
        &with_silence(&world, &script),
    );
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], exited(0));
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["lingering"], 0);
    assert!(!is_alive(pid_in(&pid)));
}

#[test]
fn a_job_that_keeps_forking_is_wholly_gone_after_a_stop() {
    needs!(Python);
    let world = World::new();
    let script = world.path("forks.py");
    fs::write(&script, FORKS).unwrap();
    let log = world.path("forked");
    let id = world.ok(&[
        "run",
        "--grace",
        "200ms",
        "--",
        "python3",
        script.to_str().unwrap(),
        log.to_str().unwrap(),
    ]);
    until("it forks busily", || forked(&log).len() > 40);
    let job = stopped(&world, &id);
    assert_eq!(job["ended_by"], "stop");
    let left: Vec<i32> = forked(&log)
        .into_iter()
        .filter(|pid| is_alive(*pid))
        .collect();
    assert_eq!(left, [0; 0]);
    world.until_nothing_runs();
    assert_eq!(world.show(&id)["lingering"], 0);
}

/// A chain of up to 3000 processes that ignore TERM. Each starts the next, some in a new session, and ends after a
/// moment.
const FORKS: &str = r#"
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for n in range(3000):
    os.write(log, b"%d\n" % os.getpid())
    if os.fork():
        if n == 0: time.sleep(60)
        time.sleep(0.3)
        os._exit(0)
    if n % 3 == 0: os.setsid()
    time.sleep(0.001)
time.sleep(60)
"#;

fn forked(log: &Path) -> Vec<i32> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}
