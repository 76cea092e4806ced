//! Whether a job waits for input, learned from the kernel.

use crate::pair::{go, kill_for_good, until_output, with_go};
use crate::world::{Ran, World, is_alive, kill, until};
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const INT: i32 = 2;
const PIPE: &[&str] = &["--stdin", "pipe"];
const PTY: &[&str] = &["--pty"];
/// Has a job go on when the test lets it.
const WAITS: &str = "until [ -e \"$GO\" ]; do sleep 0.02; done; ";

/// Starts a job of this kind; returns its id.
fn start(world: &World, kind: &[&str], command: &[&str]) -> String {
    let args = [&["run"], kind, &["--"], command].concat();
    let ran = Ran::of(&mut with_go(world, &args));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

fn shell(world: &World, kind: &[&str], script: &str) -> String {
    start(world, kind, &["bash", "-c", script])
}

fn let_go(world: &World) {
    fs::write(go(world), "").unwrap();
}

fn wait_for_input(world: &World, id: &str) -> Ran {
    world.outlive(&["wait", id, "--for", "input", "--timeout", "20s", "--json"])
}

/// Waits until the job waits for this kind of input, and sees that everyone says so.
fn assert_awaits(world: &World, id: &str, kind: &str) {
    let ran = wait_for_input(world, id);
    assert_eq!(ran.code, 0, "{ran:?}");
    let waited: Value = serde_json::from_str(&ran.stdout).unwrap();
    let list = world.json(&["list", "--json"]);
    let listed = list["jobs"].as_array().unwrap();
    let listed = listed.iter().find(|job| job["id"] == id).unwrap();
    for job in [&waited, listed, &world.show(id)] {
        assert_eq!(job["state"], "running", "{job}");
        assert_eq!(job["awaiting_input"], true, "{job}");
        assert_eq!(job["input_kind"], kind, "{job}");
    }
}

/// That it does not wait for input, now or in a while.
fn assert_does_not_await(world: &World, id: &str) {
    let ran = world.outlive(&["wait", id, "--for", "input", "--timeout", "300ms", "--json"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let waited: Value = serde_json::from_str(&ran.stdout).unwrap();
    for job in [waited, world.show(id)] {
        assert_eq!(job["state"], "running", "{job}");
        assert_eq!(job["awaiting_input"], false, "{job}");
        assert_eq!(job["input_kind"], Value::Null, "{job}");
    }
}

/// Starts `outlive` in the background, its output to be read.
fn begin(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn begin_wait(world: &World, id: &str) -> Child {
    let waiter = begin(world.command(["wait", id, "--for", "input", "--timeout", "20s"]));
    let wchan = format!("/proc/{}/wchan", waiter.id());
    until("it is blocked", || {
        fs::read_to_string(&wchan).is_ok_and(|place| place.contains("poll"))
    });
    waiter
}

fn code(child: Child) -> i32 {
    child.wait_with_output().unwrap().status.code().unwrap()
}

/// A program that says `ready` once it is about to do what its test is about.
fn until_ready(world: &World, id: &str) {
    until("it is ready", || {
        String::from_utf8_lossy(&world.output(id)).contains("ready")
    });
}

#[test]
fn cat_waits_for_data() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "x", "--enter"]);
    until_output(&world, &id, "x\n");
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "--eof"]);
    let job = world.wait(&id);
    assert_eq!(job["awaiting_input"], false, "{job}");
    assert_eq!(job["input_kind"], Value::Null, "{job}");
}

#[test]
fn read_in_a_shell_waits_for_data() {
    let world = World::new();
    let id = start(&world, PIPE, &["sh", "-c", "read x; echo got $x"]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "it", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"got it\n");
}

/// Runs a Python program that must wait for data and then end with 0 once a line is sent.
fn python_waits_for_data(program: &str) {
    let world = World::new();
    let id = start(&world, PIPE, &["python3", "-c", program]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "x", "--enter"]);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 0, "{job}");
}

#[test]
fn input_in_python_waits_for_data() {
    python_waits_for_data("assert input() == 'x'");
}

#[test]
fn select_waits_for_data() {
    python_waits_for_data("import select; assert select.select([0], [], [])[0] == [0]");
}

#[test]
fn poll_waits_for_data() {
    python_waits_for_data(
        "import select; p = select.poll(); p.register(0, select.POLLIN); assert p.poll()[0][0] == 0",
    );
}

#[test]
fn epoll_waits_for_data() {
    python_waits_for_data(
        "import select; p = select.epoll(); p.register(0, select.EPOLLIN); assert p.poll()[0][0] == 0",
    );
}

/// As `pv` reads, and newer `cat`.
#[test]
fn splice_waits_for_data() {
    python_waits_for_data("import os; r, w = os.pipe(); assert os.splice(0, w, 9) == 2");
}

/// As an event loop with a clock does.
#[test]
fn a_poll_with_a_time_limit_waits_for_data() {
    python_waits_for_data("import select; assert select.select([0], [], [], 60)[0] == [0]");
}

#[test]
fn a_thread_that_reads_while_another_sleeps_waits_for_data() {
    python_waits_for_data(
        "import threading, time, os, sys
threading.Thread(target=lambda: (sys.stdin.readline(), os._exit(0))).start()
time.sleep(60)",
    );
}

#[test]
fn a_duplicate_of_its_input_is_its_input_too() {
    python_waits_for_data(
        "import os; fd = os.dup(0); os.close(0); assert os.read(fd, 9) == b'x\\n'",
    );
}

#[test]
fn node_waits_for_data() {
    if Command::new("node").arg("--version").output().is_err() {
        return;
    }
    let world = World::new();
    let program = "process.stdin.on('data', d => { process.stdout.write(d); process.exit(0); })";
    let id = start(&world, PIPE, &["node", "-e", program]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "x", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"x\n");
}

#[test]
fn a_grandchild_that_reads_waits_for_data() {
    let world = World::new();
    let id = shell(&world, PIPE, "(sh -c 'cat; :'; :); :");
    assert_awaits(&world, &id, "data");
}

#[test]
fn a_reader_in_another_session_waits_for_data() {
    let world = World::new();
    let id = shell(&world, PIPE, "setsid -f cat <&0; exec sleep 60");
    assert_awaits(&world, &id, "data");
}

#[test]
fn who_computes_sleeps_or_waits_for_a_child_does_not_wait_for_input() {
    for kind in [PIPE, PTY] {
        for script in [
            "echo ready; while :; do :; done",
            "echo ready; exec sleep 60",
            "echo ready; sleep 60; :",
            "echo ready; sleep 60 & wait",
        ] {
            let world = World::new();
            let id = shell(&world, kind, script);
            until_ready(&world, &id);
            assert_does_not_await(&world, &id);
        }
    }
}

#[test]
fn no_prompt_is_taken_for_waiting() {
    for kind in [PIPE, PTY] {
        let world = World::new();
        let id = shell(&world, kind, "printf 'ready\\nPassword: '; exec sleep 60");
        until_ready(&world, &id);
        assert_does_not_await(&world, &id);
    }
}

#[test]
fn who_reads_something_else_does_not_wait_for_input() {
    for kind in [PIPE, PTY] {
        for script in [
            "sleep 60 | (echo ready >&2; cat)",
            "mkfifo \"$GO.fifo\"; echo ready; exec cat <> \"$GO.fifo\"",
            "coproc sleep 60; echo ready; read x <&\"${COPROC[0]}\"",
        ] {
            let world = World::new();
            let id = shell(&world, kind, script);
            until_ready(&world, &id);
            assert_does_not_await(&world, &id);
        }
    }
}

#[test]
fn who_polls_other_descriptors_does_not_wait_for_input() {
    let world = World::new();
    let program = "import select, os, sys
r, w = os.pipe()
print('ready', flush=True)
p = select.epoll()
p.register(r, select.EPOLLIN)
p.register(1, 0)
p.poll()";
    let id = start(&world, PIPE, &["python3", "-c", program]);
    until_ready(&world, &id);
    assert_does_not_await(&world, &id);
}

#[test]
fn a_job_without_input_never_waits_for_it() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    assert_does_not_await(&world, &id);
}

#[test]
fn what_is_queued_is_not_waited_for() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("read x; {WAITS}exec cat"));
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "a\nb\n"]);
    assert_does_not_await(&world, &id);
    let_go(&world);
    until_output(&world, &id, "b\n");
    assert_awaits(&world, &id, "data");
}

/// What was sent is answered before the job is said to wait for more, each time.
fn each_answer_comes_before_the_next_wait(kind: &[&str]) {
    let world = World::new();
    // Computes for longer and longer, so that it is looked at just as it is done.
    let script = "stty -echo 2>/dev/null
        while read x; do for ((i = 0; i < x * 200; i++)); do :; done; echo \"done $x.\"; done";
    let id = shell(&world, kind, script);
    assert_eq!(wait_for_input(&world, &id).code, 0);
    for n in 1..=60 {
        world.ok(&["send", &id, &n.to_string(), "--enter"]);
        assert_eq!(wait_for_input(&world, &id).code, 0);
        let output = String::from_utf8(world.output(&id)).unwrap();
        assert!(output.contains(&format!("done {n}.")), "{n}: {output:?}");
    }
}

#[test]
fn a_pipe_job_is_not_said_to_wait_before_it_has_dealt_with_what_was_sent() {
    each_answer_comes_before_the_next_wait(PIPE);
}

#[test]
fn a_terminal_job_is_not_said_to_wait_before_it_has_dealt_with_what_was_sent() {
    each_answer_comes_before_the_next_wait(PTY);
}

#[test]
fn read_at_a_terminal_waits_for_a_line() {
    let world = World::new();
    let id = shell(&world, PTY, "read -p 'Name: ' x; echo \"hello $x\"");
    assert_awaits(&world, &id, "line");
    world.ok(&["send", &id, "you", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"Name: you\r\nhello you\r\n");
}

#[test]
fn read_without_echo_waits_for_a_password() {
    let world = World::new();
    let id = shell(&world, PTY, "read -s -p 'Password: ' x; echo; echo ${#x}");
    assert_awaits(&world, &id, "password");
    world.ok(&["send", &id, "secret", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"Password: \r\n6\r\n");
}

#[test]
fn getpass_in_python_waits_for_a_password_on_its_own_terminal() {
    let world = World::new();
    let program = "import getpass; print(len(getpass.getpass()))";
    let id = start(&world, PTY, &["python3", "-c", program]);
    assert_awaits(&world, &id, "password");
    world.ok(&["send", &id, "secret", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert!(world.output(&id).ends_with(b"6\r\n"));
}

#[test]
fn a_process_that_opens_its_terminal_by_name_waits_for_a_line() {
    let world = World::new();
    let id = shell(
        &world,
        PTY,
        "exec </dev/null; read x </dev/tty; echo \"got $x\"",
    );
    assert_awaits(&world, &id, "line");
    world.ok(&["send", &id, "it", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
}

/// A terminal of its own making is not the job's, by whatever name.
#[test]
fn a_process_that_reads_another_terminal_does_not_wait_for_input() {
    for name in ["/dev/tty", "/dev/stdin"] {
        let world = World::new();
        let program = format!(
            "import pty, time
pid, fd = pty.fork()
if pid == 0: open('{name}').read()
print('ready', flush=True)
time.sleep(60)"
        );
        let id = start(&world, PTY, &["python3", "-c", &program]);
        until_ready(&world, &id);
        assert_does_not_await(&world, &id);
    }
}

#[test]
fn show_and_list_say_so_in_words_too() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    for args in [&["show", &id][..], &["list"]] {
        let text = world.ok(args);
        assert!(text.contains("input"), "{text}");
    }
    let id = start(&world, PIPE, &["sleep", "60"]);
    let text = world.ok(&["show", &id]);
    assert!(!text.contains("input"), "{text}");
}

#[test]
fn an_interactive_shell_waits_for_keys_and_not_while_its_child_sleeps() {
    let world = World::new();
    let id = start(&world, PTY, &["bash", "--norc", "-i"]);
    assert_awaits(&world, &id, "keys");
    world.ok(&["send", &id, "echo rea''dy; sleep 60", "--enter"]);
    until_ready(&world, &id);
    assert_does_not_await(&world, &id);
    world.ok(&["send", &id, "--key", "C-c"]);
    assert_awaits(&world, &id, "keys");
    world.ok(&["send", &id, "exit 0", "--enter"]);
    assert_eq!(world.wait(&id)["state"], "ended");
}

#[test]
fn an_interactive_python_waits_for_keys() {
    let world = World::new();
    let id = start(&world, PTY, &["python3", "-i", "-q"]);
    assert_awaits(&world, &id, "keys");
    world.ok(&["send", &id, "import sys; sys.exit(7)", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 7);
}

#[test]
fn wait_for_input_returns_promptly_once_the_job_waits() {
    for kind in [PIPE, PTY] {
        let world = World::new();
        let id = shell(&world, kind, &format!("{WAITS}echo ready; read x"));
        let waiter = begin_wait(&world, &id);
        assert!(is_alive(waiter.id() as i32));
        let_go(&world);
        until_ready(&world, &id);
        let start = Instant::now();
        assert_eq!(code(waiter), 0);
        assert!(
            start.elapsed() < Duration::from_millis(900),
            "{:?}",
            start.elapsed()
        );
    }
}

/// It may come to wait without having given a sign of life.
#[test]
fn wait_for_input_notices_a_job_that_says_nothing() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("{WAITS}read x"));
    let waiter = begin_wait(&world, &id);
    let_go(&world);
    let start = Instant::now();
    assert_eq!(code(waiter), 0);
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn wait_for_input_that_runs_out_of_time_is_124_and_the_job_is_untouched() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("{WAITS}read x; exit 5"));
    let before = world.journal(&id).len();
    let ran = world.outlive(&["wait", &id, "--for", "input", "--timeout", "200ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    assert_eq!(world.journal(&id).len(), before);
    let_go(&world);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 5);
}

#[test]
fn wait_for_input_of_a_job_that_ends_first_is_a_failure() {
    for (kind, exit, expected) in [(PIPE, 0, 125), (PIPE, 7, 7), (PTY, 0, 125), (PTY, 7, 7)] {
        let world = World::new();
        let id = shell(&world, kind, &format!("{WAITS}exit {exit}"));
        let waiter = begin_wait(&world, &id);
        let_go(&world);
        assert_eq!(code(waiter), expected);
        assert_eq!(wait_for_input(&world, &id).code, expected);
        assert_eq!(world.wait(&id)["exit_code"], exit);
    }
}

#[test]
fn wait_for_input_goes_on_while_the_keeper_is_killed_and_replaced() {
    for kind in [PIPE, PTY] {
        let world = World::new();
        let id = shell(&world, kind, &format!("{WAITS}read x; exit 3"));
        let waiter = begin_wait(&world, &id);
        kill_for_good(world.pair(&id).keeper);
        let_go(&world);
        assert_eq!(code(waiter), 0);
        let expected = if kind == PIPE { "data" } else { "line" };
        assert_awaits(&world, &id, expected);
        world.ok(&["send", &id, "x", "--enter"]);
        assert_eq!(world.wait(&id)["exit_code"], 3);
    }
}

#[test]
fn a_job_that_waits_is_seen_to_by_the_next_keeper() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    kill_for_good(world.pair(&id).keeper);
    assert_awaits(&world, &id, "data");
}

#[test]
fn many_who_wait_are_all_told() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("{WAITS}read x"));
    let waiters: Vec<Child> = (0..8).map(|_| begin_wait(&world, &id)).collect();
    let_go(&world);
    let codes: Vec<i32> = waiters.into_iter().map(code).collect();
    assert_eq!(codes, [0; 8]);
}

fn wait_for(world: &World, how: &str, timeout: &str, ids: &[&str]) -> Ran {
    let args = [
        &[
            "wait",
            "--for",
            "input",
            "--timeout",
            timeout,
            "--json",
            how,
        ],
        ids,
    ];
    world.outlive(&args.concat())
}

#[test]
fn of_several_jobs_any_or_all_can_be_waited_for() {
    let world = World::new();
    let reads = start(&world, PIPE, &["cat"]);
    let reads_too = start(&world, PIPE, &["cat"]);
    let sleeps = start(&world, PIPE, &["sleep", "60"]);
    assert_awaits(&world, &reads, "data");
    assert_awaits(&world, &reads_too, "data");
    let ran = wait_for(&world, "--any", "10s", &[&sleeps, &reads]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let jobs: Value = serde_json::from_str(&ran.stdout).unwrap();
    let awaiting: Vec<&Value> = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["awaiting_input"])
        .collect();
    assert_eq!(awaiting, [&json!(false), &json!(true)]);
    assert_eq!(
        wait_for(&world, "--all", "300ms", &[&sleeps, &reads]).code,
        124
    );
    assert_eq!(
        wait_for(&world, "--all", "10s", &[&reads, &reads_too]).code,
        0
    );
}

#[test]
fn any_of_several_is_no_success_when_one_ends_and_none_waits() {
    let world = World::new();
    let sleeps = start(&world, PIPE, &["sleep", "60"]);
    let ended = start(&world, PIPE, &["true"]);
    assert_eq!(world.wait(&ended)["exit_code"], 0);
    let ran = wait_for(&world, "--any", "300ms", &[&sleeps, &ended]);
    assert_ne!(ran.code, 0, "{ran:?}");
}

#[test]
fn who_waits_for_something_else_is_not_told_of_input() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    let ran = world.outlive(&["wait", &id, "--timeout", "200ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let ran = world.outlive(&["wait", &id, "--for", "nonsense"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

fn is_traced(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status"))
        .is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
}

/// What a process does in two seconds, a line for each system call.
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

fn is_asleep(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/wchan"))
        .is_ok_and(|place| place.contains("poll") || place.contains("wait"))
}

fn an_idle_pair_makes_no_system_calls(kind: &[&str], command: &[&str], given_up: bool) {
    let world = World::new();
    let id = start(&world, kind, command);
    if given_up {
        assert_does_not_await(&world, &id);
        let mut waiter = begin_wait(&world, &id);
        waiter.kill().unwrap();
        waiter.wait().unwrap();
    } else {
        assert_eq!(wait_for_input(&world, &id).code, 0);
    }
    // Once it has answered it has nothing more to do, but to see that whoever asked is gone.
    world.ok(&["signal", &id, "CONT"]);
    let pair = world.pair(&id);
    let both = [pair.keeper, pair.standby.unwrap()];
    // A look that was still due finds that nobody asks any more.
    until_quiet(pair.keeper);
    until("both are asleep", || both.iter().all(|pid| is_asleep(*pid)));
    let trace = watch_for_two_seconds(&world, &both);
    assert_eq!(trace.lines().count(), 2, "{trace}");
    let returned = trace.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!(returned, 0, "{trace}");
}

/// Waits until a process has not run for longer than a keeper leaves between two looks.
fn until_quiet(pid: i32) {
    let switches = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary"));
        line.unwrap().to_owned()
    };
    let mut last = (Instant::now(), switches());
    until("it is quiet", || {
        let now = switches();
        if now != last.1 {
            last = (Instant::now(), now);
        }
        last.0.elapsed() > Duration::from_millis(1100)
    });
}

#[test]
fn the_keepers_of_a_pipe_job_that_waits_for_input_make_no_system_calls() {
    an_idle_pair_makes_no_system_calls(PIPE, &["cat"], false);
}

#[test]
fn the_keepers_of_a_terminal_job_that_waits_for_input_make_no_system_calls() {
    an_idle_pair_makes_no_system_calls(PTY, &["bash", "--norc", "-i"], false);
}

#[test]
fn the_keepers_of_a_job_that_nobody_waits_for_any_more_make_no_system_calls() {
    an_idle_pair_makes_no_system_calls(PIPE, &["sleep", "60"], true);
}
