//! Each session is told of its own jobs, whatever its key, and can be ended.

use super::{
    Consumer, ME, assert_nothing_waits, end_event, ended, ended_of, event_ids, inbox, inbox_of,
    only_event, post, waiting,
};
use outlive_testkit::processes::until_blocked;
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::{WAITS, let_go, ok, sleeper};
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Session keys with unusual characters.
fn odd_keys() -> Vec<String> {
    let long = "k".repeat(80);
    let wide = "日".repeat(26);
    [
        "..",
        ".",
        "/",
        "a/b",
        "../../x",
        "a b",
        "%2e",
        "-x",
        ".bell-x",
        "Straße 😀",
        &long,
        &wide,
    ]
    .map(str::to_owned)
    .into()
}

#[test]
fn a_session_is_told_only_of_its_own_jobs() {
    let world = World::new();
    let expected: Vec<(String, String)> = odd_keys()
        .into_iter()
        .map(|key| {
            let key_is = format!("--session={key}");
            let id = world.ok(&["run", &key_is, "--", "true"]);
            (key, id)
        })
        .collect();
    for (key, id) in &expected {
        world.until_over(id);
        let key_is = format!("--session={key}");
        let answer = world.json(&["inbox", &key_is, "--json", "--ack-all"]);
        let event = only_event(&answer);
        assert_eq!(event["event"], json!(end_event(&world, id)), "{key}");
        assert_eq!(event["session"], json!(key));
        assert_eq!(world.listed(&[&key_is, "--state", "all"]), [id.as_str()]);
        assert_eq!(
            world.json(&["inbox", &key_is, "--json"]),
            json!({ "events": [] })
        );
    }
    assert_eq!(names_in(&world.home().join("inbox")), [""; 0]);
}

#[test]
fn a_session_waits_only_for_its_own_jobs() {
    let world = World::new();
    for key in odd_keys() {
        let key_is = format!("--session={key}");
        let waiter = Consumer::begin(world.command(["inbox", &key_is, "--json", "--wait"]));
        until_blocked(waiter.pid());
        ended_of(&world, "other", "true");
        let id = world.ok(&["run", &key_is, "--", "true"]);
        let event = only_event(&waiter.answer());
        assert_eq!(event["job"], json!(id), "{key}");
    }
}

#[test]
fn invalid_session_keys_are_refused() {
    let world = World::new();
    for key in ["", "a\nb", "\u{1b}[0m", &"k".repeat(81), &"日".repeat(27)] {
        for args in [&["inbox"][..], &["post", "-"], &["run", "--", "true"]] {
            let mut args = args.to_vec();
            args.insert(1, "--session");
            args.insert(2, key);
            let ran = world.outlive(&args);
            assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
            assert!(ran.stderr.contains("session"), "{ran:?}");
        }
        assert_eq!(world.outlive(&["session", "end", key]).code, 2);
    }
    assert!(!world.home().exists());
}

#[test]
fn jobs_are_listed_by_session_and_task() {
    let world = World::new();
    let run = |session: &str, task: &str| {
        world.ok(&["run", "--session", session, "--task", task, "--", "true"])
    };
    let jobs = [run("a", "x"), run("a", "y"), run("b", "x")];
    let listed = |options: &[&str]| {
        let mut ids = world.listed(&[&["--state", "all"], options].concat());
        ids.sort();
        ids
    };
    let sorted = |places: &[usize]| {
        let mut ids: Vec<String> = places.iter().map(|place| jobs[*place].clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(listed(&["--session", "a"]), sorted(&[0, 1]));
    assert_eq!(listed(&["--task", "x"]), sorted(&[0, 2]));
    assert_eq!(listed(&["--session", "a", "--task", "x"]), sorted(&[0]));
    assert_eq!(listed(&["--session", "c"]), sorted(&[]));
    // The jobs run at the same time and may end in any order.
    jobs.iter().for_each(|id| world.until_over(id));
    let told = inbox_of(&world, "a", &[]);
    let mut events = told["events"].as_array().unwrap().clone();
    events.sort_by_key(|event| event["task"].to_string());
    let ends: Vec<_> = events
        .iter()
        .map(|end| (&end["job"], &end["task"]))
        .collect();
    let [x, y] = [json!(jobs[0]), json!(jobs[1])];
    assert_eq!(ends, [(&x, &json!("x")), (&y, &json!("y"))]);
}

/// Gives the session an ended job, a post and a running job. Returns their IDs.
fn full(world: &World) -> (String, String, String) {
    let over = ended(world, "true");
    let posted = post(world, &json!({"goal": "g"}), &[]);
    let script = format!("{WAITS} true");
    let running = ok(world, &["run", "--session", ME, "--shell", &script]);
    (over, posted, running)
}

#[test]
fn ending_a_session_keeps_its_untold_events() {
    let world = World::new();
    let (over, posted, running) = full(&world);
    for options in [&[][..], &["--keep"]] {
        let ended = world.json(&[&["session", "end", ME, "--json"], options].concat());
        let expected = json!({
            "dropped": 0, "kept": 2, "stopped": [], "still_running": [running],
        });
        assert_eq!(ended, expected);
    }
    let text = world.ok(&["session", "end", ME]);
    assert_eq!(
        text,
        "0 events dropped, 2 kept; 0 jobs stopped, 1 still running"
    );
    let_go(&world);
    world.until_over(&running);
    let expected = [
        end_event(&world, &over),
        posted,
        end_event(&world, &running),
    ];
    assert_eq!(event_ids(&inbox(&world, &[])), expected);
}

#[test]
fn a_dropped_session_is_not_told() {
    let world = World::new();
    let (over, posted, running) = full(&world);
    ended_of(&world, "other", "true");
    // An event that a consumer has claimed is dropped too.
    inbox(&world, &["--limit", "1", "--claim", "200ms"]);
    let ended = world.json(&["session", "end", ME, "--drop", "--json"]);
    let expected = json!({
        "dropped": 2, "kept": 0, "stopped": [], "still_running": [running],
    });
    assert_eq!(ended, expected);
    let_go(&world);
    world.until_over(&running);
    let ran = world.outlive(&["inbox", "--session", ME, "--json", "--wait=400ms"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (124, "{\"events\":[]}\n"),
        "{ran:?}"
    );
    // An ack of a dropped event does no harm.
    let (over, running) = (end_event(&world, &over), end_event(&world, &running));
    world.ok(&["inbox", "--session", ME, "--ack", &over, &posted, &running]);
    assert_nothing_waits(&world);
    assert_eq!(waiting(&world, "other"), 1);
    assert_eq!(world.listed(&["--session", ME, "--state", "all"]).len(), 2);
}

#[test]
fn a_session_may_be_used_again_after_it_was_ended() {
    let world = World::new();
    full(&world);
    world.ok(&["session", "end", ME, "--drop", "--stop"]);
    let waiter = Consumer::of(&world, &["--wait"]);
    until_blocked(waiter.pid());
    let id = ended(&world, "exit 3");
    assert_eq!(event_ids(&waiter.answer()), [end_event(&world, &id)]);
}

#[test]
fn the_jobs_of_a_session_are_stopped_with_it() {
    for options in [&["--stop"][..], &["--stop", "--drop"]] {
        let world = World::new();
        let mut ids = [
            sleeper(&world, &["--session", ME]),
            sleeper(&world, &["--session", ME]),
        ];
        ids.sort();
        let theirs = sleeper(&world, &["--session", "other"]);
        let args = [&["session", "end", ME, "--json"], options].concat();
        let mut command = world.command(args);
        let ran = Ran::of(command.env("OUTLIVE_SESSION", ME));
        let mut ended: Value = serde_json::from_str(&ran.stdout).unwrap();
        ended["stopped"]
            .as_array_mut()
            .unwrap()
            .sort_by_key(Value::to_string);
        let expected = json!({
            "dropped": 0, "kept": 0, "stopped": ids, "still_running": [],
        });
        assert_eq!(ended, expected);
        for id in &ids {
            let job = world.show(id);
            assert_eq!(
                (&job["state"], &job["ended_by"]),
                (&json!("ended"), &json!("stop"))
            );
            assert_eq!(
                job["ended_by_detail"],
                json!(format!("the end of session {ME}"))
            );
        }
        assert_eq!(world.show(&theirs)["state"], "running");
        assert_nothing_waits(&world);
    }
}

#[test]
fn ending_an_unknown_session_is_an_error() {
    let world = World::new();
    for options in [&[][..], &["--drop"], &["--stop"]] {
        let ran = world.outlive(&[&["session", "end", "x"], options].concat());
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains("no session \"x\""), "{ran:?}");
    }
    let ran = world.outlive(&["session", "end", "x", "--drop", "--keep"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

/// A damaged job directory does not keep the session from being told of its other jobs.
#[test]
fn a_damaged_job_does_not_keep_the_rest_from_being_told_or_dropped() {
    let world = World::new();
    let (damaged, sound) = (ended(&world, "true"), ended(&world, "true"));
    std::fs::write(world.job_dir(&damaged).join("spec.json"), "{").unwrap();
    let ran = world.outlive(&["inbox", "--session", ME, "--json", "--peek"]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(event_ids(&answer), [end_event(&world, &sound)]);
    assert!(
        ran.stderr.contains(&format!("{damaged} cannot be read")),
        "{ran:?}"
    );
    let ended = world.json(&["session", "end", ME, "--drop", "--json"]);
    assert_eq!((&ended["dropped"], &ended["kept"]), (&json!(1), &json!(0)));
    assert_eq!(event_ids(&inbox(&world, &[])), [""; 0]);
}
