//! `--quiet`, closed pipes, completions and the manual.

use super::{ended, fabricate};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs::{self, File};

#[test]
fn quiet_leaves_out_notes() {
    let world = World::new();
    let id = ended(&world, &[]);
    for args in [
        &["stop", &id, "--quiet"][..],
        &["run", "--quiet", "--shell", "true &"],
    ] {
        let ran = world.outlive(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        assert_ne!(world.outlive(&loud(args)).stderr, "", "{args:?}");
    }
}

#[test]
fn quiet_never_hides_an_error() {
    let world = World::new();
    let id = ended(&world, &[]);
    for (args, code) in [
        (&["--quiet", "show", "nonesuch"][..], 3),
        (&["wait", "nonesuch", "--quiet"], 3),
        (&["--quiet", "signal", &id, "TERM"], 125),
        (&["--quiet", "stop", &id, "nonesuch"], 3),
        (
            &["--quiet", "run", "--foreground", "--", "/no/such/program"],
            127,
        ),
        (&["--quiet", "run", "--", "/no/such/program"], 127),
    ] {
        let ran = world.outlive(args);
        assert_eq!(ran.code, code, "{args:?}");
        assert_ne!(ran.stderr, "", "{args:?}");
    }
}

fn loud<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let words = args.iter().copied();
    words.filter(|arg| *arg != "--quiet").collect()
}

#[test]
fn a_closed_pipe_is_no_error() {
    let world = World::new();
    fabricate(&world, 50);
    for args in [
        &["list", "--limit", "50"][..],
        &["list", "--json", "--limit", "50"],
        &["completions", "bash"],
        &["man"],
        &["log", "old00001"],
    ] {
        let ran = into_closed_pipe(&world, args);
        assert_eq!(ran.stderr, "", "{args:?}");
        assert!([0, 141].contains(&ran.code), "{args:?}: {ran:?}");
    }
}

/// `outlive run --wait … | head -1` in a script with `pipefail`.
#[test]
fn a_job_that_fails_is_no_success_when_nobody_reads_its_output() {
    let world = World::new();
    let fails = ["--shell", "echo a; exit 9"];
    let id = world.ok(&[&["run", "--session", "s"], &fails[..]].concat());
    let speaking = ["run", "--session", "s", "--json", "--wait"];
    for args in [
        &["wait", &id][..],
        &["wait", "--json", &id],
        &[&speaking[..], &fails].concat(),
        &[
            "run",
            "--session",
            "s",
            "--wait-ready",
            "--ready",
            "line:never",
            "--shell",
            "exit 9",
        ],
    ] {
        let ran = into_closed_pipe(&world, args);
        assert_eq!(ran.code, 9, "{args:?}: {ran:?}");
    }
    let follows = ["run", "--wait", "--shell", "echo a; sleep 300; exit 9"];
    let ran = into_closed_pipe(&world, &follows);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(
        ran.stderr.contains("nobody reads the output any more"),
        "{ran:?}"
    );
    // What nobody read was not told.
    let told = world.ok(&["inbox", "--session", "s", "--peek"]);
    assert_eq!(told.matches("exit code 9").count(), 3, "{told}");
}

#[test]
fn json_is_printed_where_the_jobs_own_command_has_no_part_in_it() {
    let world = World::new();
    let ran = world.outlive(&["run", "--bogus", "--", "tool", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    let ran = world.outlive(&["run", "--bogus", "--json", "--", "tool"]);
    assert!(ran.stdout.starts_with("{\"error\""), "{ran:?}");
}

/// Runs `outlive` with a pipe as standard output that nobody reads.
fn into_closed_pipe(world: &World, args: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Ran::of(world.command(args).stdout(writer))
}

#[test]
fn list_piped_to_head_prints_the_first_line() {
    let world = World::new();
    fabricate(&world, 30);
    let script = format!("{} list | head -1", outlive_testkit::programs::outlive());
    let ran = Ran::of(&mut world.within("bash", ["-c", &script]));
    assert!(ran.stdout.starts_with("ID "), "{ran:?}");
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""));
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let world = World::new();
    ended(&world, &[]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = world.command(["list"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the output"));
}

#[test]
fn every_shell_has_its_completions() {
    let world = World::new();
    for (shell, words) in [
        ("bash", ["complete -F", "--older-than"]),
        ("zsh", ["#compdef outlive", "--older-than"]),
        ("fish", ["complete -c outlive", "older-than"]),
    ] {
        let script = world.ok(&["completions", shell]);
        for word in words.iter().chain(&["run", "prune", "detach"]) {
            assert!(script.contains(word), "{shell}: no {word:?}");
        }
    }
    assert_eq!(world.outlive(&["completions", "tclsh"]).code, 2);
    assert!(!world.home().exists());
}

#[test]
fn the_manual_is_printed_or_written_a_page_a_command() {
    let world = World::new();
    let page = world.ok(&["man"]);
    for word in [".TH outlive 1", ".SH NAME", ".SH SYNOPSIS", "prune", "124"] {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
    let dir = world.path("share/man");
    world.ok(&["man", "--dir", dir.to_str().unwrap()]);
    for name in [
        "outlive",
        "outlive-run",
        "outlive-list",
        "outlive-stop",
        "outlive-prune",
        "outlive-wait",
    ] {
        let page = fs::read_to_string(dir.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(!world.home().exists());
}
