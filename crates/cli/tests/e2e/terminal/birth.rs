//! The terminal that a job gets: its size, its session and `TERM`.

use super::standing;
use outlive_testkit::checks::until_output;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{ok, on_terminal};
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;

/// Runs a job, and returns what it wrote.
fn written_by(world: &World, args: &[&str]) -> String {
    let id = ok(world, args);
    world.wait(&id);
    String::from_utf8(world.output(&id)).unwrap()
}

#[test]
fn a_terminal_has_the_size_that_was_asked_for_or_the_default() {
    for (pty, size) in [
        ("--pty", "30 120"),
        ("--pty=24x80", "24 80"),
        ("--pty=1x1", "1 1"),
    ] {
        let world = World::new();
        let wrote = written_by(&world, &["run", pty, "--shell", "stty size"]);
        assert_eq!(wrote, format!("{size}\r\n"), "{pty}");
    }
}

#[test]
fn bad_sizes_are_refused_and_nothing_starts() {
    let world = World::new();
    for size in ["0x5", "24", "axb", "99999x1", "-1x4", "24x", "24x80x1"] {
        let ran = world.outlive(&["run", &format!("--pty={size}"), "--", "true"]);
        assert_eq!(ran.code, 2, "{size}: {ran:?}");
    }
    let both = world.outlive(&["run", "--pty", "--stdin", "pipe", "--", "true"]);
    assert_eq!(both.code, 2, "{both:?}");
    let list = world.json(&["list", "--state", "all", "--json"]);
    assert_eq!(list["jobs"], json!([]));
}

#[test]
fn all_three_streams_are_one_controlling_terminal() {
    let world = World::new();
    let script = "tty; tty 0<&1; tty 0<&2; echo seen > /dev/tty; echo err >&2";
    let wrote = written_by(&world, &["run", "--pty", "--shell", script]);
    let lines: Vec<&str> = wrote.split("\r\n").collect();
    assert!(lines[0].starts_with("/dev/pts/"), "{lines:?}");
    assert_eq!(lines[1..], [lines[0], lines[0], "seen", "err", ""]);
}

#[test]
fn the_job_leads_its_session_on_the_terminal() {
    let world = World::new();
    let id = on_terminal(&world, "echo up; exec sleep 100");
    until_output(&world, &id, "up\r\n");
    let pid = world.leader(&id);
    let at = standing(pid).unwrap();
    assert_eq!(
        (at.group, at.session, at.foreground),
        (i64::from(pid), i64::from(pid), i64::from(pid))
    );
    // Terminals of this kind (Unix98) have major numbers 136 to 143.
    assert_eq!(at.terminal >> 8, 136);
    assert_eq!(world.show(&id)["pty"], true);
    let open: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().collect();
    assert_eq!(open.len(), 3);
}

#[test]
fn term_is_set_unless_it_is_given() {
    let world = World::new();
    let term = |more: &[&str]| {
        let args = [&["run", "--pty"], more, &["--", "printenv", "TERM"]].concat();
        written_by(&world, &args)
    };
    assert_eq!(term(&[]), "xterm-256color\r\n");
    assert_eq!(term(&["--env", "TERM=vt100"]), "vt100\r\n");
    assert_eq!(term(&["--plain"]), "dumb\r\n");
    assert_eq!(term(&["--plain", "--env", "TERM=vt220"]), "vt220\r\n");
}

const PLAIN: [&str; 6] = [
    "NO_COLOR",
    "PAGER",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "GIT_EDITOR",
    "TERM",
];

/// The values of the `PLAIN` variables in a job.
fn plain_values(world: &World, more: &[&str]) -> String {
    let script = PLAIN
        .map(|name| format!("echo {name}=${{{name}-unset}};"))
        .concat();
    let args = [&["run"], more, &["--shell", &script]].concat();
    let mut command = world.command(args);
    PLAIN.iter().for_each(|name| {
        command.env_remove(name);
    });
    let id = Ran::of(command.env("TERM", "mine"))
        .stdout
        .trim_end()
        .to_owned();
    world.wait(&id);
    String::from_utf8(world.output(&id)).unwrap()
}

#[test]
fn plain_makes_programs_talk_plainly() {
    let world = World::new();
    assert_eq!(
        plain_values(&world, &["--plain"]),
        "NO_COLOR=1\nPAGER=cat\nGIT_PAGER=cat\nGIT_TERMINAL_PROMPT=0\nGIT_EDITOR=true\nTERM=dumb\n"
    );
}

#[test]
fn plain_does_not_override_env() {
    let world = World::new();
    let more = ["--plain", "--env", "PAGER=less", "--env", "GIT_EDITOR=vi"];
    assert_eq!(
        plain_values(&world, &more),
        "NO_COLOR=1\nPAGER=less\nGIT_PAGER=cat\nGIT_TERMINAL_PROMPT=0\nGIT_EDITOR=vi\nTERM=dumb\n"
    );
    assert_eq!(
        plain_values(&world, &[]),
        "NO_COLOR=unset\nPAGER=unset\nGIT_PAGER=unset\nGIT_TERMINAL_PROMPT=unset\nGIT_EDITOR=unset\nTERM=mine\n"
    );
}
