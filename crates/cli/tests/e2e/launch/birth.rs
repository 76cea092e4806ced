//! What a job starts with: its session, signals, descriptors and standard input.

use super::{GROUP, SESSION, TTY, file, from_bash, stat_field, text};
use outlive_testkit::environment::behind;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs;
use std::io::Write;
use std::process::Stdio;

#[test]
fn the_job_has_a_session_and_a_group_of_its_own_and_no_terminal() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let pid = world.leader(&id);
    assert_eq!(stat_field(pid, GROUP), pid);
    assert_eq!(stat_field(pid, SESSION), pid);
    assert_eq!(stat_field(pid, TTY), 0);
    let pair = world.pair(&id);
    let own = stat_field(std::process::id() as i32, SESSION);
    for keeper in [pair.keeper, pair.standby.unwrap()] {
        assert_eq!(stat_field(keeper, SESSION), keeper);
        assert_eq!(stat_field(keeper, GROUP), keeper);
        assert_ne!(stat_field(keeper, SESSION), own);
        assert_eq!(stat_field(keeper, TTY), 0);
    }
}

#[test]
fn the_job_reads_end_of_file_whatever_input_the_launcher_has() {
    let world = World::new();
    let mut launcher = world
        .command([
            "run",
            "--id",
            "in",
            "--shell",
            "cat; readlink /proc/self/fd/0",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = launcher.stdin.take().unwrap();
    input.write_all(b"not for the job\n").unwrap();
    assert!(launcher.wait().unwrap().success());
    assert_eq!(world.wait("in")["exit_code"], 0);
    assert_eq!(text(world.output("in")), "/dev/null\n");
}

#[test]
fn no_descriptor_of_the_launcher_reaches_the_job_or_its_keepers() {
    let world = World::new();
    let secret = file(&world, "opened-by-the-launcher", "x", 0o600);
    let script = format!(
        "exec 3<{0} 7<{0} 9>>{0} 200<{0}; \"$OUTLIVE\" run --id ls -- ls /proc/self/fd \
         && \"$OUTLIVE\" run --id sleep -- sleep 60",
        secret.display()
    );
    assert_eq!(Ran::of(&mut from_bash(&world, &script)).code, 0);
    world.wait("ls");
    // Descriptor 3 is the directory that `ls` reads.
    assert_eq!(text(world.output("ls")), "0\n1\n2\n3\n");
    let pair = world.pair("sleep");
    for pid in [world.leader("sleep"), pair.keeper, pair.standby.unwrap()] {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
            let target = fs::read_link(entry.unwrap().path()).unwrap();
            assert_ne!(target, secret, "in {pid}");
        }
    }
}

#[test]
fn signals_are_default_and_unblocked_whatever_the_launcher_does() {
    let world = World::new();
    let ran = Ran::of(&mut behind(
        "env",
        [
            "--ignore-signal=HUP,INT,QUIT,PIPE,TERM,CHLD,USR1,RTMIN",
            "--block-signal=HUP,INT,TERM,CHLD,USR2,RTMAX",
        ],
        &world.command(["run", "--id", "signals", "--", "cat", "/proc/self/status"]),
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.wait("signals")["exit_code"], 0);
    let status = text(world.output("signals"));
    for field in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        assert_eq!(line, format!("{field}:\t0000000000000000"));
    }
}

#[test]
fn a_job_of_a_launcher_that_ignores_children_still_ends_exactly() {
    let world = World::new();
    let ran = Ran::of(&mut behind(
        "env",
        ["--ignore-signal=CHLD", "--block-signal=CHLD"],
        &world.command(["run", "--wait", "--shell", "(exit 3); exit 6"]),
    ));
    assert_eq!(ran.code, 6, "{ran:?}");
}
