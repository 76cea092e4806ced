//! Waiting and following: they return with the truth, however often keepers are replaced.

use crate::pair::{
    KILL, assert_nothing_is_left, assert_same_bytes, every, go, keepings, kill_for_good, numbers,
    start, until_output, with_go,
};
use crate::world::{Ran, World, is_alive, kill, until};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const INT: i32 = 2;

/// The beginning of a job that goes on when the test lets it.
const WAITS: &str = "until [ -e \"$GO\" ]; do sleep 0.02; done; ";

fn let_go(world: &World) {
    fs::write(go(world), "").unwrap();
}

/// Starts `outlive` in the background, its output to be read.
fn begin(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a process sleeps in `poll`, which is where `outlive` waits for keepers.
fn until_blocked(child: &Child) {
    let wchan = format!("/proc/{}/wchan", child.id());
    until("it is blocked", || {
        fs::read_to_string(&wchan).is_ok_and(|place| place.contains("poll"))
    });
}

fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn pid(job: &Value) -> i32 {
    job["pid"].as_i64().unwrap() as i32
}

#[test]
fn wait_ends_with_the_code_of_the_job() {
    const CASES: [(&str, i32); 7] = [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 124", 124),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -INT $$", 130),
    ];
    every(
        &CASES,
        |case| case.0.to_owned(),
        |(script, code)| {
            let world = World::new();
            let id = start(&world, &format!("{WAITS} {script}"));
            let wait = begin(world.command(["wait", &id]));
            until_blocked(&wait);
            let_go(&world);
            assert_eq!(finish(wait).code, *code);
            // And once more, now that it has long ended.
            assert_eq!(world.outlive(&["wait", &id]).code, *code);
        },
    );
}

#[test]
fn wait_for_several_ends_with_the_first_failure_in_the_order_given() {
    let world = World::new();
    for (id, script) in [
        ("good", "exit 0"),
        ("five", "sleep 0.2; exit 5"),
        ("seven", "exit 7"),
    ] {
        world.ok(&["run", "--id", id, "--shell", script]);
    }
    let code = |ids: &[&str]| world.outlive(&[&["wait"], ids].concat()).code;
    assert_eq!(code(&["good", "five", "seven"]), 5);
    assert_eq!(code(&["seven", "good", "five"]), 7);
    assert_eq!(code(&["good", "good"]), 0);
    assert_eq!(code(&["--all", "good", "seven"]), 7);
    let printed = world.outlive(&["wait", "good", "five", "seven", "--json"]);
    let jobs: Value = serde_json::from_str(&printed.stdout).unwrap();
    let codes: Vec<&Value> = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["exit_code"])
        .collect();
    assert_eq!(codes, [&json!(0), &json!(5), &json!(7)]);
}

#[test]
fn wait_for_all_returns_when_the_last_has_ended() {
    let world = World::new();
    world.ok(&["run", "--id", "quick", "--", "true"]);
    let id = start(&world, &format!("{WAITS} exit 6"));
    let mut wait = begin(world.command(["wait", "quick", &id]));
    until_blocked(&wait);
    assert!(wait.try_wait().unwrap().is_none());
    let_go(&world);
    assert_eq!(finish(wait).code, 6);
}

#[test]
fn wait_for_any_returns_with_the_first_that_ends_and_leaves_the_others() {
    let world = World::new();
    world.ok(&["run", "--id", "long", "--", "sleep", "60"]);
    let before = pid(&world.show("long"));
    let id = start(&world, &format!("{WAITS} exit 6"));
    let wait = begin(world.command(["wait", "--any", "long", &id]));
    until_blocked(&wait);
    let_go(&world);
    assert_eq!(finish(wait).code, 6);
    let long = world.show("long");
    assert_eq!(long["state"], "running");
    assert_eq!(pid(&long), before);
    assert!(is_alive(before));
}

#[test]
fn wait_that_runs_out_of_time_is_124_and_the_job_is_untouched() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let before = (pid(&world.show(&id)), world.journal(&id).len());
    let begun = Instant::now();
    let ran = world.outlive(&["wait", &id, "--timeout", "300ms", "--json"]);
    let took = begun.elapsed();
    assert_eq!(ran.code, 124, "{ran:?}");
    assert!(took >= Duration::from_millis(300), "{took:?}");
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["state"], "running");
    assert_eq!(job["exit_code"], Value::Null);
    assert_eq!((pid(&world.show(&id)), world.journal(&id).len()), before);
    assert!(is_alive(before.0));
}

#[test]
fn wait_for_one_of_several_that_runs_out_of_time_is_124() {
    let world = World::new();
    world.ok(&["run", "--id", "quick", "--", "true"]);
    world.ok(&["run", "--id", "long", "--", "sleep", "60"]);
    let ran = world.outlive(&["wait", "quick", "long", "--timeout", "100ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    assert_eq!(world.show("long")["state"], "running");
    assert_eq!(
        world
            .outlive(&["wait", "--any", "quick", "long", "--timeout", "10s"])
            .code,
        0
    );
}

#[test]
fn wait_without_ids_waits_for_all_that_runs() {
    let world = World::new();
    assert_eq!(world.outlive(&["wait"]).code, 0);
    world.ok(&["run", "--id", "failed", "--wait", "--shell", "exit 0"]);
    start(&world, &format!("{WAITS} exit 6"));
    start(&world, &format!("{WAITS} exit 0"));
    let wait = begin(world.command(["wait"]));
    until_blocked(&wait);
    let_go(&world);
    assert_eq!(finish(wait).code, 6);
    assert_eq!(world.outlive(&["wait"]).code, 0);
}

#[test]
fn wait_goes_on_while_keepers_are_killed_and_replaced() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} echo done; exit 7"));
    let wait = begin(world.command(["wait", &id]));
    until_blocked(&wait);
    kill_for_good(world.pair(&id).keeper);
    until("the standby took over", || keepings(&world, &id).len() == 2);
    until_blocked(&wait);
    // Nobody is left then but the one who waits, who must adopt it.
    kill_for_good(world.pair(&id).keeper);
    until("the waiting one adopted it", || {
        keepings(&world, &id).len() == 3
    });
    until_blocked(&wait);
    let_go(&world);
    assert_eq!(finish(wait).code, 7);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over", "adopted"]);
    assert_eq!(world.output(&id), b"done\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn many_who_wait_survive_the_death_of_both_and_adopt_once() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} exit 7"));
    let waits: Vec<Child> = (0..10)
        .map(|_| begin(world.command(["wait", &id])))
        .collect();
    waits.iter().for_each(until_blocked);
    let pair = world.pair(&id);
    kill_for_good(pair.standby.unwrap());
    kill_for_good(pair.keeper);
    until("one of them adopted it", || {
        keepings(&world, &id).len() == 2
    });
    let_go(&world);
    for wait in waits {
        assert_eq!(finish(wait).code, 7);
    }
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn wait_knows_jobs_that_ended_were_adopted_or_lost() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} exit 7"));
    let pair = world.pair(&id);
    kill_for_good(pair.standby.unwrap());
    kill_for_good(pair.keeper);
    let wait = begin(world.command(["wait", &id]));
    until_blocked(&wait);
    let_go(&world);
    assert_eq!(finish(wait).code, 7);
    assert_nothing_is_left(&world, &id);
    assert_eq!(world.outlive(&["wait", &id, "--timeout", "0"]).code, 7);
}

/// One traced system call: what it was and how long it took.
struct Call {
    name: String,
    seconds: f64,
}

/// Reads what `strace -T` wrote.
fn calls(trace: &str) -> Vec<Call> {
    trace
        .lines()
        .filter(|line| line.contains(" = "))
        .map(|line| {
            let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            let seconds = line.rsplit_once('<').map(|(_, time)| time);
            Call {
                name: line.split('(').next().unwrap_or_default().to_owned(),
                seconds: seconds
                    .and_then(|time| time.trim_end_matches('>').parse().ok())
                    .unwrap_or(0.0),
            }
        })
        .collect()
}

#[test]
fn wait_sleeps_once_and_does_not_poll() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "2"]);
    let trace = world.path("trace");
    let outlive = world.command(["wait", &id]);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-T", "-o"])
        .arg(&trace)
        .arg(outlive.get_program())
        .args(outlive.get_args())
        .env("OUTLIVE_HOME", world.home());
    assert_eq!(Ran::of(&mut strace).code, 0);
    let calls = calls(&fs::read_to_string(trace).unwrap());
    let sleeps = |call: &&Call| call.name.contains("nanosleep");
    let polls = |call: &&Call| ["poll", "ppoll"].contains(&call.name.as_str());
    assert_eq!(calls.iter().filter(sleeps).count(), 0);
    let long: Vec<f64> = calls
        .iter()
        .filter(polls)
        .map(|call| call.seconds)
        .filter(|seconds| *seconds > 0.001)
        .collect();
    assert_eq!(long.len(), 1, "{long:?}");
    assert!(long[0] > 1.0, "{long:?}");
    assert!(calls.len() < 400, "{} calls in all", calls.len());
    let after = calls.iter().skip_while(|call| call.seconds < 1.0).count();
    assert!(after < 100, "{after} calls after it was woken");
}

fn is_traced(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status"))
        .is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
}

/// A job of each sort that a keeper can have nothing to do for; returns its keepers.
fn idle(world: &World, sort: &str) -> Vec<i32> {
    let script = match sort {
        "running" | "adopted" => "exec sleep 60",
        _ => "sleep 60 & exit 5",
    };
    world.ok(&["run", "--id", "job", "--timeout", "1h", "--shell", script]);
    if sort.contains("lingering") {
        assert_eq!(world.outlive(&["wait", "job"]).code, 5);
    }
    let pair = world.pair("job");
    if sort.contains("adopted") {
        kill_for_good(pair.standby.unwrap());
        kill_for_good(pair.keeper);
        world.ok(&["show", "job"]);
    }
    let pair = world.pair("job");
    // Once it has answered it has nothing more to do, but to see that whoever asked is gone.
    world.ok(&["signal", "job", "CONT"]);
    vec![pair.keeper, pair.standby.unwrap()]
}

#[test]
fn an_idle_pair_makes_no_system_calls() {
    const SORTS: [&str; 4] = ["running", "lingering", "adopted", "adopted lingering"];
    every(
        &SORTS,
        |sort| (*sort).to_owned(),
        |sort| {
            let world = World::new();
            let both = idle(&world, sort);
            until("both are asleep", || both.iter().all(|pid| is_asleep(*pid)));
            let trace = watch_for_two_seconds(&world, &both);
            // The call each of them was in all the time, which never returned.
            assert_eq!(trace.lines().count(), 2, "{trace}");
            let returned = trace.lines().filter(|line| line.contains(" = ")).count();
            assert_eq!(returned, 0, "{trace}");
            world.ok(&["stop", "job"]);
        },
    );
}

fn is_asleep(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/wchan"))
        .is_ok_and(|place| place.contains("poll") || place.contains("wait"))
}

fn watch_for_two_seconds(world: &World, pids: &[i32]) -> String {
    let trace = world.path("trace");
    let mut strace = Command::new("strace");
    strace.arg("-o").arg(&trace).stderr(Stdio::null());
    for pid in pids {
        strace.args(["-p", &pid.to_string()]);
    }
    let mut strace = strace.spawn().unwrap();
    until("they are watched", || {
        pids.iter().all(|pid| is_traced(*pid))
    });
    // Not a wait for something: nothing is to happen in this time.
    thread::sleep(Duration::from_secs(2));
    kill(strace.id() as i32, INT);
    strace.wait().unwrap();
    fs::read_to_string(trace).unwrap()
}

/// `outlive log --follow`, or the like, as it prints.
struct Follower {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Follower {
    fn start(command: Command) -> Follower {
        let mut child = begin(command);
        let out = BufReader::new(child.stdout.take().unwrap());
        Follower { child, out }
    }

    /// The next line, as soon as it is printed.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    /// What else it prints, and its code.
    fn rest(mut self) -> (Vec<u8>, i32) {
        let mut bytes = Vec::new();
        self.out.read_to_end(&mut bytes).unwrap();
        (bytes, self.child.wait().unwrap().code().unwrap())
    }
}

#[test]
fn log_follow_prints_what_comes_as_it_comes_and_ends_with_the_job() {
    let world = World::new();
    let id = start(
        &world,
        &format!("echo one; {WAITS} printf 'two\\nno newline'; exit 7"),
    );
    until_output(&world, &id, "one\n");
    let mut log = Follower::start(world.command(["log", &id, "--follow"]));
    assert_eq!(log.line(), "one\n");
    until_blocked(&log.child);
    assert!(log.child.try_wait().unwrap().is_none());
    let_go(&world);
    assert_eq!(log.line(), "two\n");
    assert_eq!(log.rest(), (b"no newline".to_vec(), 0));
}

#[test]
fn log_follow_of_an_ended_job_prints_it_all_and_ends() {
    let world = World::new();
    let id = world.shell("seq 1 100; exit 3");
    world.wait(&id);
    let ran = world.outlive(&["log", &id, "--follow"]);
    assert_eq!(ran.code, 0);
    assert_same_bytes("log", ran.stdout.as_bytes(), &numbers(100));
}

#[test]
fn log_follow_survives_its_keeper_and_then_both() {
    let world = World::new();
    let id = start(&world, &format!("echo up; {WAITS} seq 1 100000; exit 7"));
    until_output(&world, &id, "up\n");
    let mut log = Follower::start(world.command(["log", &id, "--follow"]));
    assert_eq!(log.line(), "up\n");
    until_blocked(&log.child);
    kill_for_good(world.pair(&id).keeper);
    until("the standby took over", || keepings(&world, &id).len() == 2);
    until_blocked(&log.child);
    kill_for_good(world.pair(&id).keeper);
    until("the follower adopted it", || {
        keepings(&world, &id).len() == 3
    });
    let_go(&world);
    let (bytes, code) = log.rest();
    assert_same_bytes("followed", &bytes, &numbers(100_000));
    assert_eq!(code, 0);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over", "adopted"]);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
}

#[test]
fn log_follow_prints_a_fast_stream_exactly_while_its_keeper_is_killed() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} seq 1 300000"));
    let log = Follower::start(world.command(["log", &id, "--follow"]));
    until_blocked(&log.child);
    let_go(&world);
    until("it streams", || !world.output(&id).is_empty());
    kill(world.pair(&id).keeper, KILL);
    let (bytes, code) = log.rest();
    assert_same_bytes("followed", &bytes, &numbers(300_000));
    assert_eq!(code, 0);
}

#[test]
fn run_wait_and_run_follow_give_the_output_and_the_code() {
    for option in ["--wait", "--follow"] {
        let world = World::new();
        let script = "seq 1 50000; printf end; exit 9";
        let ran = world.outlive(&["run", option, "--shell", script]);
        assert_eq!(ran.code, 9, "{option}: {}", ran.stderr);
        let expected = [numbers(50_000), b"end".to_vec()].concat();
        assert_same_bytes(option, ran.stdout.as_bytes(), &expected);
    }
    let world = World::new();
    let ran = world.outlive(&["run", "--wait", "--shell", "kill -KILL $$"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (137, ""));
}

#[test]
fn run_wait_prints_output_as_it_comes_and_survives_both() {
    let world = World::new();
    let script = format!("echo up; {WAITS} echo end; exit 7");
    let args = ["run", "--id", "job", "--wait", "--shell", &script];
    let mut run = Follower::start(with_go(&world, &args));
    assert_eq!(run.line(), "up\n");
    until_blocked(&run.child);
    let pair = world.pair("job");
    kill_for_good(pair.standby.unwrap());
    kill_for_good(pair.keeper);
    until("it was adopted", || keepings(&world, "job").len() == 2);
    let_go(&world);
    assert_eq!(run.rest(), (b"end\n".to_vec(), 7));
}

#[test]
fn run_wait_that_is_killed_leaves_the_job_running() {
    let world = World::new();
    let script = format!("echo up; {WAITS} echo end; exit 7");
    let args = ["run", "--id", "job", "--wait", "--shell", &script];
    let mut run = Follower::start(with_go(&world, &args));
    assert_eq!(run.line(), "up\n");
    kill_for_good(run.child.id() as i32);
    run.child.wait().unwrap();
    assert_eq!(world.show("job")["state"], "running");
    let_go(&world);
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
    assert_eq!(world.output("job"), b"up\nend\n");
    assert_eq!(keepings(&world, "job"), ["launched"]);
}

#[test]
fn run_wait_with_a_limit_yields_a_job_that_goes_on() {
    let world = World::new();
    let begun = Instant::now();
    let ran = world.outlive(&["run", "--id", "job", "--wait=300ms", "--", "sleep", "60"]);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "job\n");
    assert!(ran.stderr.contains("goes on"), "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["state"], "running");
    assert!(is_alive(pid(&job)));
}

#[test]
fn run_wait_with_a_limit_that_is_not_needed_ends_with_the_job() {
    let world = World::new();
    let ran = world.outlive(&["run", "--wait=30s", "--shell", "echo hello; exit 4"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, "hello\n"));
}

#[test]
fn run_wait_in_json_prints_one_job_and_no_output() {
    let world = World::new();
    let ran = world.outlive(&["run", "--wait", "--json", "--shell", "echo hello; exit 4"]);
    assert_eq!(ran.code, 4);
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["state"], "ended");
    assert_eq!(job["exit_code"], 4);
    assert_eq!(job["output"]["bytes"], 6);
    let ran = world.outlive(&["run", "--wait=100ms", "--json", "--", "sleep", "60"]);
    assert_eq!(ran.code, 0);
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["state"], "running");
    assert_eq!(job["outcome"], Value::Null);
}

#[test]
fn log_gives_exactly_the_bytes_or_lines_asked_for() {
    let world = World::new();
    let id = world.shell("seq 1 1000; printf tail");
    world.wait(&id);
    let all = world.output(&id);
    let log = |args: &[&str]| {
        let ran = world.outlive(&[&["log", &id], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    assert_eq!(log(&["--bytes", "0:4"]), "1\n2\n");
    assert_eq!(log(&["--bytes", "3:3"]), "");
    assert_eq!(log(&["--bytes", "3:6"]), "\n3\n");
    assert_same_bytes("all", log(&["--bytes", "0"]).as_bytes(), &all);
    assert_same_bytes("all", log(&["--bytes", "0:999999"]).as_bytes(), &all);
    assert_eq!(log(&["--bytes", "999999:9999999"]), "");
    assert_eq!(log(&["--lines", "1"]), "tail");
    assert_eq!(log(&["--lines", "3"]), "999\n1000\ntail");
    assert_eq!(log(&["--lines", "0"]), "");
    assert_same_bytes("all", log(&["--lines", "5000"]).as_bytes(), &all);
    let last: String = (802..=1000).map(|n| format!("{n}\n")).collect();
    assert_eq!(log(&[]), last + "tail");
    assert_eq!(world.outlive(&["log", &id, "--bytes", "5:3"]).code, 2);
}

#[test]
fn log_gives_bytes_that_are_no_text_as_they_are() {
    let world = World::new();
    let id = world.shell(r"printf '\377\000\001\n\033[0m\r\n'");
    world.wait(&id);
    let output = world
        .command(["log", &id, "--bytes", "0"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"\xff\x00\x01\n\x1b[0m\r\n");
}

#[test]
fn a_job_is_found_by_id_name_or_unique_beginning_and_else_is_3() {
    let world = World::new();
    world.ok(&["run", "--id", "alpha1", "--name", "first", "--", "true"]);
    world.ok(&["run", "--id", "alpha2", "--", "true"]);
    world.ok(&["run", "--id", "beta", "--", "true"]);
    world.ok(&["wait", "alpha1", "alpha2", "beta"]);
    for (text, id) in [
        ("alpha1", "alpha1"),
        ("first", "alpha1"),
        ("b", "beta"),
        ("be", "beta"),
    ] {
        assert_eq!(world.show(text)["id"], id);
        assert_eq!(world.outlive(&["wait", text]).code, 0);
    }
    for text in ["alpha", "a", "gamma", "firs", "../jobs/beta", ""] {
        for verb in ["show", "log", "wait", "stop"] {
            let ran = world.outlive(&[verb, text]);
            assert_eq!(ran.code, 3, "{verb} {text:?}: {ran:?}");
            assert_eq!(ran.stdout, "");
        }
        assert_eq!(world.outlive(&["signal", text, "TERM"]).code, 3);
    }
    let ambiguous = world.outlive(&["show", "alpha"]).stderr;
    assert!(ambiguous.contains("alpha1") && ambiguous.contains("alpha2"));
}

#[test]
fn a_name_means_the_newest_job_that_has_it() {
    let world = World::new();
    world.ok(&["run", "--id", "old", "--name", "build", "--shell", "exit 1"]);
    world.ok(&["run", "--id", "new", "--name", "build", "--shell", "exit 2"]);
    assert_eq!(world.outlive(&["wait", "build"]).code, 2);
    assert_eq!(world.show("build")["id"], "new");
}

#[test]
fn one_unknown_job_among_several_is_3_and_nothing_is_waited_for_or_stopped() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    assert_eq!(world.outlive(&["wait", &id, "nobody"]).code, 3);
    assert_eq!(world.outlive(&["stop", &id, "nobody"]).code, 3);
    assert_eq!(world.show(&id)["state"], "running");
}
