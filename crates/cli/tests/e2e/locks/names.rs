//! The names of locks.

use super::holder;
use outlive_testkit::scripts::{WAITS, let_go, ok};
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn a_lock_may_have_any_name() {
    let world = World::new();
    let longest = "ä".repeat(40);
    let names = [
        "a/b",
        "..",
        ".starting-1",
        "-dash",
        "söme ☃ lock",
        "50%",
        &longest,
    ];
    let mut jobs = Vec::new();
    for name in names {
        let lock = format!("--lock={name}");
        let first = ok(&world, &["run", &lock, "--shell", WAITS]);
        let second = ok(&world, &["run", &lock, "--", "true"]);
        let expected = json!({ "lock": name, "holder": first });
        assert_eq!(world.show(&second)["waiting_for"], expected, "{name}");
        jobs.extend([first, second]);
    }
    let_go(&world);
    for id in jobs {
        assert_eq!(world.wait(&id)["exit_code"], 0);
    }
    let names = outlive_testkit::records::names_in(&world.home().join("locks"));
    assert_eq!(names.len(), 7, "{names:?}");
}

#[test]
fn an_invalid_lock_name_is_refused_and_nothing_is_started() {
    let world = World::new();
    let too_long = "x".repeat(81);
    for name in ["", "a\nb", &too_long] {
        let ran = world.outlive(&["run", &format!("--lock={name}"), "--", "true"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains("the lock"), "{ran:?}");
    }
    assert_eq!(world.listed(&[]), [""; 0]);
}

/// The same lock name in another home is another lock.
#[test]
fn a_lock_belongs_to_one_home() {
    let (one, other) = (World::new(), World::new());
    let first = holder(&one);
    let second = holder(&other);
    assert_eq!(one.show(&first)["state"], "running");
    assert_eq!(other.show(&second)["state"], "running");
}
