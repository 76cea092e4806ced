//! Reaching a host: login shells that talk, keys that are wrong, servers that are not there.

use super::{assert_exact, configure, counted, over_ssh};
use outlive_testkit::checks::every;
use outlive_testkit::places::Ssh;
use outlive_testkit::places::sshd::{HOST, Sshd, stranger};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::sync::Arc;

/// A world with a server that the test has changed. Verbs try for two seconds.
fn changed(change: impl FnOnce(&World, &Sshd)) -> World {
    let (ssh, world) = over_ssh();
    change(&world, &ssh.server(&world.path_there("")));
    configure(&world, &format!("at = \"ssh:{HOST}\"\nreach = \"2s\""));
    world
}

/// Checks that a start fails with these words, and that there is no job.
fn assert_unreached(world: &World, words: &[&str]) {
    let ran = world.outlive(&["run", "--place", "far", "--id", "job", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word), "{word:?} is not in {ran:?}");
    }
    let json = world.outlive(&["run", "--place", "far", "--json", "--", "true"]);
    let error: Value = serde_json::from_slice(&json.bytes).unwrap();
    assert_eq!(error["error"]["code"], "unreachable", "{json:?}");
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
    assert_eq!(world.processes(), [0; 0]);
}

#[test]
fn a_login_shell_may_talk() {
    needs!(Ssh);
    let (_ssh, world) = over_ssh();
    // Also what looks like a frame, words without a line end, and errors.
    let noise = "echo Welcome; echo '1 data 3'; echo abc; echo oops >&2; cd /; printf 'no end'\n";
    for file in [".bashrc", ".bash_profile", ".profile", ".zshenv"] {
        fs::write(world.path_there(file), noise).unwrap();
    }
    let script = counted(&world, "job", "seq 1 100; exit 3");
    let ran = world.outlive(&["run", "--id", "job", "--session", "s", "--shell", &script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let numbers = outlive_testkit::scripts::numbers(100);
    assert_exact(&world, "job", 3, &numbers);
}

#[test]
fn a_login_shell_may_read_what_is_sent() {
    needs!(Ssh);
    let (_ssh, world) = over_ssh();
    fs::write(world.path_there(".bashrc"), "exec 0</dev/null; true\n").unwrap();
    configure(&world, &format!("at = \"ssh:{HOST}\"\nreach = \"2s\""));
    // The shell there has no input, so nothing can begin. It must not hang.
    assert_unreached(&world, &["far"]);
}

#[test]
fn other_shells_than_sh_log_in_as_well() {
    needs!(Ssh);
    for shell in [
        "/bin/bash",
        "/bin/dash",
        "/usr/bin/zsh",
        "/usr/bin/fish",
        "/usr/bin/tcsh",
    ] {
        if !std::path::Path::new(shell).exists() {
            continue;
        }
        let command = format!("ForceCommand {shell} -c \"$SSH_ORIGINAL_COMMAND\"");
        let world = World::at(Arc::new(Ssh::with_server_lines(&command)));
        let script = counted(&world, "job", "echo here; exit 4");
        let ran = world.outlive(&["run", "--id", "job", "--session", "s", "--shell", &script]);
        assert_eq!(ran.code, 0, "{shell}: {ran:?}");
        assert_exact(&world, "job", 4, b"here\n");
    }
}

#[test]
fn without_a_key_nothing_is_started_and_nobody_is_asked() {
    needs!(Ssh);
    let world = changed(|_, server| {
        let config = server.file("ssh_config");
        let key = stranger().unwrap();
        let text = fs::read_to_string(&config).unwrap();
        let lines = text
            .lines()
            .map(|line| match line.contains("IdentityFile") {
                true => format!(" IdentityFile {}\n", key.display()),
                false => format!("{line}\n"),
            });
        fs::write(config, lines.collect::<String>()).unwrap();
    });
    assert_unreached(&world, &["far", "Permission denied"]);
}

#[test]
fn a_host_key_that_has_changed_is_not_accepted() {
    needs!(Ssh);
    let world = changed(|_, server| {
        let key = fs::read_to_string(stranger().unwrap().with_extension("pub")).unwrap();
        let known = format!("[127.0.0.1]:{} {key}", server.port());
        fs::write(server.file("known_hosts"), known).unwrap();
    });
    assert_unreached(&world, &["far", "ost key"]);
}

#[test]
fn a_host_key_that_is_not_known_is_not_accepted() {
    needs!(Ssh);
    let world = changed(|_, server| {
        fs::write(server.file("known_hosts"), "").unwrap();
    });
    assert_unreached(&world, &["far", "ost key"]);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    needs!(Ssh);
    let world = changed(|_, server| server.kill());
    assert_unreached(&world, &["far", "refused"]);
}

#[test]
fn a_command_that_is_no_shell_is_told_apart_from_a_place() {
    let cells = [
        ("cmd:false", ""),
        ("cmd:true", ""),
        ("cmd:no-such-command-anywhere", "no-such-command-anywhere"),
        ("cmd:echo hello", ""),
        (
            "cmd:sh -c 'echo cannot go there >&2; exit 3'",
            "cannot go there",
        ),
        ("cmd:cat", ""),
        ("cmd:sleep 60", ""),
    ];
    every(
        &cells,
        |(at, _)| (*at).to_owned(),
        |(at, word)| {
            let world = World::new();
            configure(&world, &format!("at = {at:?}\nreach = \"2s\""));
            assert_unreached(&world, &["far", word]);
        },
    );
}

#[test]
fn what_may_not_run_at_a_place_is_refused_and_names_it() {
    let world = super::by_command();
    for args in [
        &["run", "--foreground", "--", "true"][..],
        &["detach", "log", "--", "true"],
    ] {
        let ran: Ran = world.outlive(args);
        assert_ne!(ran.code, 0, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("place"), "{args:?}: {ran:?}");
    }
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
}
