//! Programs that know no attempts, beside a job that is restarted.

use super::{Meeting, both_ways};
use outlive_testkit::checks::{assert_nothing_is_left, exited, keepings, until_output};
use outlive_testkit::scripts::WAITS;
use outlive_testkit::waiting::until;
use serde_json::json;

/// Fails in its first attempt. The second waits, and exits with 7.
fn until_second_attempt(meeting: &Meeting) -> Option<String> {
    if !meeting.host.knows("--restart") {
        return None;
    }
    let once = meeting.world.path("once");
    let script = format!(
        "echo try; [ -e {once} ] || {{ touch {once}; exit 1; }}; {WAITS} exit 7",
        once = once.display()
    );
    let id = meeting.host.start(&["--restart", "on-failure:1"], &script);
    until_output(meeting.world, &id, "try\ntry\n");
    Some(id)
}

/// No end of an attempt is taken for the end of the job.
#[test]
fn an_older_program_sees_such_a_job_run_until_its_last_attempt_has_ended() {
    both_ways(|meeting| {
        let Some(id) = until_second_attempt(meeting) else {
            return;
        };
        let shown = meeting.guest.show(&id);
        assert_eq!(
            (&shown["state"], &shown["exit_code"]),
            (&json!("running"), &json!(null)),
            "{shown}"
        );
        meeting.let_go();
        assert_eq!((meeting.guest.wait(&id), meeting.host.wait(&id)), (7, 7));
        assert_eq!(meeting.guest.show(&id)["outcome"], exited(7));
        assert_nothing_is_left(meeting.world, &id);
    });
}

#[test]
fn an_older_program_stops_such_a_job_for_good() {
    both_ways(|meeting| {
        let Some(id) = until_second_attempt(meeting) else {
            return;
        };
        meeting.guest.ok(&["stop", &id]);
        assert_nothing_is_left(meeting.world, &id);
        assert_eq!(meeting.host.show(&id)["ended_by"], "stop");
        assert_eq!(meeting.host.show(&id)["attempt"], 2);
    });
}

/// It would look for the first leader, and record the job as lost while the second runs.
#[test]
fn an_older_program_does_not_adopt_such_a_job_after_its_first_attempt() {
    both_ways(|meeting| {
        let Some(id) = until_second_attempt(meeting) else {
            return;
        };
        meeting.world.kill_both(&id);
        let refused = meeting.guest.ran(&["show", &id]);
        assert!(
            refused.code != 0 && refused.stderr.contains("newer"),
            "{refused:?}"
        );
        assert_eq!(meeting.world.events(&id, "ended").len(), 0);
        assert_eq!(meeting.host.show(&id)["state"], "running");
        assert_eq!(keepings(meeting.world, &id), ["launched", "adopted"]);
        meeting.let_go();
        assert_eq!(meeting.host.wait(&id), 7);
        assert_nothing_is_left(meeting.world, &id);
    });
}

/// Until then it is a job like any other.
#[test]
fn a_first_attempt_that_an_older_program_adopts_is_the_last() {
    both_ways(|meeting| {
        if !meeting.host.knows("--restart") {
            return;
        }
        let script = format!("echo before; {WAITS} exit 9");
        let id = meeting.host.start(&["--restart", "always"], &script);
        until_output(meeting.world, &id, "before\n");
        meeting.world.kill_both(&id);
        assert_eq!(meeting.guest.show(&id)["state"], "running");
        meeting.guest.assert_keeps(&id);
        meeting.let_go();
        until("it has ended", || {
            meeting.host.show(&id)["state"] == "ended"
        });
        assert_eq!((meeting.guest.wait(&id), meeting.host.wait(&id)), (9, 9));
        assert_nothing_is_left(meeting.world, &id);
    });
}
