//! A job with split streams, and programs that do not know them.

use super::both_ways;
use outlive_testkit::checks::{assert_nothing_is_left, exited, keepings, until_output};
use outlive_testkit::scripts::WAITS;
use serde_json::json;

/// An older program shows such a job, reads its output and waits for its end. It does not keep it: its keeper would read
/// only one of the two feeds.
#[test]
fn an_older_program_reads_a_split_job_and_does_not_keep_it() {
    both_ways(|meeting| {
        let (newer, older) = match meeting.host.knows("--streams") {
            true => (&meeting.host, &meeting.guest),
            false => (&meeting.guest, &meeting.host),
        };
        let script = format!("echo before; {WAITS} echo after >&2; exit 9");
        let split = ["--streams", "split"];
        let id = newer.start(&split, &script);
        until_output(meeting.world, &id, "before\n");
        assert_eq!(older.show(&id)["state"], "running");
        assert_eq!(older.ok(&["log", &id]), "before");
        meeting.world.kill_both(&id);
        let refused = older.ran(&["show", &id]);
        assert!(
            refused.stderr.contains("use a newer outlive"),
            "{refused:?}"
        );
        assert_eq!(keepings(meeting.world, &id), ["launched"]);
        assert_eq!(newer.show(&id)["state"], "running");
        assert_eq!(keepings(meeting.world, &id), ["launched", "adopted"]);
        meeting.let_go();
        assert_eq!(older.wait(&id), 9);
        assert_nothing_is_left(meeting.world, &id);
        assert_eq!(older.ok(&["log", &id]), "before\nafter");
        assert_eq!(older.show(&id)["outcome"], exited(9));
        assert_eq!(newer.ok(&["log", &id, "--stderr"]), "after");
        older.ok(&["prune", "--all"]);
        assert_eq!(newer.ran(&["show", &id]).code, 3);
        assert_eq!(
            newer.show(&newer.start(&split, "true"))["streams"],
            json!("split")
        );
    });
}
