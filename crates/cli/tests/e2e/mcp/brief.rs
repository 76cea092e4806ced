//! What the tools cost a model: every word of the list of tools and of an answer is in its context.

use super::client::{Client, text_of};
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// About as many tokens as o200k_base makes of such JSON, which is full of ids, keys and punctuation.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

#[test]
fn the_list_of_tools_is_short() {
    let world = World::new();
    for options in [&["--session", "s"][..], &["--session", "s", "--compat"]] {
        let mut client = Client::with(&world, options);
        let listed = client.request("tools/list", json!({}));
        let bytes = listed["result"].to_string().len();
        assert!(bytes <= 16_000, "{options:?}: {bytes} bytes");
    }
}

/// Ends of different kinds; returns how many jobs there are.
fn with_ended_jobs(client: &mut Client) -> usize {
    let jobs = [
        json!({"command": "echo built", "name": "build"}),
        json!({"command": "exit 3; cargo test --workspace --all-features --no-fail-fast -- --nocapture"}),
        json!({"command": "kill -9 $$", "wait_seconds": 20}),
        json!({"command": "sleep 600", "name": "web"}),
    ];
    for job in &jobs {
        let mut run = job.clone();
        run["notify"] = json!("never");
        let job = client.ok("run", run)["job"].clone();
        match job["name"] == "web" {
            true => client.ok("stop", json!({"ids": ["web"]})),
            false => client.ok("wait", json!({"ids": [job["id"]]})),
        };
    }
    jobs.len()
}

#[test]
fn a_list_of_jobs_takes_forty_tokens_a_job() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let number = with_ended_jobs(&mut client);
    let listed = client.tool("jobs", json!({}));
    let content = &listed["structuredContent"];
    assert_eq!(content["jobs"].as_array().unwrap().len(), number);
    for text in [content.to_string().as_str(), text_of(&listed)] {
        assert!(tokens(text) <= 40 * number, "{}: {text}", tokens(text));
    }
    // Nothing of it has its usual value.
    let of = |begin: &str| {
        let is_it = |job: &&Value| job["command"].as_str().unwrap().starts_with(begin);
        let mut jobs = content["jobs"].as_array().unwrap().iter();
        let mut job = jobs.find(is_it).unwrap().clone();
        for key in ["id", "duration_ms"] {
            assert!(job.as_object_mut().unwrap().remove(key).is_some(), "{key}");
        }
        job
    };
    assert_eq!(
        of("echo"),
        json!({"name": "build", "state": "ended", "exit_code": 0, "command": "echo built"})
    );
    // A signal and an exit code of the same number stay apart.
    assert_eq!(
        of("kill"),
        json!({"state": "ended", "exit_code": 137, "ended_by": "signal", "command": "kill -9 $$"})
    );
    let web = of("sleep");
    assert_eq!(
        (&web["exit_code"], &web["ended_by"]),
        (&json!(143), &json!("stop"))
    );
}

#[test]
fn a_told_end_takes_a_hundred_and_twenty_tokens() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for (run, said) in [
        (
            json!({"command": "cat; echo compiled; exit 3", "stdin": true, "name": "build"}),
            "exit code 3",
        ),
        (
            json!({"command": "cat; kill -9 $$", "stdin": true}),
            "SIGKILL",
        ),
    ] {
        let id = client.ok("run", run)["job"]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        world.ok(&["send", &id, "--eof"]);
        world.until_over(&id);
        let told = client.tool("jobs", json!({"state": "running"}));
        let [event] = &told["structuredContent"]["events"].as_array().unwrap()[..] else {
            panic!("one event: {told}");
        };
        let mut keys: Vec<&String> = event.as_object().unwrap().keys().collect();
        keys.sort();
        assert_eq!(keys, ["event", "kind", "text"]);
        assert!(event["text"].as_str().unwrap().contains(said), "{event}");
        let (_, text) = text_of(&told).split_once("While you were away:").unwrap();
        for form in [event.to_string().as_str(), text] {
            assert!(tokens(form) <= 120, "{}: {form}", tokens(form));
        }
        // Both forms say the same.
        assert!(text.contains(event["event"].as_str().unwrap()), "{text}");
        assert!(text.contains(event["text"].as_str().unwrap()), "{text}");
    }
}

/// Nulls, empty lists and the caller's own session, anywhere in a value.
fn assert_lean(value: &Value, at: &str) {
    match value {
        Value::Null => panic!("{at} is null"),
        Value::Object(fields) => {
            for (name, field) in fields {
                assert_ne!((name.as_str(), field), ("session", &json!("s")), "{at}");
                // A job that is not ready yet was started with a sign of readiness.
                assert!(
                    name == "ready" || *field != json!(false),
                    "{at}.{name} is false"
                );
                assert_lean(field, &format!("{at}.{name}"));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_lean(item, at)),
        _ => {}
    }
}

/// Codex and Claude Code show the structured content only, other clients the text only.
#[test]
fn every_answer_is_lean_and_both_forms_say_the_same() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let empty = client.tool("jobs", json!({}));
    assert_eq!(
        empty["structuredContent"]["note"],
        text_of(&empty),
        "{empty}"
    );
    let run = json!({"command": "echo begun; cat", "stdin": true, "name": "web", "ready": "line:never", "wait_seconds": 0.1});
    let calls = [
        ("run", run),
        ("show", json!({"id": "web"})),
        ("show", json!({"id": "web"})),
        ("jobs", json!({})),
        ("wait", json!({"ids": ["web"], "timeout_seconds": 0})),
        ("log", json!({"id": "web"})),
        ("log", json!({"id": "web", "grep": "nothing"})),
        ("send", json!({"id": "web", "text": "x"})),
        ("stop", json!({"ids": ["web"]})),
        ("stop", json!({"ids": ["web"]})),
        ("log", json!({"id": "web"})),
        ("inbox", json!({"ack": ["x:7.k3f9x2"], "hold": true})),
        ("wait", json!({})),
    ];
    for (tool, arguments) in calls {
        let result = client.tool(tool, arguments.clone());
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let content = &result["structuredContent"];
        assert_lean(content, tool);
        let text = text_of(&result);
        let job = content.get("job").or(content["jobs"].get(0));
        let notes = content["notes"].as_array().cloned().unwrap_or_default();
        let said = [
            "/note",
            "/done",
            "/end",
            "/job/cursor",
            "/jobs/0/note",
            "/jobs/0/cursor",
            "/job/cwd",
            "/next_cursor",
        ];
        let said = said.iter().filter_map(|at| content.pointer(at));
        let said = said
            .chain(&notes)
            .chain(job.iter().filter_map(|job| job.get("id")));
        for part in said {
            assert!(
                text.contains(part.as_str().unwrap()),
                "{tool} {arguments}: {part} in {text}"
            );
        }
        let is_silent = tool != "inbox" && content.as_object().unwrap().is_empty();
        assert!(!is_silent, "{tool} {arguments} says nothing: {result}");
    }
}

#[test]
fn a_job_by_itself_is_shown_with_its_details_and_its_whole_command() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let command = format!("sleep 600 # {}", "a long command. ".repeat(20).trim_end());
    let id = client.run(&command);
    let shown = client.tool("show", json!({"id": id}));
    let job = &shown["structuredContent"]["job"];
    assert_eq!(job["command"], command);
    for key in ["cwd", "started_at"] {
        let value = job[key].as_str().unwrap();
        assert!(text_of(&shown).contains(value), "{key}: {shown}");
    }
    assert!(
        text_of(&shown).contains(&format!("pid {}", job["pid"])),
        "{shown}"
    );
    assert!(text_of(&shown).contains(&command), "{shown}");
    let listed = client.ok("jobs", json!({}));
    let cut = listed["jobs"][0]["command"].as_str().unwrap();
    assert!(
        cut.starts_with("sleep 600 # a long") && cut.ends_with('…'),
        "{cut}"
    );
}

/// Without hooks nothing tells the conversation but replies to its calls.
#[test]
fn nobody_is_promised_news_that_cannot_come() {
    let world = World::new();
    let run = json!({"command": "sleep 600", "name": "web"});
    for options in [&["--session", "s"][..], &[]] {
        let mut client = Client::with(&world, options);
        let ran = client.tool("run", run.clone());
        let waited = client.tool("wait", json!({"timeout_seconds": 0}));
        for reply in [&ran, &waited] {
            for form in [text_of(reply), &reply["structuredContent"].to_string()] {
                assert!(!form.contains("you will be told"), "{form}");
                let next =
                    "`wait` waits for it, and the reply to a later call of these tools tells it";
                assert!(form.contains(next), "{form}");
            }
        }
        client.ok("stop", json!({"ids": ["web"]}));
    }
}
