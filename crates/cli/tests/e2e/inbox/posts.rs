//! `post`: an event from outside is delivered through the inbox, whole and once.

use super::{
    ME, ack, assert_nothing_waits, ended, event_ids, inbox, inbox_of, only_event, post,
    try_to_post, waiting,
};
use outlive_testkit::checks::every;
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// The names in the directory of posts.
fn posts(world: &World) -> Vec<String> {
    let posts = world.home().join("posts");
    match posts.exists() {
        true => names_in(&posts),
        false => Vec::new(),
    }
}

#[test]
fn a_post_is_an_event() {
    let world = World::new();
    let file = world.path("post.json");
    fs::write(&file, json!({"goal": "find it", "tokens": 7}).to_string()).unwrap();
    let file = file.to_str().unwrap();
    let args = [
        "post",
        "--session",
        ME,
        "--kind",
        "delegation",
        "--task",
        "t",
        "--json",
        file,
    ];
    let posted = world.json(&args);
    assert_eq!(posted["posted"], true);
    let event = only_event(&inbox(&world, &[]));
    assert_eq!(event["event"], posted["event"]);
    let id = event["job"].as_str().unwrap();
    assert_eq!(event["event"], json!(world.event_id(id, &json!(1))));
    assert_eq!(
        (&event["kind"], &event["session"]),
        (&json!("delegation"), &json!(ME))
    );
    assert_eq!(
        (&event["task"], &event["attempt"]),
        (&json!("t"), &json!(1))
    );
    assert_eq!(event["data"], json!({"goal": "find it", "tokens": 7}));
    ack(&world, event["event"].as_str().unwrap());
    assert_nothing_waits(&world);
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
}

#[test]
fn a_post_may_come_from_standard_input() {
    let world = World::new();
    for args in [&["post"][..], &["post", "-"]] {
        let mut command = world.command(args);
        command.env("OUTLIVE_SESSION", ME);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(b"{\"goal\":\"g\"}\n")
            .unwrap();
        let ran = Ran::end_of(child);
        assert_eq!(ran.code, 0, "{ran:?}");
        let event = only_event(&inbox(&world, &[]));
        assert_eq!(event["event"], json!(ran.stdout.trim_end()));
        assert_eq!(event["data"], json!({"goal": "g"}));
    }
}

#[test]
fn a_repeated_post_is_told_once() {
    let world = World::new();
    let first = post(&world, &json!({"n": 1}), &["--id", "mine"]);
    assert_eq!(first, world.event_id("mine", &json!(1)));
    for _ in 0..2 {
        let ran = try_to_post(&world, "{\"n\": 2}", &["--id", "mine", "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            ran.stdout,
            format!("{{\"event\":\"{first}\",\"posted\":false}}\n")
        );
        assert!(ran.stderr.contains("posted before"), "{ran:?}");
    }
    let event = only_event(&inbox(&world, &["--ack-all"]));
    assert_eq!(
        (&event["event"], &event["data"]["n"]),
        (&json!(first), &json!(1))
    );
    // Also after the event was told.
    assert_eq!(post(&world, &json!({}), &["--id", "mine"]), first);
    assert_nothing_waits(&world);
    assert_eq!(posts(&world), ["mine"]);
}

#[test]
fn many_concurrent_posts_of_one_id_are_told_once() {
    let world = World::new();
    let file = world.path("post.json");
    fs::write(&file, "{}").unwrap();
    let begin = |_| {
        let mut command = world.command(["post", "--session", ME, "--id", "mine", "--json"]);
        command.arg(&file);
        outlive_testkit::processes::begin(command)
    };
    let posters: Vec<_> = (0..12).map(begin).collect();
    let posted = |child| {
        let ran = Ran::end_of(child);
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        answer["posted"] == true
    };
    assert_eq!(
        posters.into_iter().map(posted).filter(|now| *now).count(),
        1
    );
    assert_eq!(
        event_ids(&inbox(&world, &[])),
        [world.event_id("mine", &json!(1))]
    );
    assert_eq!(posts(&world), ["mine"]);
}

#[test]
fn an_invalid_post_is_refused_and_leaves_nothing() {
    let world = World::new();
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(4 * 1024 * 1024));
    let cases = [
        ("", "is not JSON"),
        ("{\"goal\": ", "is not JSON"),
        ("{} {}", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ("\"text\"", "is not a JSON object"),
        ("null", "is not a JSON object"),
        (&large, "larger than 4194304 bytes"),
    ];
    for (text, reason) in cases {
        let ran = try_to_post(&world, text, &[]);
        assert_eq!(ran.code, 2, "{text:.20}: {ran:?}");
        assert!(ran.stderr.contains(reason), "{text:.20}: {ran:?}");
        assert_eq!(ran.stdout, "");
    }
    let missing = world.outlive(&["post", "--session", ME, "/no/such/file"]);
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(missing.stderr.contains("/no/such/file"), "{missing:?}");
    for wrong in [
        &["--id", "../x"][..],
        &["--id", ""],
        &["--kind", "ended"],
        &["--task", ""],
    ] {
        let ran = try_to_post(&world, "{}", wrong);
        assert_eq!(ran.code, 2, "{wrong:?}: {ran:?}");
    }
    assert_eq!(world.outlive(&["post"]).code, 2);
    assert!(!world.home().exists());
}

#[test]
fn a_post_cannot_have_a_jobs_id() {
    let world = World::new();
    let id = ended(&world, "true");
    let ran = try_to_post(&world, "{}", &["--id", &id]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(
        ran.stderr
            .contains(&format!("the id {id} belongs to a job")),
        "{ran:?}"
    );
    assert_eq!(posts(&world), [""; 0]);
    assert_eq!(waiting(&world, ME), 1);
}

/// Each kind of JSON that `post --help` describes, and the text that a session gets for it.
#[test]
fn each_shape_of_post_has_its_own_text() {
    for (data, expected) in shapes() {
        let world = World::new();
        post(&world, &data, &["--id", "d1"]);
        let event = only_event(&inbox(&world, &[]));
        assert_eq!(event["data"], data);
        // All but the headline is quoted.
        let expected = expected.replace('\n', "\n| ");
        assert_eq!(event["text"].as_str().unwrap(), expected);
    }
}

fn shapes() -> [(Value, &'static str); 9] {
    let long = "x".repeat(90);
    [
        (json!({}), "Delegation d1 has ended; it did not say how."),
        (
            json!({"goal": "find it", "status": "done", "duration_ms": 125_000, "summary": "in parse()"}),
            "Delegation d1 \"find it\" is done after 2m05s.\nSummary: in parse()",
        ),
        (
            json!({"goal": "fix tests", "status": "failed", "duration_seconds": 7.5, "error": "no such file", "cost": 3}),
            "Delegation d1 \"fix tests\" failed after 7.5s: \"no such file\".\ncost: 3",
        ),
        // A post with an error and no status has failed. A status is shown as it is.
        (
            json!({"error": "it broke\nat line 3", "role": "reviewer", "context": "branch x\nat abc123"}),
            "Delegation d1 failed: \"it broke…\".\nRole: reviewer\nContext: branch x\n  at abc123\nError: it broke\n  at line 3",
        ),
        (
            json!({"goal": "g", "status": "completed", "error": "but"}),
            "Delegation d1 \"g\" ended with status \"completed\": \"but\".",
        ),
        // A status of its own; points in time and durations are shown in a readable form.
        (
            json!({
                "goal": "wait", "status": "timeout", "dispatched_at": 1_763_460_000, "completed_at": 1_763_460_090.5,
                "queued_ms": 61_000, "think_seconds": 2, "api_calls": 4, "output": "a\nb",
            }),
            "Delegation d1 \"wait\" ended with status \"timeout\" after 1m30s.\nOutput: a\n  b\napi_calls: 4\n\
             completed_at: 2025-11-18T10:01:30.500Z\ndispatched_at: 2025-11-18T10:00:00.000Z\nqueued: 1m01s\nthink: 2.0s",
        ),
        // A batch with a goal for each task. The results come in another order, and one task has none.
        (
            json!({
                "goal": "review the parser", "goals": ["part one", "part two", "part three"],
                "results": [
                    {"task_index": 1, "status": "failed", "error": "no such file", "duration_ms": 900},
                    {"task_index": 0, "status": "completed", "summary": "it is\nfine", "duration_seconds": 61},
                ],
                "total_duration_seconds": 62,
            }),
            "Delegation d1 \"review the parser\" has ended after 1m02s; it did not say how: 1 of 3 done, 1 failed, 1 not said.\n  \
               Result 1 of 3 \"part one\" is done after 1m01s.\n    \
                 Summary: it is\n      fine\n  \
               Result 2 of 3 \"part two\" failed after 900ms: \"no such file\".\n  \
               Result 3 of 3 \"part three\" brought no result.",
        ),
        // A batch inside a batch, and a result that is plain text.
        (
            json!({"results": [
                {"goal": "a", "status": "ok", "results": [{"result": "nested deeply"}]},
                {"goal": "b", "status": "succeeded", "result": {"n": 1}},
                "just text",
            ]}),
            "Delegation d1 has ended; it did not say how: 2 of 3 done, 1 not said.\n  \
               Result 1 of 3 \"a\" is done: 0 of 1 done, 1 not said.\n    \
                 Result 1 of 1 has ended; it did not say how.\n      \
                   Result: nested deeply\n  \
               Result 2 of 3 \"b\" is done.\n    \
                 Result: {\"n\":1}\n  \
               Result 3 of 3 has ended; it did not say how:\n    \
                 just text",
        ),
        // All tasks are done. The long goal is shortened in the first line and shown in full below.
        (
            json!({"goal": long, "results": [{"status": "done"}, {"status": "done"}]}),
            "Delegation d1 \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\" is done: 2 of 2 done.\n\
             Goal: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  \
               Result 1 of 2 is done.\n  \
               Result 2 of 2 is done.",
        ),
    ]
}

/// Secrets are found anywhere in a post: by their form, or by the name of their key.
#[test]
fn secrets_in_a_post_are_left_out() {
    let world = World::new();
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    let secret = "hunter2hunter2";
    let data = json!({
        "goal": format!("use {token}"),
        "result": format!("export DB_PASSWORD={secret}\nok"),
        "results": [{"summary": format!("found {token} there")}, token],
        "env": {"API_KEY": secret, "LEVEL": "debug"},
        "password": secret,
    });
    post(&world, &data, &[]);
    let event = only_event(&inbox(&world, &[]));
    let whole = event.to_string();
    for leaked in [&token[4..], secret] {
        assert!(!whole.contains(leaked), "{event:#}");
    }
    assert_eq!(event["data"]["env"]["LEVEL"], "debug");
    assert!(
        event["text"].as_str().unwrap().contains("[redacted:"),
        "{event:#}"
    );
}

#[test]
fn escape_sequences_do_not_reach_the_text_of_a_post() {
    let world = World::new();
    post(
        &world,
        &json!({"summary": "\u{1b}[31mred\u{1b}[0m and \u{1b}]0;title\u{7}plain"}),
        &[],
    );
    let event = only_event(&inbox(&world, &[]));
    let text = event["text"].as_str().unwrap();
    assert!(text.contains("Summary: red and plain"), "{text:?}");
}

#[test]
fn a_killed_poster_leaves_the_whole_post_or_nothing() {
    let cells = [("Written", 0), ("Named", 0), ("Linked", 1)];
    every(
        &cells,
        |cell| cell.0.to_owned(),
        |(hook, told)| {
            let world = World::new();
            let file = world.path("post.json");
            fs::write(&file, "{\"n\":1}").unwrap();
            let mut command = world.command(["post", "--session", ME, "--id", "mine"]);
            command
                .arg(&file)
                .env("OUTLIVE_HOOKS", format!("poster:{hook}=kill"));
            assert_eq!(Ran::of(&mut command).code, 137);
            assert_eq!(event_ids(&inbox(&world, &["--peek"])).len(), *told);
            // If the client posts again with the same ID, the event is there once.
            let posted = post(&world, &json!({"n": 1}), &["--id", "mine"]);
            assert_eq!(posted, world.event_id("mine", &json!(1)));
            assert_eq!(event_ids(&inbox(&world, &["--ack-all"])), [posted]);
            assert_nothing_waits(&world);
        },
    );
}

#[test]
fn a_session_gets_only_its_own_posts() {
    let world = World::new();
    let event = post(&world, &json!({}), &[]);
    let ran = world.outlive(&["inbox", "--session", "other", "--ack", &event]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(event_ids(&inbox_of(&world, "other", &[])), [""; 0]);
    assert_eq!(event_ids(&inbox(&world, &[])), [event]);
}
