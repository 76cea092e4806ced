//! Adoption: with both keepers killed the job goes on, and the next verb looks after it.

use crate::pair::{
    CONT, KILL, STOP, assert_nothing_is_left, assert_same_bytes, assert_whole_stream, every, go,
    keepings, kill_for_good, numbers, places_in_the_stream, start, start_stream, stream_to,
    until_output, with_go,
};
use crate::world::{Pair, Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};

/// The beginning of a job that goes on when the test lets it.
const WAITS: &str = "until [ -e \"$GO\" ]; do sleep 0.02; done; ";

/// Kills whoever keeps the job: the standby first, so that nobody takes over.
fn kill_both(world: &World, id: &str) {
    let pair = world.pair(id);
    pair.standby.into_iter().for_each(kill_for_good);
    kill_for_good(pair.keeper);
}

/// Starts a job and kills both its keepers.
fn unkept(world: &World, script: &str) -> String {
    let id = start(world, script);
    kill_both(world, &id);
    id
}

fn let_go(world: &World) {
    fs::write(go(world), "").unwrap();
}

fn leader(world: &World, id: &str) -> i32 {
    world.events(id, "spawned")[0]["leader"]["pid"]
        .as_i64()
        .unwrap() as i32
}

/// The processes of this home that are keepers.
fn keepers(world: &World) -> Vec<i32> {
    let is_keeper = |pid: &i32| {
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path.ends_with("outlive-keeper"))
    };
    world.processes().into_iter().filter(is_keeper).collect()
}

/// The processes of this home that run this program.
fn running(world: &World, program: &str) -> Vec<i32> {
    let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    world
        .processes()
        .into_iter()
        .filter(|pid| name(pid).trim_end() == program)
        .collect()
}

/// Changes the event of this kind in a journal that nobody writes to.
fn rewrite(world: &World, id: &str, kind: &str, change: impl Fn(&mut Value)) {
    let path = world.job_dir(id).join("journal");
    let mut lines = world.journal(id);
    let line = lines
        .iter_mut()
        .find(|line| line["event"].get(kind).is_some());
    change(&mut line.unwrap()["event"][kind]);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).unwrap();
}

#[test]
fn each_verb_adopts_a_job_that_nobody_keeps() {
    const VERBS: [(&[&str], i32, &str); 7] = [
        (&["show", "job"], 0, "running"),
        (&["list"], 0, "running"),
        (&["log", "job"], 0, "running"),
        (&["wait", "job", "--timeout", "100ms"], 124, "running"),
        (&["wait", "--timeout", "100ms"], 124, "running"),
        (&["signal", "job", "CONT"], 0, "running"),
        (&["stop", "job"], 0, "ended"),
    ];
    let name = |verb: &(&[&str], i32, &str)| format!("{:?}", verb.0);
    every(&VERBS, name, |(args, code, state)| {
        let world = World::new();
        world.ok(&["run", "--id", "job", "--", "sleep", "60"]);
        let leader = leader(&world, "job");
        kill_both(&world, "job");
        assert!(is_alive(leader));
        assert_eq!(keepings(&world, "job"), ["launched"]);
        assert_eq!(world.outlive(args).code, *code);
        assert_eq!(keepings(&world, "job"), ["launched", "adopted"]);
        assert_eq!(world.show("job")["state"], *state);
        assert_eq!(is_alive(leader), *state == "running");
        world.ok(&["stop", "job"]);
        assert_nothing_is_left(&world, "job");
        assert_eq!(world.events("job", "ended").len(), 1);
    });
}

#[test]
fn an_adopted_job_has_a_pair_of_its_own_and_survives_its_keeper() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} echo done; exit 7"));
    world.show(&id);
    let pair = world.pair(&id);
    assert!(is_alive(pair.keeper) && is_alive(pair.standby.unwrap()));
    kill_for_good(pair.keeper);
    let_go(&world);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    assert_eq!(keepings(&world, &id), ["launched", "adopted", "taken_over"]);
    assert_eq!(world.output(&id), b"done\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn the_output_of_an_unkept_job_waits_and_is_then_complete() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} seq 1 300000; echo end; exit 7"));
    let_go(&world);
    until("the job waits at a full pipe", || {
        running(&world, "seq")
            .iter()
            .any(|pid| procfs::stat(*pid).is_some_and(|stat| stat.state == b'S'))
    });
    assert_eq!(world.output(&id), b"");
    assert!(world.events(&id, "ended").is_empty());
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 7);
    let expected = [numbers(300_000), b"end\n".to_vec()].concat();
    assert_same_bytes("output", &world.output(&id), &expected);
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn the_outcome_of_an_adopted_job_is_exact() {
    let ends = [
        (
            "exit 0",
            json!({ "kind": "exited", "code": 0 }),
            0,
            "itself",
        ),
        (
            "exit 7",
            json!({ "kind": "exited", "code": 7 }),
            7,
            "itself",
        ),
        (
            "exit 255",
            json!({ "kind": "exited", "code": 255 }),
            255,
            "itself",
        ),
        (
            "ulimit -c 0; kill -KILL $$",
            json!({ "kind": "signaled", "signal": "SIGKILL", "core_dumped": false }),
            137,
            "signal",
        ),
        (
            "ulimit -c 0; kill -SEGV $$",
            json!({ "kind": "signaled", "signal": "SIGSEGV", "core_dumped": false }),
            139,
            "signal",
        ),
    ];
    every(
        &ends,
        |end| end.0.to_owned(),
        |(script, outcome, code, by)| {
            let world = World::new();
            let id = unkept(&world, &format!("{WAITS} echo last; {script}"));
            world.show(&id);
            let_go(&world);
            assert_eq!(world.outlive(&["wait", &id]).code, *code);
            let job = world.show(&id);
            assert_eq!(job["outcome"], *outcome);
            assert_eq!(job["exit_code"], *code);
            assert_eq!(job["ended_by"], *by);
            assert_eq!(world.output(&id), b"last\n");
            assert_eq!(world.events(&id, "ended").len(), 1);
            assert_nothing_is_left(&world, &id);
        },
    );
}

#[test]
fn an_adopted_job_still_times_out() {
    let world = World::new();
    let id = world.ok(&["run", "--timeout", "1s", "--", "sleep", "60"]);
    kill_both(&world, &id);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "timeout");
    // The second counts from the start, not from the adoption.
    let ms = job["duration_ms"].as_u64().unwrap();
    assert!((1000..10_000).contains(&ms), "{ms}");
    assert_nothing_is_left(&world, &id);
}

/// Children that detach themselves in every usual way.
const SCATTERED: &str = "setsid sleep 601 & \
    (setsid sh -c 'sleep 602 & exit 0') ; \
    (sleep 603 &) ; \
    setsid sh -c 'setsid sleep 604 & exit 0' & \
    env -i sleep 605 & \
    env -i setsid sleep 606 & \
    (env -i sleep 607 &) ; \
    echo up; sleep 608";

/// Every `sleep` in `SCATTERED`, found by its argument.
fn scattered(seconds: u32) -> Option<i32> {
    let arguments = format!("sleep\0{seconds}\0");
    procfs::all().unwrap().into_iter().find(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == arguments.as_bytes())
            && is_alive(*pid)
    })
}

#[test]
fn a_stop_of_an_adopted_job_reaches_every_descendant() {
    let world = World::new();
    let id = start(&world, SCATTERED);
    until("all are up", || (601..=608).all(|n| scattered(n).is_some()));
    let sleeps: Vec<i32> = (601..=608).map(|n| scattered(n).unwrap()).collect();
    kill_both(&world, &id);
    let job = world.json(&["stop", &id, "--json"]);
    let left: Vec<u32> = (601..=608)
        .zip(&sleeps)
        .filter_map(|(n, pid)| is_alive(*pid).then_some(n))
        .collect();
    sleeps.iter().for_each(|pid| kill(*pid, KILL));
    assert_eq!(left, [0u32; 0], "sleeps that outlived the stop");
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["exit_code"], 143);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_job_that_ended_while_nobody_kept_it_is_lost_and_never_a_success() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} exit 0"));
    let leader = leader(&world, &id);
    let_go(&world);
    until("its process is gone", || procfs::stat(leader).is_none());
    let waited = world.outlive(&["wait", &id]);
    assert_eq!(waited.code, 125, "{waited:?}");
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"]["kind"], "lost");
    assert_eq!(
        job["outcome"]["reason"],
        "it ended while no keeper was alive to see how"
    );
    assert_eq!(job["exit_code"], Value::Null);
    assert_eq!(job["duration_ms"], Value::Null);
    assert_eq!(job["ended_by"], "unknown");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_job_can_be_adopted_again_and_again() {
    let world = World::new();
    let id = start(&world, &format!("echo up; {WAITS} seq 1 30000; exit 7"));
    until_output(&world, &id, "up\n");
    for _ in 0..3 {
        kill_both(&world, &id);
        assert_eq!(world.show(&id)["state"], "running");
    }
    kill_both(&world, &id);
    let_go(&world);
    until("the job waits at a full pipe", || {
        running(&world, "seq")
            .iter()
            .any(|pid| procfs::stat(*pid).is_some_and(|stat| stat.state == b'S'))
    });
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    let expected = [b"up\n".to_vec(), numbers(30_000)].concat();
    assert_same_bytes("output", &world.output(&id), &expected);
    let adopted = ["launched", "adopted", "adopted", "adopted", "adopted"];
    assert_eq!(keepings(&world, &id), adopted);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_keeper_then_its_heir_killed_leave_a_job_to_adopt() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} echo done; exit 7"));
    kill_for_good(world.pair(&id).keeper);
    until("the standby took over", || keepings(&world, &id).len() == 2);
    assert_eq!(world.pair(&id).standby, None);
    kill_for_good(world.pair(&id).keeper);
    assert_eq!(world.show(&id)["state"], "running");
    let_go(&world);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over", "adopted"]);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn after_a_restart_a_running_job_is_lost_and_whoever_has_its_pid_is_left_alone() {
    let world = World::new();
    let id = unkept(&world, "exec sleep 60");
    let leader = leader(&world, &id);
    rewrite(&world, &id, "accepted", |accepted| {
        accepted["boot"] = json!("00000000-0000-0000-0000-000000000000")
    });
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(
        job["outcome"],
        json!({ "kind": "lost", "reason": "the machine was restarted while it ran" })
    );
    assert_eq!(job["exit_code"], Value::Null);
    assert_eq!(job["pid"], Value::Null);
    assert_eq!(world.outlive(&["wait", &id]).code, 125);
    world.ok(&["stop", &id]);
    world.ok(&["signal", &id, "KILL"]);
    assert!(is_alive(leader), "a process of this boot was harmed");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(keepings(&world, &id), ["launched"]);
    assert!(keepers(&world).is_empty());
}

#[test]
fn after_a_restart_what_lingered_is_gone_and_whoever_has_its_pid_is_left_alone() {
    let world = World::new();
    let id = start(&world, "sleep 60 & exit 5");
    assert_eq!(world.outlive(&["wait", &id]).code, 5);
    kill_both(&world, &id);
    let sleeping = running(&world, "sleep");
    assert_eq!(sleeping.len(), 1);
    rewrite(&world, &id, "accepted", |accepted| {
        accepted["boot"] = json!("00000000-0000-0000-0000-000000000000")
    });
    let job = world.json(&["stop", &id, "--json"]);
    assert_eq!(job["exit_code"], 5);
    assert_eq!(job["lingering"], 0);
    assert!(is_alive(sleeping[0]), "a process of this boot was harmed");
    assert!(keepers(&world).is_empty());
}

/// A process that has nothing to do with Outlive.
struct Bystander(Child);

impl Bystander {
    fn start(command: &[&str]) -> Bystander {
        let child = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let bystander = Bystander(child);
        until("the bystander sleeps", || {
            fs::read(format!("/proc/{}/comm", bystander.pid())).is_ok_and(|name| name == b"sleep\n")
        });
        bystander
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The job's leader ended unseen, and its pid went to somebody else who started later.
#[test]
fn a_pid_that_went_to_another_process_is_not_taken_for_the_job() {
    let bystanders: [(&str, &[&str]); 2] = [
        ("a process", &["sleep", "600"]),
        ("a session leader", &["setsid", "sleep", "600"]),
    ];
    every(
        &bystanders,
        |bystander| bystander.0.to_owned(),
        |(_, command)| {
            let world = World::new();
            let id = unkept(&world, &format!("{WAITS} exit 0"));
            let gone = leader(&world, &id);
            let_go(&world);
            until("its process is gone", || procfs::stat(gone).is_none());
            let bystander = Bystander::start(command);
            let started = procfs::stat(bystander.pid()).unwrap().started;
            rewrite(&world, &id, "spawned", |spawned| {
                spawned["leader"] = json!({ "pid": bystander.pid(), "started": started - 1 });
            });
            let job = world.show(&id);
            assert_eq!(job["outcome"]["kind"], "lost", "{job}");
            assert_eq!(job["lingering"], 0, "{job}");
            assert_eq!(world.outlive(&["wait", &id]).code, 125);
            world.ok(&["signal", &id, "KILL"]);
            world.ok(&["stop", &id]);
            assert!(is_alive(bystander.pid()), "the bystander was harmed");
            assert_nothing_is_left(&world, &id);
        },
    );
}

#[test]
fn many_verbs_at_once_adopt_a_job_once() {
    let world = World::new();
    let id = unkept(&world, &format!("{WAITS} echo done; exit 7"));
    let spawn = |_| {
        world
            .command(["show", &id, "--json"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let verbs: Vec<Child> = (0..20).map(spawn).collect();
    for mut verb in verbs {
        assert_eq!(verb.wait().unwrap().code(), Some(0));
    }
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    let pair = world.pair(&id);
    let mut expected = vec![pair.keeper, pair.standby.unwrap()];
    let mut alive = keepers(&world);
    expected.sort_unstable();
    alive.sort_unstable();
    assert_eq!(alive, expected);
    let_go(&world);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
    assert_eq!(world.output(&id), b"done\n");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn what_lingers_of_an_unkept_job_is_adopted_and_can_be_stopped() {
    let world = World::new();
    let id = start(
        &world,
        &format!("({WAITS} echo late; exec sleep 60) & echo main; exit 5"),
    );
    assert_eq!(world.outlive(&["wait", &id]).code, 5);
    kill_both(&world, &id);
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["exit_code"], 5);
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    let_go(&world);
    until_output(&world, &id, "main\nlate\n");
    assert_eq!(world.show(&id)["lingering"], 1);
    let job = world.json(&["stop", &id, "--json"]);
    assert_eq!(job["exit_code"], 5);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.events(&id, "closed")[0]["output_bytes"], 10);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn what_lingers_of_an_adopted_job_ends_it_when_it_ends_by_itself() {
    let world = World::new();
    let id = start(
        &world,
        &format!("(setsid sh -c '{WAITS} echo late') & echo main; exit 5"),
    );
    assert_eq!(world.outlive(&["wait", &id]).code, 5);
    kill_both(&world, &id);
    world.show(&id);
    let_go(&world);
    assert_nothing_is_left(&world, &id);
    assert_eq!(world.output(&id), b"main\nlate\n");
    assert_eq!(world.show(&id)["lingering"], 0);
}

/// What must become of a job whose keepers were both killed at a hook.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It never ran.
    Unstarted,
    /// It goes on to its own end.
    GoesOn,
    /// It had ended, and how may be known or not.
    Unseen,
    /// Its end had been recorded.
    Recorded,
}

/// For a job that says `up`, waits, and ends with 7.
const FATES: [(&str, Fate); 16] = [
    ("Begun", Fate::Unstarted),
    ("Forked", Fate::Unstarted),
    ("Spawned", Fate::Unstarted),
    ("GateOpened", Fate::GoesOn),
    ("Executed", Fate::GoesOn),
    ("Started", Fate::GoesOn),
    ("Ready", Fate::GoesOn),
    ("Captured", Fate::GoesOn),
    ("LeaderEnded", Fate::Unseen),
    ("Drained", Fate::Unseen),
    ("OutputSynced", Fate::Unseen),
    ("EndedRecorded", Fate::Recorded),
    ("Noted", Fate::Recorded),
    ("Told", Fate::Recorded),
    ("Reaped", Fate::Recorded),
    ("Retired", Fate::Recorded),
];

/// Runs a job whose first pair, and no later one, has this hook.
fn run_with_doomed_pair(world: &World, hook: &str, script: &str) -> Ran {
    let hooks = format!("OUTLIVE_HOOKS=keeper:{hook}=kill-both");
    let args = ["run", "--id", "job", "--env", &hooks, "--shell", script];
    Ran::of(&mut with_go(world, &args))
}

#[test]
fn both_killed_at_any_hook_leave_a_job_that_goes_on_or_a_true_record() {
    let name = |cell: &(&str, Fate)| format!("both killed at {}", cell.0);
    every(&FATES, name, |(hook, fate)| {
        let world = World::new();
        let ran = run_with_doomed_pair(&world, hook, &format!("echo up; {WAITS} echo end; exit 7"));
        if *fate != Fate::Unstarted {
            assert_eq!(ran.code, 0, "{ran:?}");
            // `run` may have returned just before both were killed: then looking adopts it.
            until("it is up", || {
                world.show("job");
                world.output("job") == b"up\n"
            });
            let_go(&world);
        }
        match fate {
            Fate::Unstarted => assert_never_ran(&world, &ran),
            Fate::GoesOn => assert_went_on(&world),
            Fate::Unseen => assert_unseen(&world),
            Fate::Recorded => assert_recorded(&world),
        }
        assert_eq!(world.events("job", "ended").len(), 1);
        assert_nothing_is_left(&world, "job");
    });
}

fn assert_never_ran(world: &World, ran: &Ran) {
    assert_eq!(ran.code, 125, "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["state"], "ended", "{job}");
    // Whether it was about to run may be unknown; that it did not succeed is not.
    let kind = job["outcome"]["kind"].as_str().unwrap();
    assert!(["not_started", "lost"].contains(&kind), "{job}");
    assert_eq!(world.outlive(&["wait", "job"]).code, 125);
    assert_eq!(world.output("job"), b"");
}

fn assert_went_on(world: &World) {
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
    assert_eq!(
        world.show("job")["outcome"],
        json!({ "kind": "exited", "code": 7 })
    );
    assert_eq!(keepings(world, "job"), ["launched", "adopted"]);
    assert_eq!(world.output("job"), b"up\nend\n");
}

/// Its status can be had as long as whoever inherited the leader has not let it go.
fn assert_unseen(world: &World) {
    until("both are gone", || keepers(world).is_empty());
    let code = world.outlive(&["wait", "job"]).code;
    let job = world.show("job");
    match job["outcome"]["kind"].as_str().unwrap() {
        "exited" => assert_eq!((code, &job["exit_code"]), (7, &json!(7))),
        "lost" => assert_eq!((code, &job["exit_code"]), (125, &Value::Null)),
        other => panic!("{other}: {job}"),
    }
    assert_eq!(keepings(world, "job"), ["launched", "adopted"]);
}

fn assert_recorded(world: &World) {
    until("both are gone", || keepers(world).is_empty());
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
    let list = world.json(&["list", "--state", "all", "--json"]);
    assert_eq!(list["jobs"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["jobs"][0]["exit_code"], 7);
    assert_eq!(world.output("job"), b"up\nend\n");
}

#[test]
fn both_killed_in_the_middle_of_a_stop_leave_a_stop_that_is_finished() {
    let hooks = ["StopAsked", "StopWritten", "Terminated"];
    every(
        &hooks,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let script = "trap '' TERM; echo up; while :; do sleep 60; done";
            assert_eq!(run_with_doomed_pair(&world, hook, script).code, 0);
            until_output(&world, "job", "up\n");
            let job = world.json(&["stop", "job", "--grace", "100ms", "--json"]);
            assert_eq!(job["exit_code"], 137, "{job}");
            assert_eq!(job["ended_by"], "stop");
            assert_eq!(keepings(&world, "job"), ["launched", "adopted"]);
            assert_eq!(world.events("job", "stop_requested").len(), 1);
            assert_eq!(world.events("job", "ended").len(), 1);
            assert_nothing_is_left(&world, "job");
        },
    );
}

#[test]
fn both_killed_in_the_middle_of_a_timeout_leave_a_job_that_ends_by_it() {
    let hooks = ["StopAsked", "StopWritten", "Terminated"];
    every(
        &hooks,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let hooks = format!("OUTLIVE_HOOKS=keeper:{hook}=kill-both");
            let id = world.ok(&[
                "run",
                "--timeout",
                "200ms",
                "--env",
                &hooks,
                "--",
                "sleep",
                "60",
            ]);
            until("both are gone", || keepers(&world).is_empty());
            let job = world.wait(&id);
            assert_eq!(job["exit_code"], 143, "{job}");
            assert_eq!(job["ended_by"], "timeout");
            assert_eq!(world.events(&id, "stop_requested").len(), 1);
            assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
            assert_nothing_is_left(&world, &id);
        },
    );
}

#[test]
fn both_killed_as_a_lingering_job_closes_leave_nothing_behind() {
    let world = World::new();
    let ran = run_with_doomed_pair(&world, "Closed", "sleep 60 & echo main; exit 5");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.outlive(&["wait", "job"]).code, 5);
    world.ok(&["stop", "job"]);
    assert_eq!(world.show("job")["exit_code"], 5);
    assert_eq!(world.events("job", "closed").len(), 1);
    assert_eq!(world.output("job"), b"main\n");
    assert_nothing_is_left(&world, "job");
}

/// A keeper that has not yet written that it adopts, without its standby and whoever started it.
#[test]
fn an_adopting_keeper_left_alone_at_once_still_reaches_every_descendant() {
    let world = World::new();
    let id = start(&world, "(setsid sleep 8 &) ; echo up; exec sleep 8");
    until_output(&world, &id, "up\n");
    until("all are up", || running(&world, "sleep").len() == 2);
    kill_both(&world, &id);
    let mut show = world
        .command(["show", &id])
        .env("OUTLIVE_HOOKS", "keeper:Begun=stop")
        .spawn()
        .unwrap();
    let is_stopped = |pid: &i32| procfs::stat(*pid).is_some_and(|stat| stat.state == b'T');
    let mut keeper = None;
    until("the keeper stands at its hook", || {
        keeper = keepers(&world).into_iter().find(is_stopped);
        keeper.is_some()
    });
    let keeper = keeper.unwrap();
    let standby = procfs::stat(keeper).unwrap().parent;
    kill(show.id() as i32, KILL);
    show.wait().unwrap();
    kill(standby, KILL);
    until("the standby is gone", || procfs::stat(standby).is_none());
    kill(keeper, CONT);
    // The sleeps are short, so that a stop that reaches nobody comes to an end too.
    assert_eq!(world.json(&["stop", &id, "--json"])["exit_code"], 143);
    assert_eq!(running(&world, "sleep"), [0; 0]);
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_nothing_is_left(&world, &id);
}

/// Kills both in one breath; a standby that has been killed cannot take over.
fn kill_both_at_once(pair: Pair) {
    pair.standby.into_iter().for_each(|pid| kill(pid, KILL));
    kill_for_good(pair.keeper);
    pair.standby.into_iter().for_each(kill_for_good);
}

#[test]
fn both_killed_at_any_moment_of_a_fast_stream_lose_and_double_nothing() {
    const KILLS: usize = 6;
    let mut streams: Vec<Vec<u64>> = (0..10).map(|_| places_in_the_stream(KILLS)).collect();
    streams.iter_mut().for_each(|places| places.sort_unstable());
    every(
        &streams,
        |places| format!("killed at bytes {places:?}"),
        |places| {
            let world = World::new();
            let id = start_stream(&world);
            for at in places {
                let pair = world.pair(&id);
                stream_to(&world, &id, *at);
                kill_both_at_once(pair);
                assert_eq!(world.show(&id)["state"], "running");
            }
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id).len(), 1 + KILLS);
        },
    );
}

/// Starts `job` in `world` as a descendant of another job's keeper, which inherits its orphans.
/// Returns that keeper.
fn start_below(outer: &World, world: &World, script: &str) -> i32 {
    let outlive = env!("CARGO_BIN_EXE_outlive");
    let inner = format!("{outlive} run --id job --shell '{script}' && exec sleep 60");
    let variables = [
        format!("OUTLIVE_HOME={}", world.home().display()),
        format!("GO={}", go(world).display()),
    ];
    outer.ok(&[
        "run",
        "--id",
        "outer",
        "--env",
        &variables[0],
        "--env",
        &variables[1],
        "--shell",
        &inner,
    ]);
    until_output(outer, "outer", "job\n");
    outer.pair("outer").keeper
}

#[test]
fn a_leader_that_its_new_parent_has_not_let_go_is_told_exactly_and_never_guessed() {
    every(
        &[0, 7],
        |code| format!("exit {code}"),
        |code| {
            let (outer, world) = (World::new(), World::new());
            let parent = start_below(&outer, &world, &format!("{WAITS} exit {code}"));
            let leader = leader(&world, "job");
            kill_both(&world, "job");
            until("the orphan has its new parent", || {
                procfs::stat(leader).unwrap().parent == parent
            });
            kill(parent, STOP);
            let_go(&world);
            until("it has ended", || procfs::stat(leader).unwrap().is_zombie());
            if *code == 0 {
                // An end with 0 looks like one that may not be told, until it is let go.
                let waited = world.outlive(&["wait", "job", "--timeout", "200ms"]);
                assert_eq!(waited.code, 124, "{waited:?}");
                kill(parent, CONT);
            }
            assert_eq!(world.outlive(&["wait", "job"]).code, *code);
            assert_eq!(
                world.show("job")["outcome"],
                json!({ "kind": "exited", "code": code })
            );
            assert_nothing_is_left(&world, "job");
        },
    );
}

#[test]
fn an_adoption_leaves_jobs_alone_that_the_job_started() {
    let (outer, world) = (World::new(), World::new());
    start_below(&outer, &world, "exec sleep 60");
    kill_both(&outer, "outer");
    assert_eq!(outer.json(&["stop", "outer", "--json"])["exit_code"], 143);
    assert_nothing_is_left(&outer, "outer");
    assert_eq!(world.show("job")["state"], "running");
    assert_eq!(keepings(&world, "job"), ["launched"]);
    assert!(is_alive(leader(&world, "job")));
}
