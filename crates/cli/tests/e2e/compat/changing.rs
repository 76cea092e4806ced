//! Jobs of one release that are changed, watched and labeled, used with the verbs of another.

use super::{Meeting, both_ways};
use outlive_testkit::checks::{exited, keepings, until_output};
use outlive_testkit::ran::ids_of;
use outlive_testkit::scripts::WAITS;
use outlive_testkit::waiting::until;
use serde_json::{Value, json};

/// Whether the release that keeps the jobs can change them.
fn is_new(meeting: &Meeting) -> bool {
    meeting.host.knows("--label")
}

#[test]
fn a_job_of_an_earlier_release_says_why_it_cannot_be_changed_while_it_runs() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        if is_new(meeting) {
            return;
        }
        let id = host.start(&["--watch", "x"], &format!("echo up; {WAITS} exit 3"));
        until_output(meeting.world, &id, "up\n");
        for args in [["watch", &id, "y"], ["label", &id, "k=v"]] {
            let ran = guest.ran(&args);
            assert_eq!(ran.code, 125, "{ran:?}");
            assert!(ran.stderr.contains("earlier release"), "{ran:?}");
        }
        assert_eq!(guest.show(&id)["watch"]["patterns"], json!([{"text": "x"}]));
        meeting.let_go();
        assert_eq!(guest.wait(&id), 3);
        meeting.world.until_over(&id);
        guest.ok(&["label", &id, "k=v"]);
        assert_eq!(guest.show(&id)["labels"], json!({"k": "v"}));
        // The earlier release skips what it does not know.
        assert_eq!(host.show(&id)["outcome"], exited(3));
        assert_eq!(ids_of(&host.json(&["list", "--json"])), [id.as_str()]);
        assert_eq!(host.wait(&id), 3);
    });
}

#[test]
fn a_job_that_was_changed_is_used_and_adopted_by_an_earlier_release() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        if !is_new(meeting) {
            return;
        }
        let script = format!("echo up; {WAITS} echo ERROR; echo old; exit 4");
        let id = host.start(
            &["--session", "s", "--watch", "old", "--label", "a=1"],
            &script,
        );
        until_output(meeting.world, &id, "up\n");
        host.ok(&["watch", &id, "ERROR"]);
        host.ok(&["label", &id, "a=2"]);
        assert_eq!(guest.show(&id)["state"], "running");
        // Its pair takes over, and knows only the watch that the job was started with.
        meeting.world.kill_both(&id);
        assert_eq!(guest.show(&id)["state"], "running");
        until("it is adopted", || {
            keepings(meeting.world, &id) == ["launched", "adopted"]
        });
        guest.assert_keeps(&id);
        meeting.let_go();
        host.wait(&id);
        let told: Vec<Value> = meeting.world.events(&id, "matched");
        let texts: Vec<&Value> = told.iter().map(|it| &it["last"]["text"]).collect();
        assert_eq!(texts, ["old"]);
        assert_eq!(host.show(&id)["labels"], json!({"a": "2"}));
        assert_eq!(host.show(&id)["outcome"], guest.show(&id)["outcome"]);
        let kinds = guest.inbox("s", &[]).into_iter();
        let kinds: Vec<Value> = kinds.map(|event| event["kind"].clone()).collect();
        assert_eq!(kinds, ["matched", "ended"]);
    });
}
