//! Agents and places: which ones they may use, and what they read of a job whose place is not reached.

use super::client::{Client, text_of};
use crate::placed::Far;
use serde_json::{Value, json};
use std::fs;

/// A world with the places `far` and `other`, and these lines in the configuration.
fn with(lines: &str) -> Far {
    let far = Far::new();
    let config = far.world.path("config/outlive/config.toml");
    let place = fs::read_to_string(config).unwrap();
    let other = place.replace("[place.far]", "[place.other]");
    far.configure(&format!("{place}\n{other}\n{lines}\n"));
    far
}

fn run(client: &mut Client, place: &str) -> Value {
    client.tool("run", json!({"command": "exec sleep 60", "place": place}))
}

#[track_caller]
fn assert_allowed(result: &Value, place: &str) {
    assert_ne!(result["isError"], true, "{result}");
    assert_eq!(
        result["structuredContent"]["job"]["place"], place,
        "{result}"
    );
}

#[track_caller]
fn assert_refused(result: &Value, words: &str) {
    assert_eq!(result["isError"], true, "{result}");
    assert!(text_of(result).contains(words), "{result}");
}

#[test]
fn agents_may_use_the_places_that_have_a_name() {
    let far = with("");
    let mut client = Client::of(&far.world, "s");
    assert_allowed(&run(&mut client, "far"), "far");
    assert_allowed(&run(&mut client, "other"), "other");
    // An address could be any command.
    for address in ["cmd:sh", "ssh:localhost"] {
        assert_refused(&run(&mut client, address), "those you may use: far, other");
    }
    assert_refused(&run(&mut client, "none"), "those you may use: far, other");
    for place in ["", "local"] {
        let result = run(&mut client, place);
        assert_ne!(result["isError"], true, "{result}");
        assert!(
            !result.to_string().contains("\"place\":\"far\""),
            "{result}"
        );
    }
    let listed = far.world.listed(&["--state", "all"]);
    assert_eq!(listed.len(), 4, "what was refused made no job: {listed:?}");
    far.world.ok(&[
        &["stop"][..],
        &listed.iter().map(String::as_str).collect::<Vec<_>>(),
    ]
    .concat());
}

#[test]
fn agents_may_use_the_places_that_are_listed_and_no_others() {
    let address = "cmd:sh -c true";
    let far = with(&format!("[mcp]\nplaces = [\"other\", {address:?}]"));
    let mut client = Client::of(&far.world, "s");
    assert_allowed(&run(&mut client, "other"), "other");
    assert_refused(&run(&mut client, "far"), "those you may use: other");
    // It may be used, and leads nowhere.
    assert_refused(&run(&mut client, address), "was not reached");
    let listed = far.world.listed(&["--state", "all"]);
    assert_eq!(listed.len(), 1, "{listed:?}");
    far.world.ok(&["stop", &listed[0]]);
}

#[test]
fn agents_may_use_no_place_if_the_list_is_empty() {
    let far = with("[mcp]\nplaces = []");
    let mut client = Client::of(&far.world, "s");
    assert_refused(&run(&mut client, "far"), "there is none that you may use");
    assert_eq!(far.world.listed(&["--state", "all"]), [""; 0]);
}

/// What is known is the answer, in both forms of it.
#[test]
fn an_unreachable_job_is_shown_and_waited_for() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "echo up; exec sleep 60");
    let mut client = Client::of(world, "s");
    far.cut();
    for (tool, arguments) in [
        ("show", json!({"id": "job"})),
        ("wait", json!({"ids": ["job"], "timeout_seconds": 1})),
        ("wait", json!({"timeout_seconds": 1})),
        ("jobs", json!({})),
    ] {
        let result = client.tool(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let answer = &result["structuredContent"];
        let job = match tool {
            "show" => &answer["job"],
            _ => &answer["jobs"][0],
        };
        assert_eq!(job["state"], "unreachable", "{tool}: {result}");
        assert_eq!(job["last"]["state"], "running", "{tool}: {result}");
        assert!(job["unreachable"]["since"].is_string(), "{tool}: {result}");
        let reason = job["unreachable"]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("the link is down"), "{tool}: {result}");
        let text = text_of(&result);
        for word in ["unreachable", "the link is down", "running", "since"] {
            assert!(text.contains(word), "{tool}: {word} is not in {text}");
        }
        // A cursor would stand for an output whose size is not known.
        assert!(!text.contains("next cursor"), "{tool}: {text}");
    }
    for (tool, arguments) in [
        ("stop", json!({"ids": ["job"]})),
        ("log", json!({"id": "job"})),
        ("send", json!({"id": "job", "text": "x"})),
    ] {
        let result = client.tool(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(
            text_of(&result).contains("far was not reached"),
            "{tool}: {result}"
        );
    }
    far.mend();
    let answer = client.ok("show", json!({"id": "job"}));
    assert_eq!(answer["job"]["state"], "running", "{answer}");
    assert_eq!(answer["job"]["preview"].as_str().unwrap().trim(), "up");
    world.ok(&["stop", "job"]);
}
