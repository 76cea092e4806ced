//! What answers say of a job: how it is shown, what was asked for, whether its end was told, its output.

use super::{SESSION, run, waiting, world};
use outlive_testkit::scripts::{let_go, over};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

#[test]
fn a_command_is_shown_as_its_caller_says() {
    let world = world();
    let id = run(&world, &["--as", "nightly build"], "echo secret-plumbing");
    let job = world.wait(&id);
    assert_eq!(job["command"], "nightly build");
    let argv = job["argv"].as_array().unwrap();
    assert_eq!(argv.last(), Some(&json!("echo secret-plumbing")));
    assert_eq!(world.output(&id), b"secret-plumbing\n");
    let event = &waiting(&world, "ended")[0];
    assert_eq!(event["data"]["command"], "nightly build");
    assert!(!event["text"].as_str().unwrap().contains("echo"), "{event}");
    let empty = world.outlive(&["run", "--as", " ", "--", "true"]);
    assert_eq!(empty.code, 2, "{empty:?}");
}

#[test]
fn what_was_asked_for_is_shown() {
    let world = world();
    let options = [
        "--timeout",
        "90s",
        "--notify",
        "failure",
        "--watch",
        "x",
        "--watch-limit",
        "7",
    ];
    let id = run(&world, &options, "sleep 60");
    let job = world.show(&id);
    assert_eq!(job["timeout_ms"], 90_000);
    assert_eq!(job["notify"], "failure");
    assert_eq!(job["watch"]["patterns"], json!([{"text": "x"}]));
    assert_eq!(job["watch"]["limit"], 7);
    let text = world.ok(&["show", &id]);
    for word in [
        "90 s",
        "only of a failure",
        "text \"x\"",
        "at most 7 matches",
    ] {
        assert!(
            text.contains(word) || text.contains("1m30s"),
            "{word}: {text}"
        );
    }
}

#[test]
fn the_number_of_the_first_process_is_kept() {
    let world = world();
    let id = run(&world, &[], "until [ -e \"$GO\" ]; do sleep 0.02; done");
    let pid = world.show(&id)["pid"].clone();
    assert!(pid.is_i64());
    let_go(&world);
    assert_eq!(world.wait(&id)["pid"], pid);
    world.until_over(&id);
    assert_eq!(world.show(&id)["pid"], pid);
    let never = world.outlive(&["run", "--json", "--", "/no/such/program"]);
    let job: Value = serde_json::from_slice(&never.bytes).unwrap();
    assert_eq!(job["pid"], Value::Null, "it never ran");
}

fn told(world: &World, id: &str) -> Value {
    world.show(id)["told"].clone()
}

#[test]
fn whether_the_end_was_told_is_said() {
    let world = world();
    let id = run(
        &world,
        &[],
        "until [ -e \"$GO\" ]; do sleep 0.02; done; echo x",
    );
    assert_eq!(told(&world, &id), Value::Null, "it runs");
    let_go(&world);
    world.wait(&id);
    assert_eq!(told(&world, &id), json!({"state": "waiting"}));
    world.ok(&["inbox", "--session", SESSION]);
    let delivered = told(&world, &id);
    assert_eq!(
        (&delivered["state"], &delivered["deliveries"]),
        (&json!("delivered"), &json!(1))
    );
    world.ok(&["inbox", "--session", SESSION, "--ack-all"]);
    let acked = told(&world, &id);
    assert_eq!(
        (&acked["state"], &acked["by"]),
        (&json!("told"), &json!("inbox"))
    );
    assert!(
        acked["at"].as_str().unwrap() >= delivered["at"].as_str().unwrap(),
        "{acked}"
    );
    for (by, args) in [("wait", ["wait"]), ("asked", ["stop"]), ("log", ["log"])] {
        let id = run(&world, &[], "echo x");
        world.wait(&id);
        let args = [&args[..], &[&id]].concat();
        assert_eq!(world.as_session(SESSION, &args).code, 0);
        assert_eq!(told(&world, &id)["by"], by);
    }
    let nobody = over(&world, &["--", "true"]);
    assert_eq!(told(&world, &nobody), Value::Null, "it has no session");
    let silent = run(&world, &["--notify", "never"], "true");
    world.wait(&silent);
    assert_eq!(told(&world, &silent), Value::Null, "nobody is to be told");
    world.ok(&["session", "end", SESSION, "--drop"]);
}

#[test]
fn a_list_can_have_the_last_lines_of_each_job() {
    let world = world();
    let first = over(&world, &["--shell", "seq 1 9"]);
    let second = over(&world, &["--", "true"]);
    let answer = world.json(&["list", "--json", "--preview=2"]);
    let previews: Vec<(&Value, &Value)> = answer["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| (&job["id"], &job["preview"]))
        .collect();
    assert_eq!(
        previews,
        [
            (&json!(second), &json!("")),
            (&json!(first), &json!("8\n9\n"))
        ]
    );
    let text = world.ok(&["list", "--preview"]);
    assert!(
        text.ends_with("\n    5\n    6\n    7\n    8\n    9"),
        "{text}"
    );
    assert_eq!(
        world.json(&["list", "--json"])["jobs"][0].get("preview"),
        None
    );
}

#[test]
fn a_wait_can_have_the_end_of_the_output() {
    let world = world();
    let id = over(&world, &["--shell", "seq 1 1000"]);
    let tail = |size: &str| {
        let answer = world.json(&["wait", &id, "--json", "--tail", size]);
        assert_eq!(answer["jobs"][0]["state"], "ended");
        answer["jobs"][0]["tail"].as_str().unwrap().to_owned()
    };
    // Each of the last lines has four bytes, and the last one five.
    assert_eq!(tail("9"), "999\n1000\n");
    assert_eq!(tail("12"), "999\n1000\n");
    assert_eq!(tail("13"), "998\n999\n1000\n");
    assert_eq!(tail("1M").lines().count(), 1000);
    assert_eq!(tail("3"), "00\n");
    let text = world.ok(&["wait", &id, "--tail", "9"]);
    assert!(text.ends_with("999\n1000"), "{text}");
    let long = over(
        &world,
        &["--shell", "head -c 5000 /dev/zero | tr '\\0' ä; printf z"],
    );
    let answer = world.json(&["wait", &long, "--json", "--tail", "3"]);
    assert!(
        answer["jobs"][0]["tail"].as_str().unwrap().ends_with('z'),
        "{answer}"
    );
}

#[test]
fn a_log_says_how_far_the_job_has_come() {
    let world = world();
    let id = run(
        &world,
        &[],
        "echo x; until [ -e \"$GO\" ]; do sleep 0.02; done; exit 6",
    );
    until("it wrote", || !world.output(&id).is_empty());
    let log = world.json(&["log", &id, "--json"]);
    assert_eq!(
        (&log["state"], &log["exit_code"]),
        (&json!("running"), &Value::Null)
    );
    let_go(&world);
    world.wait(&id);
    let log = world.json(&["log", &id, "--json"]);
    assert_eq!(
        (&log["state"], &log["exit_code"]),
        (&json!("ended"), &json!(6))
    );
}

#[test]
fn an_event_has_the_newest_lines_of_a_busy_time() {
    let world = World::new();
    let script = "for n in $(seq 1 30); do echo \"hit $n\"; done";
    let id = run(&world, &["--watch", "hit"], script);
    world.wait(&id);
    let events = waiting(&world, "matched");
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0]["data"]["lines"], json!(["hit 1"]));
    let data = &events[1]["data"];
    assert_eq!(
        (&data["count"], &data["line"]),
        (&json!(29), &json!("hit 30"))
    );
    let lines = data["lines"].as_array().unwrap();
    assert_eq!(
        (lines.len(), &lines[0], &lines[19]),
        (20, &json!("hit 11"), &json!("hit 30"))
    );
    let text = events[1]["text"].as_str().unwrap();
    assert!(
        text.contains("29 lines") && text.contains("the last 20"),
        "{text}"
    );
}
