//! Verbs about jobs of several places.

use super::Far;

#[test]
fn jobs_are_selected_by_their_place() {
    let far = Far::new();
    let world = &far.world;
    far.start("there", "exec sleep 60");
    world.ok(&["run", "--id", "here", "--", "sleep", "60"]);
    let listed = |place: &str| world.listed(&["--place", place, "--state", "running"]);
    assert_eq!(
        (listed("far"), listed("local")),
        (vec!["there".to_owned()], vec!["here".to_owned()])
    );
    assert_eq!(
        world
            .outlive(&["wait", "--place", "far", "--timeout", "10ms"])
            .code,
        124
    );
    world.ok(&["stop", "--place", "far"]);
    assert_eq!(world.show("here")["state"], "running");
    assert_eq!(world.show("there")["state"], "ended");
    world.ok(&["stop", "here"]);
}

#[test]
fn a_table_names_places_only_if_there_are_any() {
    let far = Far::new();
    let world = &far.world;
    world.ok(&["run", "--id", "here", "--wait", "--", "true"]);
    assert!(!world.ok(&["list"]).contains("PLACE"));
    world.ok(&[
        "run", "--place", "far", "--id", "there", "--wait", "--", "true",
    ]);
    let list = world.ok(&["list", "--fresh"]);
    assert!(
        list.contains("PLACE") && list.contains("far") && list.contains("local"),
        "{list}"
    );
    assert!(world.ok(&["show", "there"]).contains("place     far"));
}

#[test]
fn what_a_job_uses_is_asked_for_there() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "exec sleep 60");
    let used = world.show("job");
    assert_eq!(used["usage"]["processes"], 1, "{used}");
    let listed = world.json(&["list", "--usage", "--json"]);
    assert_eq!(listed["jobs"][0]["usage"]["processes"], 1, "{listed}");
    world.ok(&["stop", "job"]);
}
