//! Events of one release's jobs, delivered by another release: each event once, whichever release delivers and acks
//! it.

use super::{Meeting, bare, both_ways};
use outlive_testkit::processes::{begin, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::WAITS;
use outlive_testkit::waiting::until;
use serde_json::{Value, json};
use std::fs;

const SESSION: &str = "me";
const NONE: [Value; 0] = [];

#[test]
fn readiness_and_matches_of_the_other_release_are_waited_for_and_told() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        let options = [
            "--session",
            SESSION,
            "--watch",
            "warning",
            "--ready",
            "line:up",
            "--quiet-after",
            "50ms",
        ];
        let script = format!("echo up; echo warning: low; {WAITS} exit 2");
        let id = host.start(&options, &script);
        guest.ok(&["wait", &id, "--for", "ready", "--timeout", "30s"]);
        assert_eq!(guest.show(&id)["ready"], true);
        until("all of it is noticed", || {
            ["matched", "ready", "quiet"]
                .iter()
                .all(|kind| meeting.world.events(&id, kind).len() == 1)
        });
        let told = guest.inbox(SESSION, &["--ack-all"]);
        let kinds: Vec<&str> = told
            .iter()
            .filter_map(|event| event["kind"].as_str())
            .collect();
        for kind in ["matched", "quiet"] {
            assert!(kinds.contains(&kind), "{kinds:?}");
        }
        assert_eq!(host.inbox(SESSION, &[]), NONE);
        meeting.let_go();
        let end = guest.inbox(SESSION, &["--wait=30s"]);
        assert_eq!(end.len(), 1, "{end:?}");
        assert_eq!(end[0]["data"]["exit_code"], 2);
    });
}

/// The first release does not know the event `lingering_ended`, and must ignore it.
#[test]
fn a_job_that_left_processes_behind_is_told_and_closed() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        let script = format!("({WAITS} echo bye) & exit 2");
        let id = host.start(&["--session", SESSION], &script);
        let end = guest.inbox(SESSION, &["--wait=30s", "--ack-all"]);
        assert_eq!(end.len(), 1, "{end:?}");
        meeting.let_go();
        meeting.world.until_over(&id);
        for side in [host, guest] {
            let job = side.show(&id);
            assert_eq!(
                (&job["lingering"], &job["exit_code"]),
                (&json!(0), &json!(2))
            );
            assert_eq!(side.ok(&["log", &id]), "bye");
            side.inbox(SESSION, &["--ack-all"]);
        }
        assert_eq!(host.inbox(SESSION, &[]), NONE);
        assert_eq!(guest.inbox(SESSION, &[]), NONE);
    });
}

#[test]
fn a_claim_or_an_ack_counts_for_both_releases() {
    both_ways(|meeting| {
        let sides = [&meeting.host, &meeting.guest];
        for (teller, other) in [(sides[1], sides[0]), (sides[0], sides[1])] {
            let id = meeting.host.start(&["--session", SESSION], "exit 3");
            meeting.world.until_over(&id);
            let told = teller.inbox(SESSION, &[]);
            assert_eq!(told.len(), 1, "{told:?}");
            assert_eq!(
                (&told[0]["kind"], &told[0]["job"]),
                (&json!("ended"), &json!(id))
            );
            assert_eq!(other.inbox(SESSION, &[]), NONE, "it is claimed");
            let event = told[0]["event"].as_str().unwrap();
            teller.ok(&["inbox", "--session", SESSION, "--ack", event]);
            assert_nothing_waits(meeting);
        }
    });
}

fn assert_nothing_waits(meeting: &Meeting) {
    for side in [&meeting.host, &meeting.guest] {
        assert_eq!(side.inbox(SESSION, &[]), NONE);
        let ended = side.json(&["session", "end", SESSION, "--json"]);
        assert_eq!(ended["kept"], 0, "{ended}");
    }
}

#[test]
fn an_inbox_waiter_is_woken_by_jobs_and_posts_of_the_other_release() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        let wait = ["inbox", "--session", SESSION, "--wait=30s", "--json"];
        let waiter = begin(guest.command(&wait));
        until_blocked(waiter.id() as i32);
        // The job starts while the waiter waits. The launcher rings the waiter's bell, then the keeper tells it the
        // end.
        let id = host.start(&["--session", SESSION], "exit 0");
        let answer: Value = serde_json::from_str(&Ran::end_of(waiter).stdout).unwrap();
        assert_eq!(answer["events"][0]["job"], id.as_str());
        guest.ok(&["inbox", "--session", SESSION, "--ack-all"]);

        let post = meeting.world.path("post.json");
        fs::write(
            &post,
            json!({ "goal": "look", "status": "completed" }).to_string(),
        )
        .unwrap();
        let waiter = begin(guest.command(&wait));
        until_blocked(waiter.id() as i32);
        let posted = host.ok(&["post", "--session", SESSION, post.to_str().unwrap()]);
        let answer: Value = serde_json::from_str(&Ran::end_of(waiter).stdout).unwrap();
        let told = answer["events"][0]["event"].as_str().unwrap();
        assert_eq!(bare(told), bare(&posted));
        assert_eq!(answer["events"][0]["kind"], "delegation");
        guest.ok(&["inbox", "--session", SESSION, "--ack", told]);
        assert_nothing_waits(meeting);
    });
}

#[test]
fn a_doorbell_is_rung_once_for_a_job_that_another_release_stops() {
    both_ways(|meeting| {
        let rung = meeting.world.path("rung");
        let bell = format!("cat >>{}", rung.display());
        let id = meeting.host.start(&["--on-end", &bell], "exec sleep 60");
        meeting.guest.ok(&["stop", &id]);
        meeting.world.until_over(&id);
        let text = fs::read_to_string(&rung).unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&event["kind"], &event["job"]),
            (&json!("ended"), &json!(id))
        );
        let bells = &meeting.guest.show(&id)["doorbells"];
        assert_eq!(bells[0]["state"], "rung", "{bells}");
    });
}

#[test]
fn a_doorbell_is_rung_by_whoever_adopts_the_job() {
    both_ways(|meeting| {
        let rung = meeting.world.path("rung");
        let bell = format!("cat >>{}", rung.display());
        let script = format!("{WAITS} exit 6");
        let id = meeting.host.start(&["--on-end", &bell], &script);
        meeting.world.kill_both(&id);
        meeting.guest.show(&id);
        meeting.let_go();
        assert_eq!(meeting.guest.wait(&id), 6);
        meeting.world.until_over(&id);
        let event: Value = serde_json::from_str(&fs::read_to_string(&rung).unwrap()).unwrap();
        assert_eq!(event["data"]["exit_code"], 6, "{event}");
    });
}
