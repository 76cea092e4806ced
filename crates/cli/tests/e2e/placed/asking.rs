//! Verbs about jobs of several places.

use super::Far;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;

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

/// A path is one of this machine, or it is said that it is not.
#[test]
fn the_output_of_a_job_of_a_place_is_no_file_here() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "echo up; exec sleep 60");
    let there = far.there(".local/state/outlive/jobs/job/output");
    let in_words = format!("on far, in {}", there.display());
    let check = || {
        let job = world.show("job");
        assert_eq!(job["output"]["path"], serde_json::Value::Null, "{job}");
        assert_eq!(
            job["output"]["path_there"],
            there.to_str().unwrap(),
            "{job}"
        );
        let text = world.ok(&["show", "job"]);
        assert!(text.contains(&in_words), "{text}");
        assert!(!text.contains(world.home().to_str().unwrap()), "{text}");
        text
    };
    until("it has written", || {
        world.ok(&["log", "job", "--peek"]) == "up"
    });
    assert!(check().contains("3 B, on far"));
    far.cut();
    assert!(!check().contains("0 B"));
    let last = &world.show("job")["last"];
    assert_eq!(last["output_bytes"], serde_json::Value::Null, "{last}");
    far.mend();
    world.ok(&["stop", "job"]);
    assert!(check().contains("3 B, on far"));
    // One that was never there has no file anywhere.
    let mut none = world.command(["run", "--place", "far", "--id", "none", "--", "true"]);
    Ran::of(none.env("OUTLIVE_HOOKS", "launcher:Relinked=kill"));
    let none = world.show("none");
    assert_eq!(none["outcome"]["kind"], "not_started", "{none}");
    assert_eq!(none["output"]["path"], serde_json::Value::Null, "{none}");
    assert!(none["output"].get("path_there").is_none(), "{none}");
    // And what runs here is here.
    world.ok(&["run", "--id", "here", "--wait", "--", "true"]);
    let here = world.show("here");
    let path = here["output"]["path"].as_str().unwrap();
    assert!(std::path::Path::new(path).is_file(), "{here}");
    assert!(here["output"].get("path_there").is_none(), "{here}");
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
