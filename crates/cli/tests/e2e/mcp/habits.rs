//! Models bring names of arguments from other tools, and write numbers as text. None of that costs a turn.

use super::client::{Client, text_of};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// The structured content of a call that must succeed, and its notes as one text.
fn with_notes(client: &mut Client, tool: &str, arguments: Value) -> (Value, String) {
    let result = client.tool(tool, arguments);
    assert_ne!(result["isError"], true, "{tool}: {result}");
    let notes = result["structuredContent"]["notes"].as_array().cloned();
    let notes: Vec<String> = notes
        .unwrap_or_default()
        .iter()
        .map(|note| note.as_str().unwrap().to_owned())
        .collect();
    // Some clients show only the text.
    for note in &notes {
        assert!(text_of(&result).contains(note), "{result}");
    }
    (result["structuredContent"].clone(), notes.join("\n"))
}

#[test]
fn what_means_nothing_here_is_ignored_with_a_note() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for (word, value) in [
        ("description", json!("List files")),
        ("background", json!(true)),
        ("run_in_background", json!(true)),
        ("is_background", json!("true")),
        ("shell", json!("zsh")),
        ("max_output_tokens", json!(10_000)),
        ("session_id", json!(7)),
    ] {
        let run = json!({"command": "exit 3", "wait_seconds": 20, word: value});
        let (answer, notes) = with_notes(&mut client, "run", run);
        assert_eq!(answer["job"]["exit_code"], 3, "{word}");
        assert!(
            notes.contains(&format!("`{word}` was ignored: ")),
            "{notes}"
        );
    }
    // What a model may leave out, some models pass as null.
    let run = json!({"command": "true", "wait_seconds": 20, "name": null, "watch": null, "replace": null});
    assert_eq!(with_notes(&mut client, "run", run).1, "");
}

/// 120000 is two minutes elsewhere, and after them the command is killed.
#[test]
fn a_timeout_is_explained_and_never_kills() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for timeout in [json!(0.01), json!(1), json!("1s"), json!(120_000)] {
        let gate = world.path("gate");
        let _ = std::fs::remove_file(&gate);
        let command = format!(
            "until [ -e {} ]; do sleep 0.02; done; exit 4",
            gate.display()
        );
        let run = json!({"command": command, "timeout": timeout});
        let (answer, notes) = with_notes(&mut client, "run", run);
        assert!(notes.contains("`timeout` was ignored"), "{notes}");
        assert!(notes.contains("`timeout_seconds` stops the job"), "{notes}");
        let id = answer["job"]["id"].as_str().unwrap();
        let spec = std::fs::read_to_string(world.job_dir(id).join("spec.json")).unwrap();
        let spec: Value = serde_json::from_str(&spec).unwrap();
        assert_eq!(
            spec.get("timeout_ms").unwrap_or(&Value::Null),
            &Value::Null,
            "{spec}"
        );
        std::fs::write(&gate, "").unwrap();
        let waited = client.ok("wait", json!({"ids": [id]}));
        assert_eq!(waited["jobs"][0]["exit_code"], 4, "{waited}");
    }
}

#[test]
fn the_words_of_other_tools_start_the_same_job() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let directory = world.path("dir");
    std::fs::create_dir(&directory).unwrap();
    let directory = std::fs::canonicalize(directory).unwrap();
    for run in [
        json!({"cmd": "pwd; echo $N $T", "workdir": directory, "env": {"N": 5, "T": true}}),
        json!({"script": "pwd; echo $N $T", "directory": directory, "env": {"N": "5", "T": "true"}}),
        json!({"command": ["pwd; echo $N $T"], "dir_path": directory, "env": {"N": 5, "T": "true"}}),
        json!({"command": ["bash", "-c", "pwd; echo $N $T"], "cwd": directory, "env": {"N": 5, "T": true}}),
    ] {
        let mut run = run;
        run["wait_seconds"] = json!("20");
        let (answer, notes) = with_notes(&mut client, "run", run.clone());
        assert_eq!(
            (answer["job"]["exit_code"].clone(), notes.as_str()),
            (json!(0), ""),
            "{run}"
        );
        let log = client.ok("log", json!({"id": answer["job"]["id"]}));
        assert_eq!(
            log["text"],
            format!("{}\n5 true\n", directory.display()),
            "{run}"
        );
    }
    let run = json!({"command": "tty", "tty": "true", "wait_seconds": 20.0});
    let ran = client.ok("run", run);
    assert_eq!(ran["job"]["exit_code"], 0, "{ran}");
    // The times of this tool are seconds, and may be written as a duration.
    let run = json!({"command": "sleep 600", "timeout_seconds": "2h", "quiet_after_seconds": "90", "grace_seconds": 1.5});
    let id = client.ok("run", run)["job"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let spec = std::fs::read_to_string(world.job_dir(&id).join("spec.json")).unwrap();
    let spec: Value = serde_json::from_str(&spec).unwrap();
    assert_eq!(spec["timeout_ms"], 7_200_000, "{spec}");
    assert_eq!(spec["quiet_after_ms"], 90_000, "{spec}");
    assert_eq!(spec["grace_ms"], 1500, "{spec}");
}

#[test]
fn a_job_is_found_under_any_word_for_its_id() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "seq 1 9; cat; exit 6", "stdin": true, "name": "web"});
    let id = client.ok("run", run)["job"]["id"].clone();
    client.ok("wait", json!({"ids": "web", "timeout_seconds": 0}));
    for word in ["id", "job_id", "bash_id", "session_id", "name", "ids"] {
        for value in [id.clone(), json!("web"), json!([id])] {
            let shown = client.ok("show", json!({word: value}));
            assert_eq!(shown["job"]["id"], id, "{word}");
            let waited = client.ok("wait", json!({word: value, "timeout_seconds": "0"}));
            assert_eq!(waited["jobs"][0]["id"], id, "{word}");
        }
    }
    until("it has written", || {
        client.ok("log", json!({"job_id": id}))["total_lines"] == 9
    });
    for last in [
        json!({"tail": 2}),
        json!({"limit": "2"}),
        json!({"lines": 2.0}),
    ] {
        let mut log = last.clone();
        log["id"] = id.clone();
        assert_eq!(client.ok("log", log)["text"], "8\n9\n", "{last}");
    }
    for word in ["pattern", "filter", "grep"] {
        let found = client.ok("log", json!({"id": id, word: "^[34]$"}));
        assert_eq!(found["text"], "3: 3\n4: 4", "{word}");
    }
    for word in ["input", "chars", "text"] {
        client.ok("send", json!({"bash_id": id, word: "typed\n"}));
    }
    client.ok("send", json!({"session_id": id, "eof": "true"}));
    let waited = client.ok("wait", json!({"job_id": id}));
    assert_eq!(waited["jobs"][0]["exit_code"], 6, "{waited}");
    let log = client.ok("log", json!({"id": id, "tail": 3}));
    assert_eq!(log["text"], "typed\ntyped\ntyped\n");
    for state in [
        json!({"status": "ended"}),
        json!({"state": ["ended"], "limit": "1"}),
    ] {
        assert_eq!(
            client.ok("jobs", state.clone())["jobs"][0]["id"],
            id,
            "{state}"
        );
    }
    assert_eq!(
        client.ok("jobs", json!({"status": "running"}))["jobs"],
        json!([])
    );
    for word in ["id", "ids", "job_id", "bash_id", "session_id", "name"] {
        assert_eq!(
            client.ok("stop", json!({word: "web"}))["jobs"][0]["id"],
            id,
            "{word}"
        );
    }
}

#[test]
fn a_list_or_an_object_may_be_written_as_json_in_a_text() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({
        "command": "echo $N", "env": "{\"N\": 5}", "watch": "[\"a\", \"b\"]", "watch_not": "[a]", "id": "one",
        "wait_seconds": 20,
    });
    client.ok("run", run);
    assert_eq!(client.ok("log", json!({"id": "one"}))["text"], "5\n");
    let spec = std::fs::read_to_string(world.job_dir("one").join("spec.json")).unwrap();
    let spec: Value = serde_json::from_str(&spec).unwrap();
    let patterns = json!([{"text": "a"}, {"text": "b"}, {"not_text": "[a]"}]);
    assert_eq!(spec["watch"]["patterns"], patterns);
    client.ok(
        "run",
        json!({"command": "true", "id": "two", "wait_seconds": 20}),
    );
    let stopped = client.ok("stop", json!({"ids": "[\"one\", \"two\"]"}));
    assert_eq!(stopped["jobs"].as_array().unwrap().len(), 2, "{stopped}");
}

/// A word of a tool's own always means what the tool says.
#[test]
fn a_tools_own_words_keep_their_meaning() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "exit 0", "id": "mine", "name": "web", "wait_seconds": 20});
    let job = client.ok("run", run)["job"].clone();
    assert_eq!((&job["id"], &job["name"]), (&json!("mine"), &json!("web")));
    // An id of the caller's choice is never another job.
    let again = client.tool("run", json!({"command": "exit 0", "id": "mine"}));
    assert_eq!(again["_meta"]["outlive/refused"], "id_taken", "{again}");
    client.ok("run", json!({"command": "true", "wait_seconds": 20}));
    let listed = client.ok("jobs", json!({"limit": 1, "state": "ended"}));
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1, "{listed}");
    let mut compat = Client::with(&world, &["--session", "s", "--compat"]);
    let log = compat.ok("process", json!({"action": "poll", "session_id": "mine"}));
    assert_eq!(log["job"]["id"], "mine");
}

#[test]
fn what_cannot_be_meant_is_refused_in_the_models_words() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    client.ok(
        "run",
        json!({"command": "true", "id": "one", "wait_seconds": 20}),
    );
    client.ok(
        "run",
        json!({"command": "true", "id": "two", "wait_seconds": 20}),
    );
    for (tool, arguments, said) in [
        ("run", json!({}), "`run` needs `command`: The command"),
        ("show", json!({}), "`show` needs `id`: The job"),
        ("stop", json!({}), "`stop` needs `ids`"),
        (
            "run",
            json!({"command": "x", "colour": 1}),
            "`run` has no argument `colour`; it takes as, command, ",
        ),
        (
            "run",
            json!({"command": "x", "job_id": "y"}),
            "`run` has no argument `job_id`",
        ),
        (
            "jobs",
            json!({"grep": "x"}),
            "`jobs` has no argument `grep`; it takes label, limit, state",
        ),
        (
            "log",
            json!({"id": "one", "tail": "many"}),
            "`tail` of `log` must be a whole number, 0 or more, not \"many\"",
        ),
        (
            "log",
            json!({"id": "one", "lines": -1}),
            "`lines` of `log` must be a whole number, 0 or more, not -1",
        ),
        (
            "log",
            json!({"id": "one", "lines": 1.5}),
            "must be a whole number",
        ),
        (
            "log",
            json!({"ids": ["one", "two"]}),
            "`ids` of `log` takes one value, not a list of 2",
        ),
        (
            "log",
            json!({"id": "one", "job_id": "two"}),
            "`id` and `job_id` mean the same here and differ; pass only `id`",
        ),
        (
            "log",
            json!({"id": {"a": 1}}),
            "`id` of `log` must be a text, not {\"a\":1}",
        ),
        (
            "run",
            json!({"command": "x", "pty": "perhaps"}),
            "`pty` of `run` must be true or false, not \"perhaps\"",
        ),
        (
            "run",
            json!({"command": "x", "wait_seconds": "soon"}),
            "must be a number of seconds, not \"soon\"",
        ),
        (
            "run",
            json!({"command": "x", "env": "A=1"}),
            "`env` of `run` must be an object of names and values",
        ),
        (
            "run",
            json!({"command": "x", "env": {"A": [1]}}),
            "`env` of `run` must be an object",
        ),
        (
            "run",
            json!({"command": "x", "max_output": "much"}),
            "\"much\" is not a size",
        ),
        (
            "run",
            json!({"cmd": ["a", {"b": 1}]}),
            "`cmd` must be a text, or a list of texts",
        ),
        (
            "jobs",
            json!({"status": "done"}),
            "`status` of `jobs` must be one of running, ended, all, not \"done\"",
        ),
        (
            "wait",
            json!({"for": "ever"}),
            "`for` of `wait` must be one of end, input, ready, match, quiet",
        ),
        ("send", json!({"id": "one", "signal": "LOUD"}), "LOUD"),
        ("send", json!({"id": "one", "resize": "big"}), "big"),
        (
            "send",
            json!({"id": "one", "signal": "HUP", "text": "x"}),
            "either a signal or input",
        ),
    ] {
        let result = client.tool(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}: {result}");
        assert_eq!(
            result["_meta"]["outlive/refused"], "bad_input",
            "{arguments}"
        );
        assert!(text_of(&result).contains(said), "{arguments}: {result}");
        assert_eq!(result.get("structuredContent"), None);
    }
    assert_eq!(
        world.listed(&["--state", "all"]).len(),
        2,
        "nothing else was started"
    );
}

#[test]
fn a_refused_argument_does_not_hold_back_news() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let gate = world.path("gate");
    let id = client.run(&format!(
        "until [ -e {} ]; do sleep 0.02; done; exit 9",
        gate.display()
    ));
    std::fs::write(&gate, "").unwrap();
    world.until_over(&id);
    let refused = client.tool("jobs", json!({"colour": "red"}));
    assert_eq!(refused["isError"], true);
    assert!(text_of(&refused).contains("exit code 9"), "{refused}");
}
