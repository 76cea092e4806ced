//! Finding one job.

use super::ended;
use crate::scripts::sleeper;
use crate::world::World;

#[test]
fn an_id_its_unique_beginning_and_a_name_find_a_job() {
    let world = World::new();
    let one = ended(&world, &["--id", "apple-pie", "--name", "dessert"]);
    let two = ended(&world, &["--id", "apple-tart"]);
    let exact = ended(&world, &["--id", "app"]);
    let found = |text: &str| world.show(text)["id"].as_str().unwrap().to_owned();
    assert_eq!(found("apple-pie"), one);
    assert_eq!(found("apple-p"), one);
    assert_eq!(found("dessert"), one);
    assert_eq!(found("apple-t"), two);
    assert_eq!(found("app"), exact, "a whole id is no beginning of others");
    for (text, words) in [
        ("apple", "apple-pie, apple-tart"),
        ("pear", "pear"),
        ("../jobs/app", "no job"),
    ] {
        let ran = world.outlive(&["show", text]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn a_name_means_the_newest_job_that_has_it() {
    let world = World::new();
    let old = ended(&world, &["--name", "dev"]);
    let new = sleeper(&world, &["--name", "dev"]);
    assert_eq!(world.show("dev")["id"], new.as_str());
    assert_eq!(world.show(&old)["name"], "dev");
}
