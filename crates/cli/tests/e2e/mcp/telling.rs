//! Each end is told once, even if servers are killed.

use super::client::{Client, ends_in, job_of, text_of};
use outlive_testkit::processes::{CONT, is_stopped, kill, until_stopped};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// Starts a job that runs `rest` only after the reply has come, so that the reply has none of its events.
fn run_then(world: &World, client: &mut Client, rest: &str, more: Value) -> String {
    let gate = world.path("gate");
    let _ = std::fs::remove_file(&gate);
    let wait = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
    let mut run = more;
    run["command"] = json!(format!("{wait}; {rest}"));
    let answer = client.ok("run", run);
    std::fs::write(&gate, "").unwrap();
    answer["job"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_killed_servers_job_is_found_by_the_next_and_its_end_told_once() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let gate = world.path("gate");
    let script = format!(
        "until [ -e {} ]; do sleep 0.02; done; echo done",
        gate.display()
    );
    let id = client.run(&script);
    client.kill();
    std::fs::write(&gate, "").unwrap();
    // This does not act for the session, so nothing counts as told.
    world.until_over(&id);

    let mut client = Client::of(&world, "s");
    let result = client.tool("jobs", json!({}));
    let answer = &result["structuredContent"];
    assert_eq!(answer["jobs"][0]["id"], id.as_str());
    assert_eq!(answer["jobs"][0]["exit_code"], 0);
    assert_eq!(ends_in(answer), [id.as_str()]);
    assert!(text_of(&result).contains("While you were away"));
    for _ in 0..3 {
        assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    }
    assert_eq!(client.close(), 0);
    until("the end is recorded as told", || is_told(&world, &id));
    let mut client = Client::of(&world, "s");
    assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    assert_eq!(client.ok("inbox", json!({}))["events"], json!([]));
}

/// Whether the job's record says that the session was told.
fn is_told(world: &World, id: &str) -> bool {
    let told = std::fs::read_to_string(world.job_dir(id).join("told"));
    told.unwrap_or_default().contains("\"told\"")
}

#[test]
fn a_server_killed_at_any_step_of_telling_tells_again_unless_it_was_noted() {
    for (hook, answers, tells_again) in [
        ("Claimed", false, true),
        ("Delivered", true, true),
        ("Acked", true, false),
    ] {
        let world = World::new();
        std::fs::create_dir_all(world.home()).unwrap();
        let config = "[inbox]\nclaim = \"1s\"\n";
        std::fs::write(world.home().join("config.toml"), config).unwrap();
        let mut client = Client::of(&world, "s");
        let id = run_then(&world, &mut client, "true", json!({}));
        client.kill();
        world.until_over(&id);

        let mut command = world.command(["mcp", "--session", "s"]);
        command.env("OUTLIVE_HOOKS", format!("consumer:{hook}=kill"));
        let mut client = Client::to(command);
        client.initialize("2025-06-18");
        let request = client.ask_tool("jobs", json!({}));
        let answer = client.answer_or_end(request);
        assert_eq!(answer.is_some(), answers, "{hook}: {answer:?}");
        client.until_ended();

        let mut client = Client::of(&world, "s");
        let taken = client.ok("inbox", json!({"wait_seconds": 3}));
        let ends = ends_in(&taken);
        assert_eq!(!ends.is_empty(), tells_again, "{hook}: {taken}");
        if let (Some(answer), true) = (answer, tells_again) {
            let events = &answer["result"]["structuredContent"]["events"];
            assert_eq!(events[0]["event"], taken["events"][0]["event"]);
            assert_eq!(taken["events"][0]["attempt"], 2);
        }
        assert_eq!(client.close(), 0);
        assert!(is_told(&world, &id), "{hook}");
    }
}

#[test]
fn news_that_a_reply_contains_is_not_added_to_it() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for (command, tool) in [("true", "wait"), ("false", "stop")] {
        let id = client.run(command);
        // A stop that ends the job itself would have nothing else to tell.
        world.until_over(&id);
        let answer = client.ok(tool, json!({"ids": [id]}));
        assert_eq!(answer["jobs"][0]["state"], "ended");
        assert_eq!(ends_in(&answer), [""; 0], "{tool}");
        assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0], "{tool}");
        until("the end is recorded as told", || is_told(&world, &id));
    }
    let ran = client.ok("run", json!({"command": "exit 7", "wait_seconds": 10}));
    assert_eq!(ran["job"]["exit_code"], 7);
    assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    // `show` does not count as told. Even so, the next reply does not repeat the end at once.
    let id = run_then(&world, &mut client, "true", json!({}));
    world.until_over(&id);
    assert_eq!(ends_in(&client.ok("show", json!({"id": id}))), [""; 0]);
    assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    let taken = client.ok("inbox", json!({}));
    assert_eq!(ends_in(&taken), [id.as_str()]);
}

#[test]
fn the_inbox_is_taken_and_acked() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    run_then(&world, &mut client, "exit 5", json!({}));
    let held = client.ok("inbox", json!({"wait_seconds": 10, "hold": true}));
    let event = held["events"][0]["event"].as_str().unwrap();
    assert!(
        held["events"][0]["text"]
            .as_str()
            .unwrap()
            .contains("exit code 5")
    );
    // The event is claimed, so no other caller gets it, and it is not told yet.
    assert_eq!(client.ok("inbox", json!({}))["events"], json!([]));
    let peeked = world.ok(&["inbox", "--session", "s", "--peek", "--json"]);
    assert!(!peeked.contains("exited"), "{peeked}");
    client.ok("inbox", json!({"ack": [event]}));
    let inboxes = world.home().join("inbox").join("s");
    assert!(!inboxes.join(job_of(&held["events"][0]["event"])).exists());
    let refused = client.tool("inbox", json!({"ack": ["nonsense:x"]}));
    assert_eq!(refused["_meta"]["outlive/refused"], "bad_input");
}

#[test]
fn an_event_names_tools_as_the_next_step_and_no_commands() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let script = "echo MATCH; sleep 60 & exit 3";
    let id = run_then(&world, &mut client, script, json!({"watch": ["MATCH"]}));
    let mut texts = String::new();
    while !texts.contains("failed with exit code 3") {
        let taken = client.ok("inbox", json!({"wait_seconds": 10}));
        for event in taken["events"].as_array().unwrap() {
            texts.push_str(event["text"].as_str().unwrap());
        }
    }
    assert!(
        texts.contains(&format!("See around it: tool `log` with id {id}")),
        "{texts}"
    );
    assert!(texts.contains("the tool `stop` ends it"), "{texts}");
    assert!(!texts.contains("outlive "), "{texts}");
    client.ok("stop", json!({"ids": [id]}));
}

#[test]
fn a_refused_call_delivers_news_too() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let id = run_then(&world, &mut client, "exit 9", json!({}));
    world.until_over(&id);
    let refused = client.tool("show", json!({"id": "none"}));
    assert_eq!(refused["isError"], true);
    assert!(text_of(&refused).contains("failed with exit code 9"));
    assert_eq!(client.ok("jobs", json!({})).get("events"), None);
    until("the end is recorded as told", || is_told(&world, &id));
}

#[test]
fn watched_lines_are_told_with_whatever_is_asked_next() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let watch = json!({"watch": ["ERROR"]});
    let rest = "echo fine; echo ERROR 42; sleep 600";
    let id = run_then(&world, &mut client, rest, watch);
    let waited = client.ok("wait", json!({"ids": [id], "for": "match"}));
    assert_eq!(waited["still_running"], Value::Null);
    assert_eq!(waited["events"][0]["kind"], "matched");
    assert!(
        waited["events"][0]["text"]
            .as_str()
            .unwrap()
            .contains("ERROR 42")
    );
}

/// Waits for the answer of a server that a hook stops each time it looks for news.
fn answer_of_stopping(client: &mut Client, request: u64) -> Value {
    let server = client.child.id() as i32;
    let answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !answered.load(Ordering::Relaxed) {
                if is_stopped(server) {
                    kill(server, CONT);
                }
                std::thread::yield_now();
            }
        });
        let answer = client.answer(request);
        answered.store(true, Ordering::Relaxed);
        answer["result"]["structuredContent"].clone()
    })
}

#[test]
fn a_reply_that_says_a_job_runs_does_not_tell_that_it_ended() {
    for (tool, others) in [
        ("run", &[][..]),
        ("run", &["other"]),
        ("show", &["other"]),
        ("jobs", &["other"]),
    ] {
        let world = World::new();
        let gate = world.path("gate");
        let script = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
        for id in others {
            world.ok(&["run", "--session", "s", "--id", id, "--", "true"]);
            world.until_over(id);
        }
        if tool != "run" {
            world.ok(&["run", "--session", "s", "--id", "x", "--shell", &script]);
        }
        let mut command = world.command(["mcp", "--session", "s"]);
        command.env("OUTLIVE_HOOKS", "consumer:Looking=stop");
        let mut client = Client::to(command);
        client.initialize("2025-06-18");
        let request = client.ask_tool(
            tool,
            match tool {
                "run" => json!({"command": script}),
                "show" => json!({"id": "x"}),
                _ => json!({"state": "running"}),
            },
        );
        // The answer is prepared. The server has not looked for newer events yet.
        until_stopped(client.child.id() as i32);
        let [id] = &world.listed(&["--state", "running"])[..] else {
            panic!("one job runs");
        };
        std::fs::write(&gate, "").unwrap();
        world.until_over(id);
        let answer = answer_of_stopping(&mut client, request);
        let job = answer.get("job").unwrap_or(&answer["jobs"][0]);
        assert_eq!((&job["id"], &job["state"]), (&json!(id), &json!("running")));
        assert_eq!(ends_in(&answer), others, "{tool}: {answer}");
        client.kill();

        let mut client = Client::of(&world, "s");
        let answer = client.ok("jobs", json!({}));
        assert_eq!(ends_in(&answer), [id.as_str()], "{tool}: {answer}");
    }
}

/// The end of lingering processes is told, unless the answer to a stop tells it.
#[test]
fn the_end_of_what_a_job_left_behind_is_told_once() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for stops in [false, true] {
        let id = client.run("sleep 60 & exit 3");
        client.ok("wait", json!({"ids": [id]}));
        match stops {
            true => {
                let stopped = client.ok("stop", json!({"ids": [id]}));
                assert_eq!(stopped["events"], Value::Null, "{stopped}");
            }
            false => {
                assert_eq!(world.outlive(&["stop", &id]).code, 0);
                world.until_over(&id);
                let shown = client.ok("jobs", json!({}));
                assert_eq!(shown["events"][0]["kind"], "lingering_ended", "{shown}");
            }
        }
        world.until_over(&id);
        assert_eq!(world.events(&id, "lingering_ended").len(), 1);
        let rest = client.ok("inbox", json!({}));
        assert_eq!(rest["events"], json!([]), "{rest}");
    }
}
