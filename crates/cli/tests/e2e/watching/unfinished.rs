//! Matches in lines that are not finished yet.

use super::{EVERY_MATCH, run, told, told_of, world};
use outlive_testkit::checks::until_output;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::waiting::until;
use std::fs;

#[test]
fn a_prompt_is_told_once_when_the_output_is_still() {
    let world = world(EVERY_MATCH);
    let script =
        format!("printf 'Continue? '; {WAITS} echo yes, Continue; echo Continue; sleep 60");
    let id = run(&world, &["--watch", "Continue"], &script);
    until("the prompt is told", || told(&world, &id) == ["Continue? "]);
    assert_eq!(world.show(&id)["state"], "running");
    let_go(&world);
    // The prompt was told, so the whole line is not told again. The next line is.
    until("the next line is told", || told(&world, &id).len() > 1);
    assert_eq!(told(&world, &id), ["Continue? ", "Continue"]);
    world.ok(&["stop", &id]);
    assert_eq!(told(&world, &id), ["Continue? ", "Continue"]);
}

#[test]
fn a_prompt_that_grows_into_a_match_is_told() {
    let world = world(EVERY_MATCH);
    let script = format!("printf 'Pass'; {WAITS} printf 'word: '; sleep 60");
    let id = run(&world, &["--watch", "Password:"], &script);
    until_output(&world, &id, "Pass");
    let_go(&world);
    until("it is told", || told(&world, &id) == ["Password: "]);
}

/// An unfinished line is checked only when the job stops writing.
#[test]
fn a_line_written_in_pieces_is_not_judged_by_its_beginning() {
    let world = world("[watch]\nspacing = \"0ms\"\nstill = \"20s\"\n");
    let script = format!("printf 'ERROR'; {WAITS} echo ' (ignored)'");
    let id = run(
        &world,
        &["--watch", "ERROR", "--watch-not", "ignored"],
        &script,
    );
    until_output(&world, &id, "ERROR");
    let_go(&world);
    world.wait(&id);
    assert_eq!(told(&world, &id), [""; 0]);
}

#[test]
fn a_match_in_a_last_line_without_an_end_is_told() {
    let world = world("[watch]\nspacing = \"0ms\"\nstill = \"20s\"\n");
    assert_eq!(
        told_of(
            &world,
            &["--watch", "ERROR"],
            "echo fine; printf 'last ERROR'"
        ),
        ["last ERROR"]
    );
}

#[test]
fn the_end_of_a_prompt_job_does_not_tell_it_again() {
    let world = world(EVERY_MATCH);
    let id = run(
        &world,
        &["--watch", "name"],
        &format!("printf 'name? '; {WAITS} printf 'name'"),
    );
    until("the prompt is told", || !told(&world, &id).is_empty());
    let_go(&world);
    world.wait(&id);
    assert_eq!(told(&world, &id), ["name? "]);
}

#[test]
fn a_prompt_of_a_terminal_job_is_told_once_though_it_is_answered() {
    let world = world(EVERY_MATCH);
    let id = run(
        &world,
        &["--pty", "--watch", "Really"],
        "read -p 'Really? ' answer; echo \"got $answer\"; sleep 60",
    );
    until("the prompt is told", || !told(&world, &id).is_empty());
    world.ok(&["send", &id, "yes", "--enter"]);
    until("it goes on", || {
        String::from_utf8_lossy(&world.output(&id)).contains("got yes")
    });
    world.ok(&["stop", &id]);
    assert_eq!(told(&world, &id), ["Really? "]);
    assert!(
        !fs::read(world.job_dir(&id).join("watch"))
            .unwrap()
            .is_empty()
    );
}
