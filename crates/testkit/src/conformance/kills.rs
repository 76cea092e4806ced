//! SIGKILL for the keepers of a job, or for the client that started it.

use super::Case;
use super::steps::{
    assert_ended, assert_output, delivered, end_of, kill_client, kinds, let_go, start,
    until_printed, wait_for_go,
};
use crate::checks::{exited, keepings, signaled};
use crate::processes::KILL;
use crate::scripts::numbers;
use crate::waiting::until;
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "a_killed_keeper_loses_nothing",
        promise: "the standby takes over: output and exit code are exact",
        check: |world| {
            survives(world, World::kill_keeper);
        },
    },
    Case {
        name: "a_killed_standby_loses_nothing",
        promise: "the keeper starts another: output and exit code are exact",
        check: |world| {
            survives(world, World::kill_standby);
        },
    },
    Case {
        name: "both_keepers_killed_lose_nothing",
        promise: "the next verb adopts the job: output and exit code are exact",
        check: |world| {
            survives(world, |world, id| {
                world.kill_both(id);
                // Any verb adopts the job.
                assert_eq!(world.show(id)["state"], "running");
            });
        },
    },
    Case {
        name: "a_keeper_killed_while_the_job_writes_loses_no_byte",
        promise: "a large output that was being copied when the keeper died is exact",
        check: killed_while_it_copies,
    },
    Case {
        name: "input_survives_a_killed_keeper",
        promise: "what is sent before and after the keeper was killed arrives, once and in order",
        check: |world| {
            let id = start(world, &["--stdin", "pipe"], "cat; exit 4");
            world.ok(&["send", &id, "before", "--enter"]);
            world.kill_keeper(&id);
            world.ok(&["send", &id, "after", "--enter", "--eof"]);
            assert_ended(&world.wait(&id), &exited(4), 4, "itself");
            assert_output(world, &id, b"before\nafter\n");
        },
    },
    Case {
        name: "input_ends_when_both_keepers_are_killed",
        promise: "a reader is not left waiting: it reads the end of file, and later sends are refused",
        check: |world| {
            let script = format!("cat; {}; exit 4", wait_for_go(world));
            let id = start(world, &["--stdin", "pipe"], &script);
            world.ok(&["send", &id, "before", "--enter"]);
            until_printed(world, &id, "before\n");
            world.kill_both(&id);
            let ran = world.outlive(&["send", &id, "after", "--enter"]);
            assert_eq!(ran.code, 125, "{ran:?}");
            let_go(world);
            assert_ended(&world.wait(&id), &exited(4), 4, "itself");
            assert_output(world, &id, b"before\n");
        },
    },
    Case {
        name: "an_unkept_job_can_be_stopped",
        promise: "stop works after both keepers were killed",
        check: |world| {
            let id = start(world, &[], "echo up; exec sleep 60");
            until_printed(world, &id, "up\n");
            world.kill_both(&id);
            let job = world.job(&["stop", &id, "--json"]);
            assert_ended(&job, &signaled("SIGTERM"), 143, "stop");
            world.until_nothing_runs();
        },
    },
    Case {
        name: "an_end_that_nobody_saw_is_not_invented",
        promise: "a job that was killed with both its keepers is lost, not successful",
        check: |world| {
            let id = start(world, &["--session", "s"], "echo up; exec sleep 60");
            until_printed(world, &id, "up\n");
            let leader = world.place().process(world.leader(&id)).unwrap();
            world.kill_both(&id);
            world.place().signal(leader, KILL);
            until("the job is gone", || {
                world.place().process(leader.pid) != Some(leader)
            });
            let job = world.wait(&id);
            // The exit status can still be read if no process has reaped the leader.
            let kind = job["outcome"]["kind"].as_str().unwrap();
            let is_exact = job["outcome"] == signaled("SIGKILL");
            assert!(kind == "lost" || is_exact, "{job}");
            assert_eq!(kinds(&delivered(world, "s")), ["ended"]);
        },
    },
    Case {
        name: "a_killed_client_does_not_matter",
        promise: "the job outlives run --wait, wait and log --follow that were killed",
        check: |world| {
            let script = format!("echo up; {}; exit 6", wait_for_go(world));
            let run = world.begin(&["run", "--id", "job", "--wait", "--shell", &script]);
            until("it was started", || {
                world.outlive(&["show", "job"]).code == 0
            });
            until_printed(world, "job", "up\n");
            kill_client(run);
            for args in [&["wait", "job"][..], &["log", "job", "--follow"]] {
                let client = world.begin(args);
                assert_eq!(world.show("job")["state"], "running");
                kill_client(client);
            }
            assert_eq!(world.show("job")["state"], "running");
            let_go(world);
            assert_ended(&world.wait("job"), &exited(6), 6, "itself");
            assert_output(world, "job", b"up\n");
        },
    },
    Case {
        name: "a_waiter_hears_of_the_end_though_the_keeper_was_killed",
        promise: "wait returns with the exit code, even if keepers were replaced meanwhile",
        check: |world| {
            let id = start(world, &[], &format!("{}; exit 9", wait_for_go(world)));
            let waiter = world.begin(&["wait", &id]);
            world.kill_keeper(&id);
            until("the standby has taken over", || {
                keepings(world, &id) == ["launched", "taken_over"]
            });
            let_go(world);
            assert_eq!(end_of(waiter).code, 9);
        },
    },
];

/// A job prints, then something is killed, then the job prints again. It must end as without a kill, and be told once.
fn survives(world: &World, kill: fn(&World, &str)) {
    let script = format!("seq 1 1000; {}; seq 1001 50000; exit 7", wait_for_go(world));
    let id = start(world, &["--session", "s"], &script);
    until_printed(world, &id, "1000\n");
    kill(world, &id);
    assert_eq!(world.show(&id)["state"], "running");
    let_go(world);
    assert_ended(&world.wait(&id), &exited(7), 7, "itself");
    assert_output(world, &id, &numbers(50_000));
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(kinds(&delivered(world, "s")), ["ended"]);
    world.until_nothing_runs();
}

fn killed_while_it_copies(world: &World) {
    let script = format!("{}; seq 1 2000000; exit 3", wait_for_go(world));
    let id = start(world, &[], &script);
    let (keeper, _) = world.settled_pair(&id);
    let keeper = world.place().process(keeper).unwrap();
    let_go(world);
    until("it writes", || world.show(&id)["output"]["bytes"] != 0);
    world.place().signal(keeper, KILL);
    assert_ended(&world.wait(&id), &exited(3), 3, "itself");
    assert_output(world, &id, &numbers(2_000_000));
}
