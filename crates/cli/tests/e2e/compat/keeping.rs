//! Keepers of one release with verbs of another: locks, leftovers, killed keepers, adoption.

use super::both_ways;
use outlive_testkit::checks::{assert_nothing_is_left, exited, keepings, signaled, until_output};
use outlive_testkit::processes::{begin, kill, kill_for_good};
use outlive_testkit::scripts::WAITS;
use serde_json::json;
use std::fs;

#[test]
fn jobs_of_both_releases_share_one_lock() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        let lock = ["--lock", "door"];
        let holder = host.start(&lock, "exec sleep 60");
        let waiter = host.start(&lock, "exec sleep 60");
        let shown = guest.show(&waiter);
        assert_eq!(shown["state"], "waiting", "{shown}");
        assert_eq!(shown["waiting_for"]["holder"], holder.as_str(), "{shown}");
        guest.ok(&["stop", &holder]);
        guest.until_shown(&waiter, "state", &json!("running"));
        // Started only now, because of two waiting jobs either could get the lock first.
        let last = guest.start(&lock, "exit 3");
        let shown = host.show(&last);
        assert_eq!(shown["state"], "waiting", "{shown}");
        assert_eq!(shown["waiting_for"]["holder"], waiter.as_str(), "{shown}");
        host.ok(&["stop", &waiter]);
        assert_eq!(guest.wait(&last), 3);
    });
}

#[test]
fn a_job_that_waits_for_its_lock_can_be_stopped() {
    both_ways(|meeting| {
        let (host, guest) = (&meeting.host, &meeting.guest);
        host.start(&["--lock", "door"], "exec sleep 60");
        let waiter = host.start(&["--lock", "door"], "echo ran");
        guest.ok(&["stop", &waiter]);
        let shown = guest.show(&waiter);
        assert_eq!(shown["outcome"]["kind"], "not_started", "{shown}");
        assert_eq!(meeting.world.output(&waiter), b"");
    });
}

#[test]
fn lingering_processes_of_the_other_release_are_seen_and_stopped() {
    both_ways(|meeting| {
        let id = meeting.host.start(&[], "sleep 60 & exit 5");
        assert_eq!(meeting.guest.wait(&id), 5);
        let shown = meeting.guest.show(&id);
        assert_eq!(
            (&shown["state"], &shown["lingering"]),
            (&json!("ended"), &json!(1))
        );
        meeting.guest.ok(&["prune", "--all"]);
        assert_eq!(meeting.guest.show(&id)["exit_code"], 5, "a part of it runs");
        meeting.guest.ok(&["stop", &id]);
        assert_nothing_is_left(meeting.world, &id);
        assert_eq!(meeting.guest.show(&id)["outcome"], exited(5));
        meeting.guest.ok(&["prune", "--all"]);
        assert_eq!(meeting.host.ran(&["show", &id]).code, 3);
    });
}

#[test]
fn a_second_start_of_what_runs_is_the_running_job() {
    both_ways(|meeting| {
        let again = |side: &super::Side| {
            let args = [
                "run",
                "--session",
                "me",
                "--unless-running",
                "--",
                "sleep",
                "60",
            ];
            side.ok(&args)
        };
        let id = again(&meeting.host);
        assert_eq!(again(&meeting.guest), id);
    });
}

#[test]
fn the_standby_takes_over_from_a_killed_keeper() {
    both_ways(|meeting| {
        let script = format!("echo before; {WAITS} echo after; exit 9");
        let id = meeting.host.start(&[], &script);
        until_output(meeting.world, &id, "before\n");
        meeting.host.assert_keeps(&id);
        kill_for_good(meeting.world.pair(&id).keeper);
        assert_eq!(meeting.guest.show(&id)["state"], "running");
        meeting.let_go();
        assert_eq!(meeting.guest.wait(&id), 9);
        assert_eq!(keepings(meeting.world, &id), ["launched", "taken_over"]);
        assert_eq!(meeting.world.output(&id), b"before\nafter\n");
        assert_nothing_is_left(meeting.world, &id);
    });
}

/// Kills both keepers. A verb of the other release then starts a pair of its own, which adopts the job.
fn adopted(options: &[&str], script: &str, check: impl Fn(&super::Meeting, &str) + Sync) {
    both_ways(|meeting| {
        let id = meeting.host.start(options, script);
        until_output(meeting.world, &id, "before\n");
        meeting.world.kill_both(&id);
        assert_eq!(meeting.guest.show(&id)["state"], "running");
        assert_eq!(keepings(meeting.world, &id), ["launched", "adopted"]);
        meeting.guest.assert_keeps(&id);
        check(meeting, &id);
        assert_nothing_is_left(meeting.world, &id);
    });
}

#[test]
fn a_job_without_keepers_is_adopted_and_its_outcome_is_exact() {
    let script = format!("echo before; {WAITS} echo after; exit 9");
    adopted(&[], &script, |meeting, id| {
        assert_eq!(meeting.host.show(id)["state"], "running");
        meeting.let_go();
        assert_eq!((meeting.guest.wait(id), meeting.host.wait(id)), (9, 9));
        assert_eq!(meeting.guest.show(id)["outcome"], exited(9));
        assert_eq!(meeting.world.output(id), b"before\nafter\n");
    });
}

#[test]
fn either_release_can_stop_an_adopted_job() {
    let script = "(trap '' TERM; exec sleep 60) & echo before; exec sleep 60";
    adopted(&["--grace", "200ms"], script, |meeting, id| {
        meeting.host.ok(&["stop", id]);
        assert_eq!(meeting.guest.show(id)["outcome"], signaled("SIGTERM"));
        assert_eq!(meeting.guest.show(id)["ended_by"], "stop");
    });
}

#[test]
fn the_log_of_a_detached_job_is_exact_after_an_adoption() {
    both_ways(|meeting| {
        let log = meeting.world.path("log");
        fs::write(&log, "there\n").unwrap();
        let script = format!("echo before; {WAITS} echo after");
        let args = [
            "detach",
            "--id",
            "d",
            log.to_str().unwrap(),
            "--",
            "bash",
            "-c",
            &script,
        ];
        meeting.host.ok(&args);
        until_output(meeting.world, "d", "before\n");
        meeting.world.kill_both("d");
        assert_eq!(meeting.guest.show("d")["state"], "running");
        meeting.let_go();
        assert_eq!(meeting.guest.wait("d"), 0);
        assert_nothing_is_left(meeting.world, "d");
        assert_eq!(fs::read(&log).unwrap(), b"there\nbefore\nafter\n");
    });
}

/// The first release has no `--foreground`. It shows such a job as one that is being stopped.
#[test]
fn a_job_that_its_container_stops_is_shown_as_stopping() {
    both_ways(|meeting| {
        if !meeting.host.knows("--foreground") {
            return;
        }
        let script = "trap '' TERM; echo up; exec sleep 60";
        let options = ["run", "--foreground", "--id", "job", "--grace", "30s"];
        let command = [&options, &["--", "sh", "-c", script][..]].concat();
        let mut front = begin(meeting.host.command(&command));
        until_output(meeting.world, "job", "up\n");
        kill(front.id() as i32, 15);
        let stopping = json!("stopping");
        meeting.guest.until_shown("job", "state", &stopping);
        meeting.guest.ok(&["stop", "job", "--grace", "0s"]);
        assert_eq!(front.wait().unwrap().code(), Some(137));
        assert_eq!(meeting.guest.show("job")["ended_by"], "place");
    });
}
