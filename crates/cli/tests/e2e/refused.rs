//! System calls that an older kernel or a filter refuses. Either everything works without the call, or the start is
//! refused with the name of the call and nothing runs. The fault suite has a row for each single call
//! (docs/faults.md).

use outlive_sys::filter::{self, Refusal};
use outlive_testkit::checks::{assert_nothing_is_left, every, exited, signaled, until_output};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::{KERNEL, World};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn refusing(world: &World, refusals: &[Refusal], args: &[&str]) -> Ran {
    Ran::of(filter::refuse(&mut world.command(args), refusals))
}

fn verdict(world: &World, refusals: &[Refusal], check: &str) -> (i32, String, String) {
    let ran = refusing(world, refusals, &["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|found| found["name"] == check).unwrap();
    let word = |name: &str| found[name].as_str().unwrap().to_owned();
    (ran.code, word("verdict"), word("found"))
}

#[test]
fn a_job_that_could_not_be_supervised_is_not_started() {
    let calls = [
        ("splice", libc::SYS_splice),
        ("waitid", libc::SYS_waitid),
        ("ppoll", libc::SYS_ppoll),
    ];
    let errors = |call| [libc::ENOSYS, libc::EPERM].map(|errno| (call, errno));
    let cells: Vec<_> = calls.into_iter().flat_map(errors).collect();
    let name = |((call, _), errno): &((&str, i64), i32)| format!("{call} {errno}");
    every(&cells, name, |((call, number), errno)| {
        let world = World::new();
        let marker = world.path("ran");
        let marker = marker.to_str().unwrap();
        let refusals = [Refusal {
            errno: *errno,
            ..Refusal::unknown(*number)
        }];
        let args = ["run", "--id", "x", "--", "touch", marker];
        let ran = refusing(&world, &refusals, &args);
        assert_eq!(ran.code, 125, "{ran:?}");
        let words = format!("refuses the call {call}: ");
        assert!(ran.stderr.contains(&words), "{ran:?}");
        assert!(!Path::new(marker).exists(), "it ran unkept");
        let shown = world.show("x");
        assert_eq!(shown["outcome"]["kind"], "not_started", "{shown}");
        let (code, verdict, found) = verdict(&world, &refusals, "calls");
        assert_eq!((code, verdict.as_str()), (125, "broken"));
        assert!(found.contains(call), "{found}");
    });
}

/// The sandbox of an agent refuses a call, or the home is read-only there. The error says so, and what works.
#[test]
fn a_start_that_a_sandbox_refuses_names_the_sandbox_and_the_tool() {
    let refusals = [Refusal {
        errno: libc::EPERM,
        ..Refusal::unknown(libc::SYS_splice)
    }];
    let world = World::new();
    for (variable, named) in [
        (
            "CODEX_SANDBOX_NETWORK_DISABLED",
            "CODEX_SANDBOX_NETWORK_DISABLED is set",
        ),
        ("NOTHING", "system calls are filtered"),
    ] {
        let mut command = world.command(["run", "--", "true"]);
        command.env(variable, "1");
        let ran = Ran::of(filter::refuse(&mut command, &refusals));
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(
            ran.stderr.contains(named) && ran.stderr.contains("the tool `run`"),
            "{ran:?}"
        );
    }
    // Nobody can make a directory there.
    for (variable, is_named) in [("SANDBOX_RUNTIME", true), ("NOTHING", false)] {
        let mut command = world.command(["run", "--home", "/sys/kernel/outlive", "--", "true"]);
        let ran = Ran::of(command.env(variable, "1"));
        assert_eq!(ran.code, 125, "{ran:?}");
        assert_eq!(
            ran.stderr.contains("SANDBOX_RUNTIME is set"),
            is_named,
            "{ran:?}"
        );
        assert_eq!(ran.stderr.contains("the tool `run`"), is_named, "{ran:?}");
    }
    // A command that is not there was refused by nobody.
    let mut command = world.command(["run", "--", "/nowhere/at/all"]);
    let ran = Ran::of(command.env("CODEX_SANDBOX", "1"));
    assert_eq!(ran.code, 127, "{ran:?}");
    assert!(!ran.stderr.contains("sandbox"), "{ran:?}");
}

#[test]
fn without_pidfds_a_tree_is_stopped_and_doctor_says_what_is_weaker() {
    let world = World::new();
    let refusals = filter::linux_4_18();
    let script = "setsid sleep 61 & (sleep 62 &); echo up; exec sleep 63";
    refusing(&world, &refusals, &["run", "--id", "x", "--shell", script]);
    until_output(&world, "x", "up\n");
    let stopped = refusing(&world, &refusals, &["stop", "x", "--json"]);
    assert_eq!(stopped.job()["outcome"], signaled("SIGTERM"), "{stopped:?}");
    assert_nothing_is_left(&world, "x");
    let (code, verdict, found) = verdict(&world, &refusals, "calls");
    assert_eq!((code, verdict.as_str()), (0, "less"));
    assert_eq!(found, "pidfd_open is refused");
}

/// Without pidfds the kernel does not report the end of a process that is not the keeper's child. The keeper checks
/// for it from time to time.
#[test]
fn without_pidfds_the_end_of_an_adopted_job_is_noticed() {
    let world = World::new();
    let refusals = filter::linux_4_18();
    let script = "echo up; read line < go; exit 3";
    let fifo = Command::new("mkfifo").arg(world.path("go")).status();
    assert!(fifo.unwrap().success());
    let directory = world.path("");
    let directory = directory.to_str().unwrap();
    let args = ["run", "--id", "x", "--cwd", directory, "--shell", script];
    assert_eq!(refusing(&world, &refusals, &args).code, 0);
    until_output(&world, "x", "up\n");
    world.kill_both("x");
    let shown = refusing(&world, &refusals, &["show", "x", "--json"]);
    assert_eq!(shown.code, 0, "adopted: {shown:?}");
    std::fs::write(world.path("go"), "on\n").unwrap();
    let ended = world.wait("x");
    // If the new parent has already reaped the leader, its exit status is lost. Otherwise the keeper can still read
    // it.
    let is_lost = ended["outcome"]["kind"] == "lost";
    assert!(is_lost || ended["outcome"] == exited(3), "{ended}");
    assert_nothing_is_left(&world, "x");
}

/// Without locks on open files (gVisor) Outlive uses `flock`. There is still only one pair of keepers at a time, and a
/// killed keeper releases the lock.
#[test]
fn without_locks_of_open_files_a_job_has_one_pair_at_a_time() {
    let world = World::new();
    let locks = [libc::F_OFD_SETLK, libc::F_OFD_SETLKW, libc::F_OFD_GETLK];
    let refusals = locks.map(|command| Refusal {
        call: libc::SYS_fcntl,
        only: Some((1, command as u32)),
        errno: libc::EINVAL,
    });
    let args = ["run", "--id", "x", "--shell", "echo up; sleep 60"];
    assert_eq!(refusing(&world, &refusals, &args).code, 0);
    until_output(&world, "x", "up\n");
    let pair = |world: &World| (world.pair("x").keeper, world.events("x", "kept").len());
    let before = pair(&world);
    for verb in [["show", "x"], ["log", "x"]] {
        assert_eq!(refusing(&world, &refusals, &verb).code, 0, "{verb:?}");
    }
    assert_eq!(pair(&world), before, "it was kept all along");
    world.kill_both("x");
    assert_eq!(refusing(&world, &refusals, &["show", "x"]).code, 0);
    assert_eq!(pair(&world).1, before.1 + 1, "it was adopted");
    let stopped = refusing(&world, &refusals, &["stop", "x"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_nothing_is_left(&world, "x");
    let (code, verdict, _) = verdict(&world, &refusals, "locks");
    assert_eq!((code, verdict.as_str()), (0, "less"));
}

/// Runs a sample of these tests with every program refused the calls that Linux 4.18 does not have. To run more of
/// them, set the variable for `cargo nextest`.
#[test]
fn a_sample_of_the_suite_holds_on_an_older_kernel() {
    let rooms = [
        "basics::",
        "pair::names",
        "stdin::sending",
        "stopping::tree",
    ];
    // This test expects a kernel that offers everything.
    let skipped = "doctor_says_what_this_machine_offers";
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests
        .args(["--test-threads", "4", "--skip", skipped])
        .args(rooms);
    let ran = Ran::of(tests.env(KERNEL, "4.18"));
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(!ran.stdout.contains(" 0 passed"), "{}", ran.stdout);
}
