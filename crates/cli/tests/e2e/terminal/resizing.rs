//! `resize`.

use super::{screen, until_in_front};
use outlive_testkit::checks::{until_output, until_wrote};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::scripts::{ok, on_terminal, send_line};
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn a_resize_reaches_the_program() {
    let world = World::new();
    let script = "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done";
    let id = on_terminal(&world, script);
    until_output(&world, &id, "up\r\n");
    world.ok(&["resize", &id, "40x90"]);
    until_output(&world, &id, "up\r\n40 90\r\n");
    // While bash runs a trap, it loses a second signal of the same kind.
    until_in_front(&world, "sleep");
    let said = world.json(&["resize", &id, "10x20", "--json"]);
    assert_eq!(said, json!({ "id": id, "rows": 10, "cols": 20 }));
    until_output(&world, &id, "up\r\n40 90\r\n10 20\r\n");
    let seen = screen(&world, &id);
    assert_eq!((&seen["rows"], &seen["cols"]), (&json!(10), &json!(20)));
}

#[test]
fn a_resize_outlives_the_keeper_and_works_after_it() {
    let world = World::new();
    let id = on_terminal(&world, "echo up; while read -r line; do stty size; done");
    until_output(&world, &id, "up\r\n");
    world.ok(&["resize", &id, "11x22"]);
    kill_for_good(world.pair(&id).keeper);
    send_line(&world, &id, "a");
    until_wrote(&world, &id, "\r\n11 22\r\n");
    world.ok(&["resize", &id, "33x44"]);
    send_line(&world, &id, "b");
    until_wrote(&world, &id, "\r\n33 44\r\n");
    let seen = screen(&world, &id);
    assert_eq!((&seen["rows"], &seen["cols"]), (&json!(33), &json!(44)));
}

#[test]
fn an_impossible_resize_is_refused_with_a_reason() {
    let world = World::new();
    let plain = world.ok(&["run", "--", "sleep", "100"]);
    let ended = ok(&world, &["run", "--pty", "--", "true"]);
    world.wait(&ended);
    for size in ["0x5", "24", "axb", "99999x1", "24x", ""] {
        let ran = world.outlive(&["resize", &plain, size]);
        assert_eq!(ran.code, 2, "{size}: {ran:?}");
    }
    for (id, reason) in [(&plain, "no terminal"), (&ended, "ended")] {
        let ran = world.outlive(&["resize", id, "24x80"]);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
    assert_eq!(world.outlive(&["resize", "nobody", "24x80"]).code, 3);
}

#[test]
fn a_screen_made_smaller_still_shows_where_the_cursor_is() {
    let world = World::new();
    let id = on_terminal(&world, "seq 1 29; printf last; exec sleep 100");
    until_wrote(&world, &id, "last");
    world.ok(&["resize", &id, "10x40"]);
    let seen = screen(&world, &id);
    let text = seen["text"].as_str().unwrap();
    assert_eq!(
        text, "21\n22\n23\n24\n25\n26\n27\n28\n29\nlast",
        "cursor {}",
        seen["cursor"]
    );
    assert_eq!(
        seen["cursor"],
        json!({ "row": 9, "col": 4, "visible": true })
    );
}

#[test]
fn what_is_written_after_a_resize_is_laid_out_for_the_new_size() {
    let world = World::new();
    let args = ["run", "--pty=5x10", "--shell"];
    let script = "echo up; read -r x; stty size; printf 0123456789ab";
    let id = ok(&world, &[&args[..], &[script]].concat());
    until_output(&world, &id, "up\r\n");
    world.ok(&["resize", &id, "5x12"]);
    send_line(&world, &id, "");
    world.wait(&id);
    let seen = screen(&world, &id);
    assert_eq!(seen["text"], "up\n\n5 12\n0123456789ab");
    assert_eq!(seen["cols"], 12);
}
