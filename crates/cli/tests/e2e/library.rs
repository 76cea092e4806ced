//! Compiles and runs the examples of the library.

use outlive::api::event::EventKind;
use outlive::inbox::Take;
use outlive::{Caller, Label, Outlive, WaitFor};
use outlive_testkit::programs;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::time::Duration;

/// Runs an example of `crates/client/examples` with a home of its own and the keeper of this build.
fn example(world: &World, name: &str) -> Ran {
    build();
    let mut command = Command::new(directory().join("examples").join(name));
    world.give_environment(&mut command);
    command.env("OUTLIVE_KEEPER", programs::keeper());
    Ran::of(&mut command)
}

/// The directory where this build puts its programs.
fn directory() -> PathBuf {
    let program = Path::new(programs::outlive());
    program.parent().unwrap().to_owned()
}

/// Builds the examples. A test of one package does not build the examples of another, so they may be old or missing.
fn build() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let ran = Ran::of(
            Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
                .args(["build", "--locked", "--package", "outlive", "--examples"])
                .arg("--target-dir")
                .arg(directory().parent().unwrap())
                .current_dir(env!("CARGO_MANIFEST_DIR")),
        );
        assert_eq!(ran.code, 0, "{ran:?}");
    });
}

#[test]
fn the_example_that_runs_and_waits_tells_the_end() {
    let world = World::new();
    let ran = example(&world, "run_and_wait");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("Exited { code: 3 }"), "{ran:?}");
    assert!(
        ran.stdout.ends_with("exit code Some(3)\ncompiling\ndone\n"),
        "{ran:?}"
    );
    assert_eq!(world.show("build")["exit_code"], 3);
}

#[test]
fn the_example_with_an_inbox_is_told_of_each_job_once() {
    let world = World::new();
    let ran = example(&world, "inbox_loop");
    assert_eq!(ran.code, 0, "{ran:?}");
    for name in ["quick", "slow", "wrong"] {
        let told = ran.stdout.matches(&format!("({name})")).count();
        assert_eq!(told, 1, "{name}: {ran:?}");
    }
    assert!(ran.stdout.ends_with("3 jobs ended\n"), "{ran:?}");
    let left = world.json(&["inbox", "--session", "conversation-1", "--peek", "--json"]);
    assert_eq!(left["events"].as_array().map(Vec::len), Some(0));
}

#[test]
fn the_example_of_redaction_hides_secrets_until_they_are_asked_for() {
    let world = World::new();
    let ran = example(&world, "session_and_redaction");
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let is_secret = |line: &&&str| line.contains("hunter22") || line.contains("s3cr3t");
    let [hidden, shown] = ["hidden: ", "shown: "].map(|word| {
        lines
            .iter()
            .filter(|line| line.starts_with(word))
            .collect::<Vec<_>>()
    });
    assert_eq!((hidden.len(), shown.len()), (2, 2), "{ran:?}");
    assert_eq!(
        hidden.iter().filter(|line| is_secret(line)).count(),
        0,
        "{ran:?}"
    );
    assert_eq!(
        shown.iter().filter(|line| is_secret(line)).count(),
        2,
        "{ran:?}"
    );
}

/// A program may keep the answer of a wait for as long as it likes.
#[test]
fn an_answer_that_is_kept_holds_back_only_what_it_tells() {
    let world = World::new();
    let script = "echo go; read line; exit 4";
    let asked = [
        "run",
        "--session",
        "s",
        "--stdin",
        "pipe",
        "--ready",
        "line:go",
    ];
    let id = world.ok(&[&asked[..], &["--shell", script]].concat());
    let session = Label::parse("s").unwrap();
    let outlive = Outlive::open_at(world.home()).unwrap();
    let outlive = outlive.called_by(Caller::Session(session));
    let job = outlive.job(&id).unwrap();
    let inbox = outlive.inbox("s").unwrap();
    let ready = job.wait_for(WaitFor::Ready, None).unwrap();
    let take = || Take {
        timeout: Some(Duration::from_secs(10)),
        ..Take::default()
    };
    assert_eq!(ready.met, [true]);
    ready.receipt.told().unwrap();
    let late = job.wait_for(WaitFor::End, Some(Duration::ZERO)).unwrap();
    assert!(late.out_of_time);
    world.ok(&["send", &id, "x", "--enter"]);
    let told = inbox.next(take()).unwrap();
    let kinds: Vec<EventKind> = told.events().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Ended], "{ready:?} {late:?}");
}
