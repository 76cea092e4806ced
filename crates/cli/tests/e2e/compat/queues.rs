//! Jobs in a queue and after others, and programs that know neither.

use super::both_ways;
use outlive_testkit::checks::{assert_nothing_is_left, exited, keepings, until_output};
use outlive_testkit::scripts::WAITS;

/// An older program shows such jobs, stops one that waits, and keeps one that runs. The turns go on as they should.
#[test]
fn an_older_program_uses_the_jobs_of_a_queue_and_loses_no_turn() {
    both_ways(|meeting| {
        let (newer, older) = match meeting.host.knows("--queue") {
            true => (&meeting.host, &meeting.guest),
            false => (&meeting.guest, &meeting.host),
        };
        let queue = ["--queue", "q"];
        let script = format!("echo before; {WAITS} exit 7");
        let first = newer.start(&queue, &script);
        until_output(meeting.world, &first, "before\n");
        let second = newer.start(&queue, "exit 8");
        let third = newer.start(&queue, "exit 9");
        for id in [&second, &third] {
            assert_eq!(older.show(id)["state"], "starting", "{id}");
        }
        older.ok(&["stop", &second]);
        let stopped = newer.show(&second);
        assert_eq!(stopped["outcome"]["kind"], "not_started", "{stopped}");
        assert_eq!(newer.show(&third)["waiting_for"]["position"], 1);

        meeting.world.kill_both(&first);
        assert_eq!(older.show(&first)["state"], "running");
        older.assert_keeps(&first);
        assert_eq!(keepings(meeting.world, &first), ["launched", "adopted"]);
        let last = newer.start(&["--after", &first], "exit 5");
        for id in [&third, &last] {
            assert_eq!(newer.show(id)["state"], "waiting", "{id}");
        }
        meeting.let_go();
        assert_eq!(older.wait(&first), 7);
        assert_eq!((older.wait(&third), older.wait(&last)), (9, 5));
        for id in [&first, &third, &last] {
            assert_nothing_is_left(meeting.world, id);
        }
        let began = meeting.world.boot_ms(&third, "spawned");
        assert!(began >= meeting.world.boot_ms(&first, "ended"));
        assert_eq!(older.show(&third)["outcome"], exited(9));
        older.ok(&["prune", "--all"]);
        let again = newer.start(&queue, "exit 6");
        assert_eq!(older.wait(&again), 6);
    });
}
