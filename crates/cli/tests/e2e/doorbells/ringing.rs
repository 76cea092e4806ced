//! The configured doorbells, and ringing them by hand.

use super::{configure, web_server, webhook};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

const EVENT: &str =
    r#"{"event":"1pzrj72dak:7","kind":"ended","text":"-u job ended\nexit <b>3</b>\\n"}"#;

/// Rings a doorbell with this event on standard input. If `path` is given, programs are found only there.
fn ring(world: &World, name: &str, event: &[u8], path: Option<&str>) -> Ran {
    let file = world.path("event");
    fs::write(&file, event).unwrap();
    let mut command = world.command(["doorbell", "ring", name]);
    command.stdin(Stdio::from(fs::File::open(file).unwrap()));
    if let Some(path) = path {
        command.env("PATH", path);
    }
    Ran::of(&mut command)
}

/// A `notify-send` that records its arguments, one per line.
fn fake_notify_send(world: &World) -> (String, PathBuf) {
    let directory = world.path("bin");
    let said = world.path("said");
    fs::create_dir_all(&directory).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s|' \"$@\" > '{}'\n", said.display());
    let program = directory.join("notify-send");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    (directory.to_str().unwrap().to_owned(), said)
}

#[test]
fn a_webhook_is_tested_with_a_made_up_event() {
    let world = World::new();
    let (url, request) = web_server("204 No Content");
    configure(&world, &webhook(&url, "secret_env = \"OPS_SECRET\""));
    let ran = Ran::of(
        world
            .command(["doorbell", "test", "ops"])
            .env("OPS_SECRET", "s3cret"),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.starts_with("ops rang: http://127.0.0.1:"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("t0ken"), "{ran:?}");
    let (head, body) = request.join().unwrap();
    let event: Value = serde_json::from_slice(&body).unwrap();
    assert!(head.starts_with("post /hook/t0ken "), "{head}");
    assert!(head.contains("x-outlive-signature: sha256="), "{head}");
    assert!(!head.contains("s3cret"), "{head}");
    assert_eq!(event["kind"], "ended");
    assert_eq!(event["job"], "test");
    assert!(event["text"].as_str().unwrap().contains("ops"), "{event}");
}

#[test]
fn the_test_ring_reports_a_failing_webhook() {
    let world = World::new();
    let (url, request) = web_server("500 Oh");
    configure(&world, &webhook(&url, ""));
    let ran = world.outlive(&["doorbell", "test", "ops", "--json"]);
    request.join().unwrap();
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("\"ops\" did not ring"), "{ran:?}");
    assert!(ran.stderr.contains("answered 500"), "{ran:?}");
    assert!(!ran.stderr.contains("t0ken"), "{ran:?}");
}

/// A webhook that must be signed is not called if its secret is missing.
#[test]
fn a_missing_secret_keeps_it_from_ringing() {
    let world = World::new();
    let secret = world.path("secret");
    fs::write(&secret, "s3cret").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
    let file = format!("secret_file = \"{}\"", secret.display());
    for (rest, said) in [
        ("secret_env = \"OUTLIVE_NOT_SET\"", "OUTLIVE_NOT_SET"),
        (file.as_str(), "chmod 600"),
    ] {
        // No server listens on port 9, so a connection attempt would give another error.
        configure(&world, &webhook("http://127.0.0.1:9/", rest));
        let ran = ring(&world, "ops", EVENT.as_bytes(), None);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
        assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
    }
}

#[test]
fn the_desktop_shows_the_text_and_nothing_in_it_is_an_option() {
    let world = World::new();
    let (path, said) = fake_notify_send(&world);
    configure(&world, "[[doorbell]]\nname = \"me\"\nkind = \"desktop\"\n");
    let ran = ring(&world, "me", EVENT.as_bytes(), Some(&path));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(
        fs::read_to_string(&said).unwrap(),
        "--app-name=Outlive|--|-u job ended|exit &lt;b&gt;3&lt;/b&gt;\\\\n|"
    );
    let nowhere = world.path("empty");
    fs::create_dir(&nowhere).unwrap();
    let ran = ring(&world, "me", EVENT.as_bytes(), nowhere.to_str());
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("notify-send was not found"), "{ran:?}");
    assert!(ran.stderr.contains("libnotify"), "{ran:?}");
}

#[test]
fn a_command_gets_the_event() {
    let world = World::new();
    let got = world.path("got");
    let bell = "[[doorbell]]\nname = \"x\"\nkind = \"command\"\n";
    configure(
        &world,
        &format!("{bell}command = \"cat > {}\"", got.display()),
    );
    let ran = ring(&world, "x", EVENT.as_bytes(), None);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(&got).unwrap(), EVENT);
    configure(&world, &format!("{bell}command = \"echo no; exit 7\""));
    let ran = world.outlive(&["doorbell", "test", "x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("no\n"), "{ran:?}");
    assert!(ran.stderr.contains("exit status: 7"), "{ran:?}");
}

#[test]
fn text_that_is_not_an_event_does_not_ring() {
    let world = World::new();
    let bell = "[[doorbell]]\nname = \"x\"\nkind = \"command\"\ncommand = \"true\"\n";
    configure(&world, bell);
    let text = "x".repeat(1 << 20);
    let large = format!("{{\"event\":\"a:1\",\"text\":\"{text}\"}}");
    for (event, said) in [
        ("", "not an event"),
        ("{}", "not an event"),
        (&large, "1048576"),
    ] {
        let ran = ring(&world, "x", event.as_bytes(), None);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}

#[test]
fn the_list_of_doorbells_shows_no_secret() {
    let world = World::new();
    assert_eq!(
        world.outlive(&["doorbell", "list"]).stderr,
        "no doorbells\n"
    );
    let text = webhook("https://u:p@hooks.example/t0ken", "secret_env = \"OPS\"");
    let me = "[[doorbell]]\nname = \"me\"\nkind = \"desktop\"\non = \"failure\"\n";
    configure(&world, &(text + me));
    let listed = world.ok(&["doorbell", "list"]);
    let expected = "ops  webhook  end      https://hooks.example (signed)\n\
                    me   desktop  failure  this machine's desktop";
    assert_eq!(listed, expected);
    let json = world.json(&["doorbell", "list", "--json"]);
    assert_eq!(
        json["doorbells"][0]["target"],
        "https://hooks.example (signed)"
    );
    assert_eq!(json["doorbells"][1]["on"], "failure");
    let ran = world.outlive(&["doorbell", "test", "nobody"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("config.toml has ops, me"), "{ran:?}");
}

/// The file in the home is read; without it, the user's file.
#[test]
fn the_configuration_is_found_and_checked() {
    let world = World::new();
    let users = world.path("config").join("outlive");
    fs::create_dir_all(&users).unwrap();
    let bell = "[[doorbell]]\nname = \"mine\"\nkind = \"desktop\"\n";
    fs::write(users.join("config.toml"), bell).unwrap();
    let listed = world.ok(&["doorbell", "list"]);
    assert!(listed.starts_with("mine "), "{listed}");
    configure(&world, "[inbox]\nclaim = \"soon\"\n");
    let ran = world.outlive(&["doorbell", "list"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    let place = format!(
        "{}:2: inbox.claim:",
        world.home().join("config.toml").display()
    );
    assert!(ran.stderr.contains(&place), "{ran:?}");
}

#[test]
fn the_internal_ring_command_is_not_in_the_help() {
    let world = World::new();
    let help = world.ok(&["doorbell", "--help"]);
    assert!(
        help.contains("\n  test ") && !help.contains("\n  ring "),
        "{help}"
    );
}
