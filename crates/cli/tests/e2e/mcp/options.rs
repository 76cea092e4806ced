//! What `run` and `send` can do over MCP, as on the command line.

use super::client::{Client, text_of};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

fn spec(world: &World, id: &str) -> Value {
    let spec = std::fs::read_to_string(world.job_dir(id).join("spec.json")).unwrap();
    serde_json::from_str(&spec).unwrap()
}

#[test]
fn a_job_gets_every_setting_that_the_command_line_has() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let ran = client.ok(
        "run",
        json!({
            "command": "echo $NO_COLOR $PAGER; sleep 600", "id": "chosen", "plain": true, "grace": 0.5,
            "max_output": "1G", "leftovers": "stop", "watch": ["ERROR"], "watch_not": ["benign"], "watch_limit": 2,
            "quiet_after": 90, "nice": 4,
        }),
    );
    assert_eq!(ran["job"]["id"], "chosen");
    let spec = spec(&world, "chosen");
    for (key, value) in [
        ("grace_ms", json!(500)),
        ("max_output", json!(1 << 30)),
        ("leftovers", json!("stop")),
        ("quiet_after_ms", json!(90_000)),
        ("limits", json!({"nice": 4})),
    ] {
        assert_eq!(spec[key], value, "{key}: {spec}");
    }
    let patterns = json!([{"text": "ERROR"}, {"not_text": "benign"}]);
    assert_eq!(
        (&spec["watch"]["patterns"], &spec["watch"]["limit"]),
        (&patterns, &json!(2))
    );
    until("it has written", || {
        client.ok("log", json!({"id": "chosen"}))["text"] == "1 cat\n"
    });
    let taken = client.tool("run", json!({"command": "true", "id": "chosen"}));
    assert_eq!(taken["_meta"]["outlive/refused"], "id_taken", "{taken}");
}

#[test]
fn a_job_waits_for_others_and_for_its_turn_in_a_queue() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let first = client.ok(
        "run",
        json!({"command": "sleep 600", "name": "first", "queue": "q:1"}),
    );
    let first = first["job"]["id"].as_str().unwrap().to_owned();
    client.ok(
        "run",
        json!({"command": "true", "id": "second", "queue": "q"}),
    );
    let third = json!({"command": "true", "id": "third", "after": ["first:success", "second"]});
    client.ok("run", third);
    let waits = |id: &str| world.show(id)["waiting_for"].clone();
    assert_eq!(
        waits("second"),
        json!({"queue": "q", "position": 1, "width": 1})
    );
    assert_eq!(waits("third"), json!({"after": [first, "second"]}));
    let shown = client.ok("show", json!({"id": "second"}));
    assert_eq!(shown["job"]["waiting_for"]["position"], 1, "{shown}");
    client.ok("stop", json!({"id": "first"}));
    let why = client.ok("wait", json!({"ids": ["third"], "timeout_seconds": 20}));
    assert!(
        why.to_string().contains("which was ended by SIGTERM"),
        "{why}"
    );
    // Another session's job does not exist for this one.
    let strange = world.ok(&["run", "--session", "t", "--", "true"]);
    for after in [strange.as_str(), "nobody"] {
        let refused = client.tool("run", json!({"command": "true", "after": [after]}));
        assert_eq!(refused["isError"], true, "{refused}");
    }
    let refused = client.tool("run", json!({"command": "true", "queue": "q:0"}));
    assert!(
        refused.to_string().contains("write NAME or NAME:N"),
        "{refused}"
    );
}

#[test]
fn a_silence_and_the_lines_that_are_not_excluded_are_told() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "echo ERROR benign; echo ERROR bad; sleep 600", "watch_not": "benign", "watch": "ERROR",
        "quiet_after": 0.2});
    let id = client.ok("run", run)["job"]["id"].clone();
    let mut told = String::new();
    while !(told.contains("has written nothing") && told.contains("ERROR bad")) {
        let taken = client.ok("inbox", json!({"wait_seconds": 20}));
        assert_ne!(taken["events"], json!([]), "{told}");
        for event in taken["events"].as_array().unwrap() {
            let text = event["text"].as_str().unwrap();
            let (_, said) = text.split_once("printed").unwrap_or(("", ""));
            assert!(
                event["kind"] != "matched" || said.contains("| ERROR bad"),
                "{text}"
            );
            told.push_str(text);
        }
    }
    client.ok("stop", json!({"ids": id}));
}

#[test]
fn a_restarted_job_shows_its_attempts_and_the_output_of_each() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "echo try $$; exit 4", "id": "job", "restart": "on-failure:1", "wait_seconds": 20});
    assert_eq!(client.ok("run", run)["job"]["exit_code"], 4);
    let shown = client.tool("show", json!({"id": "job"}));
    let job = &shown["structuredContent"]["job"];
    assert_eq!(
        (&job["attempt"], &job["attempts"][0]["exit_code"]),
        (&json!(2), &json!(4)),
        "{job}"
    );
    let text = super::client::text_of(&shown);
    assert!(text.contains("Attempt 2 (restart on-failure:1)"), "{text}");
    assert!(text.contains("Attempt 1: exited 4"), "{text}");
    let mut log =
        |attempt: u32| client.ok("log", json!({"id": "job", "attempt": attempt}))["text"].clone();
    let (first, second) = (log(1), log(2));
    assert_eq!(first.as_str().unwrap().lines().count(), 1, "{first}");
    assert_ne!(first, second);
    let refused = client.tool("run", json!({"command": "true", "restart": "sometimes"}));
    assert_eq!(refused["isError"], true, "{refused}");
}

#[test]
fn what_a_command_leaves_behind_is_stopped_if_asked() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "sleep 600 & exit 3", "leftovers": "stop", "wait_seconds": 20});
    let job = client.ok("run", run)["job"].clone();
    assert_eq!(job["exit_code"], 3, "{job}");
    world.until_over(job["id"].as_str().unwrap());
}

#[test]
fn a_signal_reaches_a_job_and_its_terminal_is_resized() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let script = "trap 'echo got it' USR1; echo ready; while :; do sleep 0.05; done";
    let run = json!({"command": script, "name": "web", "ready": "line:ready", "wait_seconds": 20});
    client.ok("run", run);
    let sent = client.tool("send", json!({"id": "web", "signal": "USR1"}));
    assert!(text_of(&sent).starts_with("SIGUSR1 was sent to "), "{sent}");
    assert_eq!(sent["structuredContent"]["done"], text_of(&sent));
    until("the signal came", || {
        let text = client.ok("log", json!({"id": "web"}))["text"].clone();
        text.as_str().unwrap().contains("got it")
    });
    let refused = client.tool("send", json!({"id": "web", "resize": "40x120"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text_of(&refused).contains("pty: true"), "{refused}");
    client.ok("stop", json!({"ids": ["web"]}));
    let late = client.tool("send", json!({"id": "web", "signal": "HUP"}));
    assert!(text_of(&late).contains("it has ended"), "{late}");

    let run = json!({"command": "read line; stty size; exit 5", "pty": true, "name": "screen"});
    client.ok("run", run);
    let sent = client.ok(
        "send",
        json!({"id": "screen", "resize": "40x120", "enter": true}),
    );
    let done = sent["done"].as_str().unwrap();
    assert!(done.contains("has 40 rows and 120 columns"), "{done}");
    assert_eq!(
        client.ok("wait", json!({"ids": ["screen"]}))["jobs"][0]["exit_code"],
        5
    );
    let text = client.ok("log", json!({"id": "screen"}))["text"].clone();
    assert!(text.as_str().unwrap().contains("40 120"), "{text}");
}

/// The words of the command line in a text: an option, or one of its verbs.
fn command_line_words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut last = "";
    for word in text.split(|c: char| c.is_whitespace() || "`\"'(),;".contains(c)) {
        let is_option = word
            .strip_prefix("--")
            .is_some_and(|rest| rest.starts_with(char::is_alphabetic));
        let verbs = [
            "run", "log", "list", "show", "wait", "stop", "send", "inbox", "signal", "setup",
            "doctor",
        ];
        if is_option || (last == "outlive" && verbs.contains(&word)) {
            found.push(word);
        }
        last = word;
    }
    found
}

#[test]
fn nothing_that_a_model_reads_names_the_command_line() {
    assert_eq!(
        command_line_words("use `outlive list` or --all, not --- x"),
        ["list", "--all"]
    );
    let world = World::new();
    let mut client = Client::silent(&world, &["--compat", "--patience", "1s"]);
    let mut read = vec![
        client.initialize("2025-06-18"),
        client.request("tools/list", json!({})),
    ];
    let run = |more: Value| {
        let mut run = json!({"command": "true"});
        for (key, value) in more.as_object().unwrap() {
            run[key] = value.clone();
        }
        ("run", run)
    };
    let calls = [
        ("jobs", json!({})),
        ("wait", json!({})),
        run(
            json!({"command": "cat; sleep 600 & exit 3", "stdin": true, "name": "web", "watch": ["x"]}),
        ),
        run(json!({"name": "web"})),
        run(json!({"name": "a/b\u{1}"})),
        run(json!({"id": "../x"})),
        run(json!({"cwd": "/nowhere"})),
        run(json!({"command": "sleep 0.1 &"})),
        run(json!({"command": ["no such program"]})),
        run(json!({"command": " "})),
        run(json!({"ready": "moon"})),
        run(json!({"ready": "port:99999999"})),
        run(json!({"watch_regex": "("})),
        run(json!({"watch_limit": 0})),
        run(json!({"quiet_after": 0})),
        run(json!({"max_output": "1"})),
        run(json!({"max_output": "x"})),
        run(json!({"env": {"A=B": "c"}})),
        run(json!({"timeout": 5, "shell": "zsh", "description": "x", "session_id": "x"})),
        run(
            json!({"command": "sleep 600", "name": "db", "lock": "l", "timeout_seconds": 600, "ready": "line:x"}),
        ),
        run(
            json!({"command": "sleep 600", "name": "db2", "lock": "l", "wait_seconds": 0.1, "notify": "never"}),
        ),
        run(json!({"adopt_pid": 1})),
        run(json!({"adopt_pid": 999999999, "cwd": "/"})),
        run(json!({"adopt_pid": 999999999})),
        ("show", json!({"id": "web"})),
        ("show", json!({"id": "web"})),
        ("show", json!({"id": ""})),
        ("show", json!({"id": "nothing"})),
        ("log", json!({"id": "web", "screen": true})),
        ("log", json!({"id": "web", "grep": "("})),
        ("log", json!({"id": "web", "cursor": "x"})),
        ("log", json!({"id": "web", "cursor": "b0", "offset": 1})),
        ("log", json!({"id": "web"})),
        ("wait", json!({"ids": ["web"], "for": "ready"})),
        ("wait", json!({"ids": ["db"], "for": "quiet"})),
        ("wait", json!({"ids": ["db"]})),
        ("send", json!({"id": "web"})),
        ("send", json!({"id": "db", "text": "x"})),
        ("send", json!({"id": "web", "keys": ["Up"]})),
        ("send", json!({"id": "web", "keys": ["Nokey"]})),
        ("send", json!({"id": "web", "resize": "4x4"})),
        ("send", json!({"id": "web", "signal": "x"})),
        ("send", json!({"id": "web", "eof": true})),
        ("inbox", json!({"wait_seconds": 1, "hold": true})),
        ("inbox", json!({"ack": ["nonsense"]})),
        ("process", json!({"action": "kill"})),
        ("process", json!({"action": "list", "colour": 1})),
        ("stop", json!({"ids": []})),
        ("stop", json!({"ids": ["web", "db", "db2"]})),
        ("stop", json!({"ids": ["web"]})),
        ("log", json!({"id": "web"})),
        ("send", json!({"id": "web", "text": "x"})),
        ("jobs", json!({})),
        ("inbox", json!({})),
    ];
    for (tool, arguments) in calls {
        read.push(client.tool(tool, arguments));
    }
    for result in read {
        let text = result.to_string().replace("\\n", "\n");
        assert_eq!(command_line_words(&text), [""; 0], "{text}");
    }
}
