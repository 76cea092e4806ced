//! Running jobs of one release, used with the verbs of another.

use super::both_ways;
use outlive_testkit::checks::{exited, signaled, until_output, until_wrote};
use outlive_testkit::processes::begin;
use outlive_testkit::ran::{Ran, ids_of};
use outlive_testkit::scripts::WAITS;
use serde_json::json;

#[test]
fn a_running_job_is_listed_shown_signaled_and_stopped() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        let script = "trap 'echo heard' USR1; echo up; while :; do sleep 0.02; done";
        let id = host.start(&["--name", "web"], script);
        until_output(meeting.world, &id, "up\n");
        assert_eq!(ids_of(&guest.json(&["list", "--json"])), [id.as_str()]);
        let shown = guest.show("web");
        assert_eq!(
            (&shown["id"], &shown["state"]),
            (&json!(id), &json!("running"))
        );
        assert_eq!(shown["pid"], host.show(&id)["pid"]);
        assert_eq!(guest.ok(&["log", &id]), "up");
        assert_eq!(guest.ran(&["wait", &id, "--timeout", "10ms"]).code, 124);
        guest.ok(&["signal", &id, "USR1"]);
        until_wrote(meeting.world, &id, "heard\n");
        let stopped = guest.ok(&["stop", &id, "--grace", "20s"]);
        assert!(stopped.contains("SIGTERM"), "{stopped}");
        let ended = guest.show(&id);
        assert_eq!(ended["outcome"], signaled("SIGTERM"));
        assert_eq!(ended["ended_by"], "stop");
        assert_eq!((guest.wait(&id), host.wait(&id)), (143, 143));
        meeting.world.until_nothing_runs();
    });
}

#[test]
fn output_is_followed_to_the_end() {
    both_ways(|meeting| {
        let script = format!("echo first; {WAITS} seq 1 2000; exit 7");
        let id = meeting.host.start(&[], &script);
        until_output(meeting.world, &id, "first\n");
        let follower = begin(meeting.guest.command(&["log", &id, "--follow"]));
        let waiter = begin(meeting.guest.command(&["wait", &id]));
        meeting.let_go();
        let followed = Ran::end_of(follower);
        let expected: String = (1..=2000).map(|n| format!("{n}\n")).collect();
        assert_eq!(followed.stdout, format!("first\n{expected}"));
        assert_eq!(Ran::end_of(waiter).code, 7);
        assert_eq!(meeting.guest.show(&id)["outcome"], exited(7));
    });
}

#[test]
fn a_terminal_job_can_be_typed_to_resized_and_viewed() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        let script = "echo up; while read -r line; do echo \"<$line>\"; stty size; done; exit 4";
        let id = host.start(&["--pty=24x80"], script);
        until_output(meeting.world, &id, "up\r\n");
        guest.until_shown(&id, "awaiting_input", &json!(true));
        guest.ok(&["send", &id, "hello", "--enter"]);
        until_wrote(meeting.world, &id, "<hello>\r\n24 80\r\n");
        guest.ok(&["resize", &id, "33x44"]);
        guest.ok(&["send", &id, "again", "--enter"]);
        until_wrote(meeting.world, &id, "<again>\r\n33 44\r\n");
        let screen = guest.json(&["log", &id, "--screen", "--json"]);
        assert_eq!((&screen["rows"], &screen["cols"]), (&json!(33), &json!(44)));
        guest.ok(&["send", &id, "--key", "C-d"]);
        assert_eq!(guest.wait(&id), 4);
    });
}

#[test]
fn a_pipe_job_gets_its_input_once_and_its_end() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        let id = host.ok(&["run", "--stdin", "pipe", "--", "cat"]);
        guest.ok(&["wait", &id, "--for", "input"]);
        for side in [host, guest] {
            // The keeper recognises a repeated write by its ID, whichever release repeats it.
            side.ok(&["send", &id, "one\n", "--write-id", "w"]);
        }
        // The first release does not report whether a write was a repetition.
        let again = host.json(&["send", &id, "one\n", "--write-id", "w", "--json"]);
        assert!(
            again["repeated"].is_null() || again["repeated"] == true,
            "{again}"
        );
        guest.ok(&["send", &id, "two\n"]);
        guest.ok(&["send", &id, "--eof"]);
        assert_eq!(guest.wait(&id), 0);
        assert_eq!(meeting.world.output(&id), b"one\ntwo\n");
    });
}

#[test]
fn both_releases_agree_on_what_was_dropped() {
    both_ways(|meeting| {
        let script = format!("seq 1 100000; echo up; {WAITS} seq 100001 150000");
        let id = meeting.host.start(&["--max-output", "64K"], &script);
        until_wrote(meeting.world, &id, "\nup\n");
        let read = || {
            let (host, guest) = (&meeting.host, &meeting.guest);
            let output = &guest.show(&id)["output"];
            assert!(
                output["dropped_bytes"].as_u64().unwrap() > 400_000,
                "{output}"
            );
            assert_eq!(
                output["dropped_bytes"],
                host.show(&id)["output"]["dropped_bytes"]
            );
            let all = ["log", &id, "--lines", "1000000"];
            assert_eq!(guest.ok(&all), host.ok(&all));
        };
        read();
        // The keepers of the other release must drop the same parts.
        meeting.world.kill_both(&id);
        read();
        meeting.let_go();
        assert_eq!(meeting.guest.wait(&id), 0);
        read();
        assert_eq!(meeting.guest.ok(&["log", &id, "--lines", "1"]), "150000");
    });
}
