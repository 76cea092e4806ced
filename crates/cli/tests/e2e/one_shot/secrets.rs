//! What others could see at a place: a secret travels only where they cannot, or where the configuration allows it.

use super::at;
use outlive_testkit::places::one_shot::{Ways, commands_at};
use outlive_testkit::places::{Lent, OneShot};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SECRET: &str = "s3cr3t-0xdeadbeef-Zq9-and-more";

/// The secret itself, and what of it stands in base64 wherever it begins.
fn forms() -> Vec<Vec<u8>> {
    let mut forms = vec![SECRET.as_bytes().to_vec()];
    for before in 0..3 {
        let bytes = [&b"xx"[..before], SECRET.as_bytes()].concat();
        let text = outlive::places::tunnel::fuzzing::encode_base64(&bytes);
        // Not the letters that also depend on what stands before and after.
        forms.push(text.as_bytes()[4..36].to_vec());
    }
    forms
}

fn contains_secret(bytes: &[u8]) -> bool {
    let contains = |form: &Vec<u8>| bytes.windows(form.len()).any(|at| at == form);
    forms().iter().any(contains)
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

/// Neither in a file of both sides, nor in a command that was executed, nor in an argument of any process.
fn assert_nowhere(world: &World) {
    let files = files_below(&world.path(""));
    assert!(files.len() >= 6, "{files:?}");
    for path in files {
        let bytes = fs::read(&path).unwrap_or_default();
        assert!(!contains_secret(&bytes), "{path:?}");
    }
    let commands = commands_at(&world.path_there(""));
    assert!(commands.contains("carry"), "commands are noted");
    for pid in outlive_sys::tree::all().unwrap() {
        for word in outlive_sys::process::arguments(pid) {
            assert!(!contains_secret(&word), "argument of {pid}");
        }
    }
}

/// Starts a job that gets the secret.
fn run_with_secret(world: &World) -> Ran {
    let script = "echo ${#TOKEN}; cat; exit 7";
    let args = [
        "run",
        "--id",
        "job",
        "--session",
        "s",
        "--stdin",
        "pipe",
        "--env",
        "TOKEN",
    ];
    let mut run = world.command([&args[..], &["--shell", script]].concat());
    Ran::of(run.env("TOKEN", SECRET))
}

fn travels_unseen(world: &World) {
    let ran = run_with_secret(world);
    assert_eq!(ran.code, 0, "{ran:?}");
    until("it has started", || {
        world.ok(&["log", "job", "--peek"]) == SECRET.len().to_string()
    });
    assert_nowhere(world);
    // What is typed may be a password.
    world.ok(&["send", "job", SECRET, "--enter", "--eof"]);
    let commands = commands_at(&world.path_there(""));
    assert!(!contains_secret(commands.as_bytes()), "what was sent");
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
}

#[test]
fn a_secret_on_the_input_of_a_lent_command_is_seen_by_nobody() {
    travels_unseen(&World::at(Arc::new(Lent::with(
        Ways::default(),
        &["--input"],
    ))));
}

#[test]
fn a_secret_on_the_input_of_a_template_is_seen_by_nobody() {
    let place = OneShot::plain().configured("secrets = \"stdin\"");
    travels_unseen(&at(place).1);
}

#[test]
fn where_all_would_see_it_a_secret_is_refused_and_the_fix_is_named() {
    let places: [(World, &[&str]); 2] = [
        (
            at(OneShot::plain().configured("")).1,
            &["[place.box]", "secrets = \"stdin\"", "secrets = \"argv\""],
        ),
        (
            World::at(Arc::new(Lent::with(Ways::default(), &[]))),
            &["[place.box]", "secrets = \"argv\""],
        ),
    ];
    for (world, words) in &places {
        if world.place().name() == "caller" {
            // The harness of the tests allows it.
            let at = "[place.box]\nat = \"caller:box\"\n";
            fs::write(world.path("config/outlive/config.toml"), at).unwrap();
        }
        let ran = run_with_secret(world);
        assert_eq!(ran.code, 2, "{ran:?}");
        for word in [&["TOKEN"], *words].concat() {
            assert!(ran.stderr.contains(word), "{word:?} is not in {ran:?}");
        }
        assert_nowhere(world);
        assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
        // Without it, jobs run.
        world.ok(&["run", "--id", "job", "--", "true"]);
        assert_eq!(world.outlive(&["wait", "job"]).code, 0);
    }
}

#[test]
fn variables_of_the_configuration_are_refused_as_well() {
    let world = at(OneShot::plain().configured("env = { TOKEN = \"x\" }")).1;
    let ran = world.outlive(&["run", "--", "true"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("TOKEN"), "{ran:?}");
}
