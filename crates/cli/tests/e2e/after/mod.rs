//! `--after`: a job that starts when others have ended.

use crate::locks::{errand, errands};
use outlive_testkit::checks::{every, exited, keepings};
use outlive_testkit::processes::{is_alive, kill_for_good, sleeps_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, ok, over, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;

/// Starts a job that runs after others.
fn after(world: &World, others: &[&str], script: &str) -> String {
    let mut args = vec!["run"];
    args.extend(others.iter().flat_map(|other| ["--after", other]));
    args.extend(["--shell", script]);
    ok(world, &args)
}

fn assert_waits(world: &World, id: &str, others: &[&str]) {
    let job = world.show(id);
    assert_eq!(job["state"], "waiting", "{job}");
    assert_eq!(job["waiting_for"], json!({ "after": others }), "{job}");
    assert_eq!(world.events(id, "spawned").len(), 0);
}

fn assert_ran_after(world: &World, id: &str, other: &str) {
    let job = world.wait(id);
    assert_eq!(job["outcome"], exited(0), "{job}");
    assert_eq!(world.events(id, "spawned").len(), 1);
    assert!(world.boot_ms(id, "spawned") >= world.boot_ms(other, "ended"));
}

fn reason(world: &World, id: &str) -> String {
    let job = world.wait(id);
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    assert_eq!(world.events(id, "spawned").len(), 0);
    job["outcome"]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_job_starts_when_the_others_have_ended() {
    let world = World::new();
    let first = ok(&world, &["run", "--shell", &format!("{WAITS}exit 3")]);
    let other = ok(
        &world,
        &["run", "--name", "web", "--shell", "exec sleep 60"],
    );
    let second = after(&world, &[&first, "web"], "echo ran");
    assert_waits(&world, &second, &[&first, &other]);
    let shown = world.ok(&["show", &second]);
    assert!(
        shown.contains(&format!("waiting for the end of {first} and 1 more")),
        "{shown}"
    );
    let_go(&world);
    until("one has ended", || world.show(&first)["state"] == "ended");
    assert_waits(&world, &second, &[&other]);
    let listed = world.ok(&["list"]);
    assert!(listed.contains(&format!("waiting for {other}")), "{listed}");
    world.ok(&["stop", &other]);
    assert_ran_after(&world, &second, &other);
    assert_eq!(world.output(&second), b"ran\n");
    world.until_nothing_runs();
}

#[test]
fn a_job_after_one_that_has_ended_starts_at_once() {
    let world = World::new();
    let first = over(&world, &["--", "false"]);
    let job = world.json(&["run", "--json", "--after", &first, "--", "sleep", "60"]);
    assert_eq!(job["state"], "running", "{job}");
    let good = over(&world, &["--", "true"]);
    let strict = format!("{good}:success");
    let job = world.json(&["run", "--json", "--after", &strict, "--", "sleep", "60"]);
    assert_eq!(job["state"], "running", "{job}");
}

#[test]
fn a_job_that_needs_success_does_not_start_after_anything_else() {
    const ENDS: [(&str, &str); 5] = [
        ("exit 3", "failed with exit code 3"),
        ("kill -9 $$", "was ended by SIGKILL"),
        ("stop", "was ended by SIGTERM (stopped by outlive stop"),
        ("lost", "ended, and nobody knows how: "),
        ("not started", "could not be started: "),
    ];
    let name = |case: &(&str, &str)| case.0.to_owned();
    every(&ENDS, name, |(how, said)| {
        let world = World::new();
        let script = match *how {
            "stop" | "lost" => "exec sleep 60".to_owned(),
            other => format!("{WAITS}{other}"),
        };
        let first = match *how {
            "not started" => {
                let holder = ok(&world, &["run", "--lock", "x", "--shell", WAITS]);
                drop(holder);
                ok(&world, &["run", "--lock", "x", "--", "true"])
            }
            _ => ok(&world, &["run", "--shell", &script]),
        };
        let second = after(&world, &[&format!("{first}:success")], "echo ran");
        assert_waits(&world, &second, &[&first]);
        match *how {
            "stop" | "not started" => drop(world.ok(&["stop", &first])),
            // Its parents are gone first, so that nobody can see how it ends on an older kernel.
            "lost" => {
                let leader = world.leader(&first);
                world.kill_both(&first);
                kill_for_good(leader);
            }
            _ => let_go(&world),
        }
        let why = reason(&world, &second);
        let begins = format!("it was to start after the success of {first}, which ");
        let is_said = why.contains(said) || *how == "lost" && why.contains("was ended by SIGKILL");
        assert!(why.starts_with(&begins) && is_said, "{why}");
        assert_eq!(world.output(&second), b"");
        let_go(&world);
        world.until_nothing_runs();
    });
}

#[test]
fn a_chain_of_three_runs_in_order_and_a_failure_goes_down_the_chain() {
    let world = World::new();
    let first = ok(&world, &["run", "--shell", WAITS]);
    let second = after(&world, &[&format!("{first}:success")], "exit 2");
    let third = after(&world, &[&format!("{second}:success")], "true");
    let fourth = after(&world, &[&format!("{third}:success")], "true");
    let always = after(&world, &[&third], "true");
    assert_waits(&world, &fourth, &[&third]);
    let_go(&world);
    assert_eq!(world.wait(&second)["exit_code"], 2);
    assert!(reason(&world, &third).contains("failed with exit code 2"));
    assert!(reason(&world, &fourth).contains("could not be started"));
    assert_ran_after(&world, &always, &third);
    world.until_nothing_runs();
}

#[test]
fn a_job_that_does_not_exist_is_refused_at_the_start() {
    let world = World::new();
    let ran = world.outlive(&["run", "--after", "nobody", "--", "true"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("no job \"nobody\""), "{ran:?}");
    let first = over(&world, &["--", "true"]);
    let ran = world.outlive(&["run", "--after", &format!("{first}:failure"), "--", "true"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("write ID or ID:success"), "{ran:?}");
    assert_eq!(world.listed(&["--limit", "all"]), [first]);
}

#[test]
fn a_stopped_waiter_does_not_start() {
    let world = World::new();
    let first = ok(&world, &["run", "--shell", WAITS]);
    let second = after(&world, &[&first], "echo ran");
    let waits = errand(&world, &second);
    world.ok(&["stop", &second]);
    assert_eq!(
        reason(&world, &second),
        format!("it was stopped while it waited for job {first}")
    );
    assert!(!is_alive(waits));
    assert_eq!(world.show(&first)["state"], "running");
    let_go(&world);
    world.until_nothing_runs();
}

/// The waiting client adopts a job whose keepers are both killed, and learns how it ended.
#[test]
fn the_end_of_a_job_without_keepers_is_learned() {
    let world = World::new();
    let first = ok(&world, &["run", "--shell", WAITS]);
    let second = after(&world, &[&first], "true");
    let third = after(&world, &[&format!("{first}:success")], "true");
    errand(&world, &second);
    errand(&world, &third);
    world.kill_both(&first);
    until("it is adopted", || {
        keepings(&world, &first) == ["launched", "adopted"]
    });
    let_go(&world);
    assert_ran_after(&world, &second, &first);
    let job = world.wait(&third);
    let known = world.show(&first)["outcome"] == exited(0);
    assert_eq!(
        job["outcome"]["kind"],
        if known { "exited" } else { "not_started" },
        "{job}"
    );
    world.until_nothing_runs();
}

#[test]
fn a_killed_keeper_or_errand_of_the_waiter_loses_nothing() {
    const WHOM: [&str; 3] = ["keeper", "standby", "errand"];
    let name = |whom: &&str| (*whom).to_owned();
    every(&WHOM, name, |whom| {
        let world = World::new();
        let first = ok(&world, &["run", "--shell", WAITS]);
        let second = after(&world, &[&first], "echo ran");
        let old = errand(&world, &second);
        match *whom {
            "keeper" => kill_for_good(world.pair(&second).keeper),
            "standby" => kill_for_good(world.pair(&second).standby.unwrap()),
            _ => kill_for_good(old),
        }
        let is_new = |new: i32| *whom == "standby" || new != old;
        until(
            "one waits",
            || matches!(errands(&world, &second).as_slice(), [new] if is_new(*new)),
        );
        assert_waits(&world, &second, &[&first]);
        let_go(&world);
        assert_ran_after(&world, &second, &first);
        assert_eq!(world.output(&second), b"ran\n");
        world.until_nothing_runs();
    });
}

#[test]
fn a_waiter_without_keepers_is_not_started() {
    let world = World::new();
    let first = ok(&world, &["run", "--shell", WAITS]);
    let second = after(&world, &[&first], "echo ran");
    let waits = errand(&world, &second);
    world.kill_both(&second);
    until("nobody waits for it", || !is_alive(waits));
    let said = format!("its keepers were killed while it waited for job {first}");
    assert_eq!(reason(&world, &second), said);
    let_go(&world);
    world.until_nothing_runs();
}

const STEPS: [&str; 5] = ["AfterMet", "TurnCame", "Forked", "Spawned", "Executed"];

#[test]
fn a_keeper_killed_at_any_step_of_the_start_loses_nothing() {
    let name = |step: &&str| (*step).to_owned();
    every(&STEPS, name, |step| {
        let world = World::new();
        let first = ok(&world, &["run", "--shell", WAITS]);
        let strict = format!("{first}:success");
        let args = [
            "run", "--after", &strict, "--id", "second", "--shell", "echo ran",
        ];
        let hooks = format!("keeper:{step}=kill");
        let ran = Ran::of(with_go(&world, &args).env("OUTLIVE_HOOKS", hooks));
        assert_eq!(ran.code, 0, "{ran:?}");
        let_go(&world);
        assert_ran_after(&world, "second", &first);
        assert_eq!(world.output("second"), b"ran\n");
        world.until_nothing_runs();
    });
}

/// A job is not pruned while another one waits for its end. If it is removed by force, a job that needs its success
/// is not started.
#[test]
fn a_job_that_others_wait_for_is_removed_only_by_force() {
    let world = World::new();
    let first = over(&world, &["--", "true"]);
    let running = ok(&world, &["run", "--shell", WAITS]);
    let second = after(&world, &[&format!("{first}:success"), &running], "echo ran");
    let waits = errand(&world, &second);
    until("it waits", || sleeps_for_good(waits));
    world.ok(&["prune", "--all"]);
    assert_eq!(world.show(&first)["state"], "ended");
    let_go(&world);
    assert_ran_after(&world, &second, &running);
    world.ok(&["prune", "--all"]);
    assert_eq!(world.outlive(&["show", &first]).code, 3);
}

/// What a job waited for is remembered while it waits for something else.
#[test]
fn a_pruned_predecessor_does_not_matter_once_it_has_ended() {
    let world = World::new();
    let holder = ok(&world, &["run", "--queue", "q", "--shell", WAITS]);
    let gate = outlive_testkit::gate::Gate::new(&world);
    let first = ok(&world, &["run", "--shell", &gate.then("true")]);
    let args = [
        "run",
        "--after",
        &format!("{first}:success"),
        "--queue",
        "q",
        "--",
        "true",
    ];
    let second = ok(&world, &args);
    assert_waits(&world, &second, &[&first]);
    gate.open();
    until("it waits in the queue", || {
        world.show(&second)["waiting_for"]["position"] == 1
    });
    until("it is pruned", || {
        world.ok(&["prune", "--all"]);
        world.outlive(&["show", &first]).code == 3
    });
    kill_for_good(world.pair(&second).keeper);
    until("it was taken over", || keepings(&world, &second).len() == 2);
    let_go(&world);
    let job = world.wait(&second);
    assert_eq!(job["outcome"], exited(0), "{job}");
    assert!(world.boot_ms(&second, "spawned") >= world.boot_ms(&holder, "ended"));
}

#[test]
fn nobody_polls_while_a_job_waits_for_another() {
    needs!(Strace);
    let world = World::new();
    let first = ok(&world, &["run", "--shell", "exec sleep 60"]);
    let second = after(&world, &[&first], "true");
    let pair = world.pair(&second);
    let mut all = vec![pair.keeper, errand(&world, &second)];
    all.extend(pair.standby);
    until("all are asleep", || {
        all.iter().all(|pid| sleeps_for_good(*pid))
    });
    let trace = outlive_testkit::trace::watch_for_two_seconds(&world, &all);
    assert!(trace.lines().count() >= all.len(), "{trace}");
    let returned = trace.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!(returned, 0, "{trace}");
    world.ok(&["stop", &second, &first]);
}

/// The end that the job waited for is still told to the session.
#[test]
fn waiting_for_a_job_does_not_tell_its_session() {
    let world = World::new();
    let first = ok(&world, &["run", "--session", "s", "--shell", WAITS]);
    let second = ok(
        &world,
        &["run", "--session", "s", "--after", &first, "--", "true"],
    );
    let_go(&world);
    until("both have ended", || {
        [&first, &second]
            .iter()
            .all(|id| world.show(id)["state"] == "ended")
    });
    let told = world.json(&["inbox", "--session", "s", "--format", "json"]);
    let mut jobs: Vec<&str> = told["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["job"].as_str().unwrap())
        .collect();
    jobs.sort_unstable();
    let mut both = [first.as_str(), second.as_str()];
    both.sort_unstable();
    assert_eq!(jobs, both, "{told}");
}
