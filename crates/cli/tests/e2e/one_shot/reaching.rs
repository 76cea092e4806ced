//! Commands that execute nothing, programs that vanish, and places that are something else.

use super::{assert_exact, at, start};
use outlive_testkit::checks::every;
use outlive_testkit::places::OneShot;
use outlive_testkit::places::one_shot::configure;
use outlive_testkit::world::World;
use std::fs;

#[test]
fn a_command_that_executes_nothing_is_told_apart_from_a_place() {
    let cells = [
        ("text:false", "false ended with exit status: 1"),
        ("text:true", "commands there print nothing"),
        ("text:no-such-command-anywhere", "no-such-command-anywhere"),
        (
            "text:echo hello",
            "it prints the command and does not run it",
        ),
        ("text:sh -c 'echo hello' sh", "hello"),
        (
            "text:sh -c 'echo cannot go there >&2; exit 3' sh",
            "cannot go there",
        ),
        ("text:sh -c 'exec sleep 60' sh", "no answer in time"),
        ("swerex:http://127.0.0.1:1", "refused"),
    ];
    every(
        &cells,
        |(at, _)| (*at).to_owned(),
        |(at, words)| {
            let world = World::new();
            configure(&world.path(""), at, "reach = \"4s\"").unwrap();
            let ran = world.outlive(&["run", "--place", "box", "--id", "job", "--", "true"]);
            assert_eq!(ran.code, 125, "{ran:?}");
            assert!(ran.stderr.contains("box was not reached"), "{ran:?}");
            assert!(ran.stderr.contains(words), "{words:?} is not in {ran:?}");
            assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
        },
    );
}

/// A program there was removed, as a cleaner of caches does.
#[test]
fn a_program_that_vanishes_is_sent_again() {
    let (_place, world) = at(OneShot::plain());
    start(&world, "job", "cat; exit 7");
    // Its own copy: other tests use the shared one.
    let shared = outlive_testkit::places::shared().join("outlive");
    let own = world.path_there(".cache/outlive");
    fs::create_dir_all(&own).unwrap();
    let script = world.path("one-shot/setting");
    let setting = fs::read_to_string(&script).unwrap();
    let cache = world.path_there(".cache").display().to_string();
    let setting = setting.replace(
        &outlive_testkit::places::shared().display().to_string(),
        &cache,
    );
    for entry in fs::read_dir(&shared).unwrap().flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().contains('.') {
            outlive_testkit::programs::copy_program(
                entry.path().to_str().unwrap(),
                &own.join(&name),
            );
        }
    }
    fs::write(&script, setting).unwrap();
    world.kill_couriers();
    world.kill_far_ends();
    world.ok(&["send", "job", "one", "--enter"]);
    fs::remove_dir_all(&own).unwrap();
    fs::write(
        &script,
        fs::read_to_string(&script).unwrap().replace(
            &cache,
            &outlive_testkit::places::shared().display().to_string(),
        ),
    )
    .unwrap();
    world.ok(&["send", "job", "two", "--enter", "--eof"]);
    assert_exact(&world, "job", 7, b"one\ntwo\n");
}
