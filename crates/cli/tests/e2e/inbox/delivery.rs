//! One event: what the inbox prints, and what happens to it afterwards.

use super::{
    ME, ack, assert_nothing_waits, configure, end_event, ended, ended_of, event_ids, inbox,
    inbox_of, keys, only_event, waiting,
};
use outlive_testkit::checks::exited;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

#[test]
fn one_end_is_one_event() {
    let world = World::new();
    let id = world.ok(&[
        "run",
        "--session",
        ME,
        "--task",
        "t1",
        "--name",
        "n",
        "--shell",
        "exit 3",
    ]);
    world.until_over(&id);
    let answer = inbox(&world, &[]);
    assert_eq!(keys(&answer), BTreeSet::from(["events"]));
    let event = only_event(&answer);
    assert_eq!(
        keys(&event),
        BTreeSet::from([
            "event", "kind", "job", "session", "task", "at", "attempt", "data", "text"
        ])
    );
    assert_eq!(event["event"], json!(end_event(&world, &id)));
    assert_eq!(event["kind"], "ended");
    assert_eq!(event["job"], json!(id));
    assert_eq!(event["session"], ME);
    assert_eq!(event["task"], "t1");
    assert_eq!(event["attempt"], 1);
    assert_eq!(event["at"], world.show(&id)["ended_at"]);
    assert!(event["text"].as_str().unwrap().contains(&id), "{event}");
    let data = &event["data"];
    assert_eq!(
        keys(data),
        BTreeSet::from([
            "outcome",
            "exit_code",
            "ended_by",
            "ended_by_detail",
            "duration_ms",
            "lingering",
            "output",
            "usage",
            "command",
            "name"
        ])
    );
    assert_eq!(data["outcome"], exited(3));
    assert_eq!(data["exit_code"], 3);
    assert_eq!(data["ended_by"], "itself");
    assert_eq!(data["command"], "exit 3");
    assert_eq!(data["name"], "n");
}

#[test]
fn an_event_of_a_job_without_a_task_has_no_task() {
    let world = World::new();
    ended(&world, "true");
    let event = only_event(&inbox(&world, &[]));
    let expected = [
        "event", "kind", "job", "session", "at", "attempt", "data", "text",
    ];
    assert_eq!(keys(&event), BTreeSet::from(expected));
}

#[test]
fn a_claimed_event_is_given_to_nobody_else() {
    let world = World::new();
    let id = ended(&world, "true");
    assert_eq!(event_ids(&inbox(&world, &[])), [end_event(&world, &id)]);
    assert_eq!(inbox(&world, &[]), json!({ "events": [] }));
    assert_eq!(waiting(&world, ME), 1);
}

#[test]
fn an_expired_claim_is_delivered_again_under_the_same_id_until_acked() {
    let world = World::new();
    let id = ended(&world, "true");
    let event = end_event(&world, &id);
    for attempt in 1..=3 {
        let answer = inbox(&world, &["--claim", "300ms", "--wait=20s"]);
        let again = only_event(&answer);
        assert_eq!(again["event"], json!(event));
        assert_eq!(again["attempt"], attempt);
    }
    ack(&world, &event);
    let ran = world.outlive(&["inbox", "--session", ME, "--json", "--wait=400ms"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (124, "{\"events\":[]}\n"),
        "{ran:?}"
    );
    assert_nothing_waits(&world);
}

#[test]
fn an_ack_needs_no_claim_and_may_be_repeated() {
    let world = World::new();
    let id = ended(&world, "true");
    let event = end_event(&world, &id);
    ack(&world, &event);
    ack(&world, &event);
    let twice = ["inbox", "--session", ME, "--ack", &event, &event];
    assert_eq!(world.ok(&twice), "");
    assert_nothing_waits(&world);
}

#[test]
fn only_an_event_of_the_session_can_be_acked() {
    let world = World::new();
    let mine = end_event(&world, &ended(&world, "true"));
    let theirs = end_event(&world, &ended_of(&world, "other", "true"));
    let job = theirs.split(':').next().unwrap();
    let never = world.ok(&["run", "--session", ME, "--notify", "never", "--", "true"]);
    world.until_over(&never);
    let (no_seq, not_an_event) = (format!("{job}:99"), format!("{job}:1"));
    for wrong in [
        &theirs,
        "nosuchjob:3",
        &no_seq,
        &not_an_event,
        &end_event(&world, &never),
    ] {
        let ran = world.outlive(&["inbox", "--session", ME, "--ack", wrong]);
        assert_eq!(ran.code, 3, "{wrong}: {ran:?}");
        assert!(
            ran.stderr.contains(&format!("no event {wrong:?}")),
            "{ran:?}"
        );
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(event_ids(&inbox(&world, &["--peek"])), [mine.as_str()]);
    // Each ID is handled on its own, so a wrong one does not stop the others.
    let ran = world.outlive(&["inbox", "--session", ME, "--ack", &theirs, &mine]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_nothing_waits(&world);
    assert_eq!(event_ids(&inbox_of(&world, "other", &[])), [theirs]);
}

#[test]
fn a_malformed_event_id_is_wrong_usage() {
    let world = World::new();
    for wrong in ["", "x:", ":1", "x:y", "../x:1", "x:-1", "x:1:"] {
        let ran = world.outlive(&["inbox", "--session", ME, "--ack", wrong]);
        assert_eq!(ran.code, 2, "{wrong:?}: {ran:?}");
    }
    let job = world.outlive(&["inbox", "--session", ME, "--ack", "x"]);
    assert_eq!(job.code, 3, "it would be a job: {job:?}");
    for wrong in [["--claim", "0"], ["--limit", "0"]] {
        let ran = world.outlive(&[&["inbox", "--session", ME], &wrong[..]].concat());
        assert_eq!(ran.code, 2, "{wrong:?}: {ran:?}");
    }
}

#[test]
fn many_ends_come_as_one_batch_the_oldest_first() {
    let world = World::new();
    let ids: Vec<String> = (0..5).map(|_| ended(&world, "true")).collect();
    let expected: Vec<String> = ids.iter().map(|id| end_event(&world, id)).collect();
    assert_eq!(event_ids(&inbox(&world, &["--peek"])), expected);
    assert_eq!(event_ids(&inbox(&world, &["--limit", "2"])), expected[..2]);
    assert_eq!(event_ids(&inbox(&world, &["--peek"])), expected[2..]);
    assert_eq!(event_ids(&inbox(&world, &[])), expected[2..]);
    assert_eq!(event_ids(&inbox(&world, &[])), [""; 0]);
}

#[test]
fn the_oldest_event_is_the_job_that_ended_first() {
    let world = World::new();
    let gate = world.path("gate");
    let script = outlive_testkit::scripts::loop_until(&gate);
    let late = world.ok(&["run", "--session", ME, "--id", "aaa", "--shell", &script]);
    let early = ended(&world, "true");
    fs::write(&gate, "").unwrap();
    world.until_over(&late);
    let expected = [end_event(&world, &early), end_event(&world, &late)];
    assert_eq!(event_ids(&inbox(&world, &[])), expected);
}

#[test]
fn peek_changes_nothing() {
    let world = World::new();
    let id = ended(&world, "true");
    for _ in 0..3 {
        let event = only_event(&inbox(&world, &["--peek"]));
        assert_eq!(event["attempt"], 0);
    }
    assert!(!world.job_dir(&id).join("told").exists());
    assert_eq!(only_event(&inbox(&world, &[]))["attempt"], 1);
    // `--peek` does not show events that a consumer has claimed.
    assert_eq!(event_ids(&inbox(&world, &["--peek"])), [""; 0]);
}

#[test]
fn text_output_has_the_event_id_and_the_ack_command() {
    let world = World::new();
    let id = ended(&world, "echo hello");
    let event = end_event(&world, &id);
    let text = only_event(&inbox(&world, &["--peek"]))["text"].clone();
    let expected = format!("[{event}] {}\n", text.as_str().unwrap());
    assert_eq!(
        world.outlive(&["inbox", "--session", ME, "--peek"]).stdout,
        expected
    );
    let ran = world.outlive(&["inbox", "--session", ME, "--format", "text", "--json"]);
    assert_eq!(ran.stdout, expected);
    let hint = format!("outlive inbox --session {ME} --ack {event}");
    assert!(ran.stderr.contains(&hint), "{ran:?}");
    let ran = world.outlive(&["inbox", "--session", ME]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "", "nothing new\n")
    );
    let ran = world.outlive(&["inbox", "--session", ME, "--format", "json"]);
    assert_eq!(ran.stdout, "{\"events\":[]}\n");
}

/// The printed ack command can be pasted into a shell, whatever the session is called.
#[test]
fn the_ack_command_can_be_pasted() {
    let world = World::new();
    for session in ["it's $(mine) & more", "-x", "--follow"] {
        let id = world.ok(&["run", &format!("--session={session}"), "--", "true"]);
        world.until_over(&id);
        let ran = world.outlive(&["inbox", &format!("--session={session}")]);
        let hint = ran
            .stderr
            .split("to ack: outlive")
            .nth(1)
            .unwrap()
            .trim_end();
        let script = format!("'{}' {hint}", outlive_testkit::programs::outlive());
        let ran = Ran::of(&mut world.within("bash", ["-c", &script]));
        assert_eq!(ran.code, 0, "{script}: {ran:?}");
        let ended = world.json(&["session", "end", "--json", "--", session]);
        assert_eq!(ended["kept"], 0);
    }
}

#[test]
fn without_a_session_there_is_no_inbox() {
    let world = World::new();
    for args in [
        vec!["inbox"],
        vec!["inbox", "--follow"],
        vec!["inbox", "--ack", "x:1"],
    ] {
        let ran = world.outlive(&args);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("--session KEY"), "{ran:?}");
        assert!(ran.stderr.contains("OUTLIVE_SESSION"), "{ran:?}");
    }
    ended(&world, "true");
    let mut command = world.command(["inbox", "--json"]);
    let ran = Ran::of(command.env("OUTLIVE_SESSION", ME));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(only_event(&answer)["session"], ME);
}

#[test]
fn an_inbox_that_was_never_used_is_empty_and_leaves_no_trace() {
    let world = World::new();
    assert_eq!(inbox(&world, &[]), json!({ "events": [] }));
    assert!(!world.home().join("inbox").exists());
}

/// Claims the event again and again until it is dropped. Returns how often it was delivered before the last time.
fn offered_until_dropped(world: &World, options: &[&str]) -> (u64, Ran) {
    let event = end_event(world, &ended(world, "true"));
    for offered in 0.. {
        let args = ["inbox", "--session", ME, "--json", "--wait=20s"];
        let ran = world.outlive(&[&args, options].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let told = only_event(&answer);
        if answer["dropped"] != Value::Null {
            assert_eq!(answer["dropped"], json!([event]), "{ran:?}");
            let text = told["text"].as_str().unwrap();
            assert!(text.contains("told for the last time"), "{text}");
            // On a slow machine some claims expire before the event is printed.
            assert!(told["attempt"].as_u64().unwrap() > offered);
            return (offered, ran);
        }
    }
    unreachable!("it is dropped")
}

#[test]
fn after_eight_attempts_an_event_is_dropped_reported_and_recorded() {
    let world = World::new();
    let (offered, ran) = offered_until_dropped(&world, &["--claim", "250ms"]);
    assert_eq!(offered, 8);
    assert!(
        ran.stderr
            .contains("for the last time: it was delivered several"),
        "{ran:?}"
    );
    assert_dropped(&world, "attempts");
}

#[test]
fn the_number_of_attempts_is_configurable() {
    let world = World::new();
    configure(&world, "[inbox]\nclaim = \"250ms\"\nattempts = 3\n");
    assert_eq!(offered_until_dropped(&world, &[]).0, 3);
    assert_dropped(&world, "attempts");
}

#[test]
fn an_event_that_is_too_old_is_dropped_reported_and_recorded() {
    let world = World::new();
    configure(&world, "[inbox]\nkeep = \"1ms\"\n");
    let event = end_event(&world, &ended(&world, "true"));
    // An event that has never been told is not dropped, however old it is.
    let first = only_event(&inbox(&world, &["--claim", "2s"]));
    assert_eq!(
        (&first["event"], &first["last"]),
        (&json!(event), &Value::Null)
    );
    let ran = world.outlive(&["inbox", "--session", ME, "--json", "--wait=20s"]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(only_event(&answer)["last"], "age");
    assert_eq!(answer["dropped"], json!([event]));
    assert!(ran.stderr.contains(&event), "{ran:?}");
    assert!(ran.stderr.contains("it was delivered long ago"), "{ran:?}");
    assert_dropped(&world, "age");
}

/// Checks that the only job's event was dropped for this reason and is not told any more.
fn assert_dropped(world: &World, why: &str) {
    let id = world.listed(&["--state", "all"]).remove(0);
    let record = fs::read_to_string(world.job_dir(&id).join("told")).unwrap();
    let dropped = format!("\"note\":{{\"dropped\":{{\"why\":\"{why}\"}}}}");
    assert_eq!(record.matches(&dropped).count(), 1, "{record}");
    assert_nothing_waits(world);
    // `prune` removes the job, so its event does not count as untold.
    assert_eq!(
        world.json(&["prune", "--all", "--json"])["removed"],
        json!([id])
    );
}

/// A command may be a script of many kilobytes.
#[test]
fn a_long_command_is_cut_in_news_and_no_secret_is_cut_in_half() {
    let world = World::new();
    let secret = format!("sk-proj-{}", "Ab1".repeat(20));
    let script = format!(": {} {secret} {}", "y".repeat(480), "z".repeat(100_000));
    let id = world.ok(&["run", "--session", "s", "--shell", &script]);
    world.outlive(&["wait", &id]);
    let told = world.ok(&["inbox", "--session", "s", "--peek"]);
    assert!(told.len() < 2000, "{}", told.len());
    assert!(
        told.contains("Command:\n| : yyy") && told.contains('…'),
        "{told}"
    );
    assert!(
        told.contains("[redacted") && !told.contains("Ab1"),
        "{told}"
    );
}
