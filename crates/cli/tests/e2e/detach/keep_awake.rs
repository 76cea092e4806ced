//! `--keep-awake`.

use super::{read, take_over, until_closed};
use outlive_testkit::processes::{NONE_BLOCKED, is_alive, kill_for_good, pid_in};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A `systemd-inhibit` that records its arguments and then acts like the real one.
fn fake_inhibit(world: &World, script: &str) -> String {
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let path = bin.join("systemd-inhibit");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

fn honest_inhibit(world: &World) -> String {
    let (called, held) = (world.path("called"), world.path("held-by"));
    fake_inhibit(
        world,
        &format!(
            "printf '%s\\n' \"$@\" > {0}.new; mv {0}.new {0}\n\
             while [ $# -gt 1 ]; do shift; done\n\
             echo $$ > {1}.new; mv {1}.new {1}\n\
             exec \"$1\"",
            called.display(),
            held.display()
        ),
    )
}

fn keep_awake(world: &World, path: &str, script: &str) -> Ran {
    let log = world.path("log");
    Ran::of(
        world
            .command(["detach", "--keep-awake", "--id", "d"])
            .args([log.to_str().unwrap(), "--", "bash", "-c", script])
            .env("PATH", path),
    )
}

fn holder(world: &World) -> i32 {
    let held = world.path("held-by");
    until("the machine is kept awake", || held.exists());
    pid_in(&held)
}

/// Checks that the job ended with 3 and that no process of it is left.
fn assert_ended_alone(world: &World) {
    let job = world.wait("d");
    assert_eq!(
        (&job["exit_code"], &job["lingering"]),
        (&json!(3), &json!(0))
    );
}

/// Lets the job end, and checks that the machine may sleep again.
fn assert_awake_no_longer(world: &World, go: &Path, holder: i32) {
    File::create(go).unwrap();
    assert_ended_alone(world);
    until("nothing holds off sleep any more", || !is_alive(holder));
    until_closed(world, "d");
    world.until_nothing_runs();
}

#[test]
fn the_machine_is_kept_awake_as_long_as_the_job_runs() {
    let world = World::new();
    let path = honest_inhibit(&world);
    let go = world.path("go");
    let ran = keep_awake(&world, &path, &format!("{}; exit 3", loop_until(&go)));
    assert_eq!(ran.code, 0, "{ran:?}");
    let holder = holder(&world);
    let called = read(&world.path("called"));
    assert!(called.contains("--what=idle:sleep\n"), "{called}");
    assert!(called.ends_with("\ncat\n"), "{called}");
    assert!(is_alive(holder));
    assert_eq!(world.show("d")["lingering"], 0);
    assert_awake_no_longer(&world, &go, holder);
}

/// The script is a single command, because a shell that forks may reset the signal mask that it started with.
#[test]
fn the_inhibitor_starts_with_no_signal_blocked() {
    let world = World::new();
    let masks = world.path("masks");
    let path = fake_inhibit(
        &world,
        &format!(
            "exec grep -E '^Sig(Blk|Ign)' /proc/self/status > {}",
            masks.display()
        ),
    );
    keep_awake(&world, &path, "exit 3");
    assert_ended_alone(&world);
    until("it has looked at itself", || {
        fs::read_to_string(&masks).is_ok_and(|text| text.lines().count() == 2)
    });
    let masks = read(&masks).replace("180000000\n", "000000000\n");
    assert_eq!(
        masks,
        format!("{NONE_BLOCKED}\nSigIgn:\t0000000000000000\n")
    );
    world.until_nothing_runs();
}

#[test]
fn the_machine_stays_awake_across_a_takeover_and_no_longer_than_needed() {
    let world = World::new();
    let path = honest_inhibit(&world);
    let go = world.path("go");
    keep_awake(&world, &path, &format!("{}; exit 3", loop_until(&go)));
    let holder = holder(&world);
    take_over(&world, "d");
    assert!(is_alive(holder));
    assert_eq!(world.show("d")["state"], "running");
    assert_awake_no_longer(&world, &go, holder);
}

#[test]
fn a_stop_ends_the_inhibitor_after_the_job() {
    let world = World::new();
    let path = honest_inhibit(&world);
    keep_awake(&world, &path, "exec sleep 60");
    let holder = holder(&world);
    world.ok(&["stop", "d"]);
    let job = world.show("d");
    assert_eq!(job["outcome"]["signal"], "SIGTERM");
    assert_eq!(job["lingering"], 0);
    until("nothing holds off sleep any more", || !is_alive(holder));
    world.until_nothing_runs();
}

#[test]
fn a_job_runs_though_the_machine_cannot_be_kept_awake() {
    let world = World::new();
    let path = fake_inhibit(&world, "exit 1");
    let ran = keep_awake(&world, &path, "echo hello; exit 3");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_ended_alone(&world);
    assert_eq!(read(&world.path("log")), "hello\n");
    world.until_nothing_runs();
}

#[test]
fn keep_awake_says_when_no_inhibitor_is_installed() {
    let world = World::new();
    let bin: PathBuf = world.path("only-bash");
    fs::create_dir(&bin).unwrap();
    symlink("/bin/bash", bin.join("bash")).unwrap();
    let ran = keep_awake(&world, bin.to_str().unwrap(), "exit 3");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("systemd-inhibit"), "{ran:?}");
    assert!(ran.stdout.starts_with("PID "));
    assert_eq!(world.wait("d")["exit_code"], 3);
}

/// The new keeper is not the parent of the processes that its predecessor started. Of those, it must end only the
/// doorbells.
#[test]
fn the_machine_is_kept_awake_when_both_keepers_have_been_replaced_after_the_end() {
    let world = World::new();
    let path = honest_inhibit(&world);
    let go = world.path("go");
    let left = format!("({}) & exit 3", loop_until(&go));
    assert_eq!(keep_awake(&world, &path, &left).code, 0);
    let holder = holder(&world);
    assert_eq!(world.wait("d")["exit_code"], 3);
    let (keeper, standby) = world.settled_pair("d");
    kill_for_good(standby);
    until("there is another", || {
        world.pair("d").standby.is_some_and(|new| new != standby)
    });
    let (_, standby) = world.settled_pair("d");
    kill_for_good(keeper);
    until("the standby keeps it", || world.pair("d").keeper == standby);
    world.settled_pair("d");
    assert!(is_alive(holder), "the machine may sleep");
    File::create(&go).unwrap();
    until("nothing holds off sleep any more", || !is_alive(holder));
}

/// The program `systemd-inhibit` exists, but logind does not run.
#[test]
fn keep_awake_says_when_logind_is_not_running() {
    if outlive_sys::offers::systemd() {
        outlive_testkit::needs::not_run("it takes a machine that systemd does not manage");
        return;
    }
    let world = World::new();
    let path = honest_inhibit(&world);
    let ran = keep_awake(&world, &path, "exit 3");
    assert_eq!(ran.code, 0, "{ran:?}");
    let words = "systemd-logind does not run here, so the machine may not be kept awake";
    assert!(ran.stderr.contains(words), "{ran:?}");
    assert_ended_alone(&world);
}
