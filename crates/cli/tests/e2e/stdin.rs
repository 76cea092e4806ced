//! Jobs whose standard input is a pipe: `send` arrives once, whole and in order.

use crate::pair::{
    CONT, KILL, STOP, assert_nothing_is_left, assert_same_bytes, every, go, keepings,
    kill_for_good, numbers, until_output, with_go,
};
use crate::world::{Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Has a job do nothing until the test lets it go on, without reading.
const WAITS: &str = "until [ -e \"$GO\" ]; do sleep 0.02; done; ";
/// What a keeper holds for a job that does not read, before whoever writes has to wait.
const ROOM: usize = 1024 * 1024;
/// The system calls a client hands over its bytes in, and waits for an answer in.
const SENDTO: &str = "44";
const RECVFROM: &str = "45";

/// Starts a shell job that can be written to; returns its id.
fn reader(world: &World, script: &str) -> String {
    reader_with_hooks(world, "", script)
}

fn reader_with_hooks(world: &World, hooks: &str, script: &str) -> String {
    let args = ["run", "--stdin", "pipe", "--shell", script];
    let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

fn let_go(world: &World) {
    fs::write(go(world), "").unwrap();
}

fn send_line(world: &World, id: &str, line: &str) {
    world.ok(&["send", id, line, "--enter"]);
}

/// Begins to send bytes, handed over through the standard input of `send`.
fn begin_send(world: &World, id: &str, more: &[&str], bytes: &[u8]) -> Child {
    let path = world.path(&format!("bytes-{:x}", random()));
    fs::write(&path, bytes).unwrap();
    world
        .command(["send", id])
        .args(more)
        .stdin(fs::File::open(&path).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn send_bytes(world: &World, id: &str, bytes: &[u8]) {
    let ran = finish(begin_send(world, id, &[], bytes));
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Ends the input, and waits for the job's own good end.
fn end_input(world: &World, id: &str) -> Value {
    world.ok(&["send", id, "--eof"]);
    let job = world.wait(id);
    assert_eq!(job["exit_code"], 0, "{job}");
    job
}

/// Different every time.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u128(now.as_nanos());
    hasher.finish()
}

/// Bytes of every value, in no order.
fn noise(count: usize) -> Vec<u8> {
    let mut state = random() | 1;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_ne_bytes());
    }
    bytes.truncate(count);
    bytes
}

/// Letters in no order.
fn letters(count: usize) -> Vec<u8> {
    let mut bytes = noise(count);
    bytes.iter_mut().for_each(|byte| *byte = b'a' + *byte % 26);
    bytes
}

/// What `sha256sum` says of these bytes.
fn sum(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    finish(child).stdout
}

/// `wait --for input` succeeds.
fn until_awaiting(world: &World, id: &str) {
    let ran = world.outlive(&["wait", id, "--for", "input", "--timeout", "20s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Waits until `send` has sent something and sleeps until it is answered.
fn until_it_waits(sender: &Child) {
    let pid = sender.id() as i32;
    let mut seen = 0;
    until("send waits for an answer", || {
        seen = if sleeps_in(pid) == RECVFROM {
            seen + 1
        } else {
            0
        };
        seen > 20
    });
}

/// Runs as often as there are blocks, and each is whole.
fn runs(bytes: &[u8]) -> Vec<(u8, usize)> {
    let mut runs: Vec<(u8, usize)> = Vec::new();
    for byte in bytes {
        match runs.last_mut() {
            Some((letter, count)) if letter == byte => *count += 1,
            _ => runs.push((*byte, 1)),
        }
    }
    runs
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

/// What it says in refusing.
fn refusal(ran: &Ran) -> &str {
    assert_eq!(ran.code, 125, "{ran:?}");
    assert_eq!(ran.stdout, "", "{ran:?}");
    ran.stderr.trim_end()
}

#[test]
fn a_job_echoes_what_is_sent_until_its_input_is_ended() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    send_line(&world, &id, "one");
    until_output(&world, &id, "one\n");
    send_line(&world, &id, "two");
    until_output(&world, &id, "one\ntwo\n");
    assert_eq!(world.show(&id)["state"], "running");
    let job = end_input(&world, &id);
    assert_eq!(job["ended_by"], "itself", "{job}");
    assert_eq!(world.output(&id), b"one\ntwo\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn text_is_sent_as_it_is_and_enter_adds_a_newline() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for args in [
        &["a\\n b"][..],
        &["--enter"],
        &["", "--enter"],
        &["c", "--enter"],
        &["d", "--enter", "--eof"],
    ] {
        world.ok(&[&["send", &id], args].concat());
    }
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"a\\n b\n\nc\nd\n");
}

#[test]
fn without_a_pipe_a_job_reads_the_end_at_once_and_send_is_refused() {
    let world = World::new();
    let ended = world.shell("cat; echo over");
    assert_eq!(world.wait(&ended)["exit_code"], 0);
    assert_eq!(world.output(&ended), b"over\n");
    let id = world.ok(&["run", "--stdin", "null", "--", "sleep", "60"]);
    let ran = world.outlive(&["send", &id, "x"]);
    assert!(refusal(&ran).contains("--stdin pipe"), "{ran:?}");
    let ran = world.outlive(&["send", &id, "--eof"]);
    assert!(refusal(&ran).contains("--stdin pipe"), "{ran:?}");
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_job_that_closed_its_input_or_ended_refuses() {
    let world = World::new();
    let closed = reader(&world, "exec 0<&-; echo closed; exec sleep 60");
    until_output(&world, &closed, "closed\n");
    for _ in 0..2 {
        let ran = world.outlive(&["send", &closed, "x"]);
        assert!(
            refusal(&ran).contains("closed its standard input"),
            "{ran:?}"
        );
    }
    let at_end = reader(&world, "cat; exec sleep 60");
    world.ok(&["send", &at_end, "--eof"]);
    let ran = world.outlive(&["send", &at_end, "x"]);
    assert!(refusal(&ran).contains("closed"), "{ran:?}");
    let ended = reader(&world, "exit 3");
    assert_eq!(world.wait(&ended)["exit_code"], 3);
    let ran = world.outlive(&["send", &ended, "x"]);
    assert!(refusal(&ran).contains("has ended"), "{ran:?}");
    let ran = world.outlive(&["send", "nosuchjob", "x"]);
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn a_job_that_closes_its_input_while_a_send_waits_for_room_refuses_it() {
    let world = World::new();
    let id = reader(
        &world,
        &format!("{WAITS}exec 0<&-; echo closed; exec sleep 60"),
    );
    let sender = begin_send(&world, &id, &[], &letters(3 * ROOM));
    until_it_waits(&sender);
    let_go(&world);
    let ran = finish(sender);
    assert!(
        refusal(&ran).contains("closed its standard input"),
        "{ran:?}"
    );
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_job_that_ends_while_a_send_waits_for_room_refuses_it() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exit 4"));
    let sender = begin_send(&world, &id, &[], &letters(3 * ROOM));
    until_it_waits(&sender);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 4);
    let ran = finish(sender);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert_ne!(ran.stderr, "", "{ran:?}");
    assert_nothing_is_left(&world, &id);
}

/// It stays open until then, and a process left behind is not left waiting for what cannot come.
#[test]
fn the_input_ends_with_the_job_for_those_left_behind() {
    let world = World::new();
    let id = reader(&world, "(cat; echo end) <&0 & exit 3");
    assert_eq!(world.wait(&id)["exit_code"], 3);
    let ran = world.outlive(&["send", &id, "x"]);
    assert!(refusal(&ran).contains("has ended"), "{ran:?}");
    until_output(&world, &id, "end\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn five_megabytes_of_noise_arrive_whole_and_in_order() {
    let world = World::new();
    let id = reader(&world, "exec sha256sum");
    let bytes = noise(5_000_000);
    send_bytes(&world, &id, &bytes);
    end_input(&world, &id);
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
}

#[test]
fn every_byte_value_arrives_as_it_is() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let all: Vec<u8> = (0..=255).cycle().take(1024).collect();
    let zeros = vec![0; 300_000];
    let text = "\u{1}é\u{10ffff}\"\\".repeat(30_000).into_bytes();
    for bytes in [&all, &zeros, &text] {
        send_bytes(&world, &id, bytes);
    }
    end_input(&world, &id);
    assert_same_bytes("echo", &world.output(&id), &[all, zeros, text].concat());
}

#[test]
fn blocks_of_several_clients_are_not_mixed() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let names = b"abcdefgh";
    let senders: Vec<Child> = names
        .iter()
        .map(|letter| begin_send(&world, &id, &[], &vec![*letter; 300_000]))
        .collect();
    for sender in senders {
        let ran = finish(sender);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    end_input(&world, &id);
    let expected: Vec<(u8, usize)> = names.iter().map(|letter| (*letter, 300_000)).collect();
    assert_eq!(sorted(runs(&world.output(&id))), expected);
}

#[test]
fn blocks_of_several_clients_are_not_mixed_when_the_keeper_is_killed_between_their_pieces() {
    every(
        &[0, 1, 2, 3],
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, &format!("{WAITS}exec cat"));
            let big = begin_send(&world, &id, &[], &vec![b'A'; 3 * ROOM]);
            until_it_waits(&big);
            let others: Vec<Child> = (b'a'..=b'd')
                .map(|letter| begin_send(&world, &id, &[], &vec![letter; 1000]))
                .collect();
            others.iter().for_each(until_it_waits);
            kill_for_good(world.pair(&id).keeper);
            let_go(&world);
            for sender in [big].into_iter().chain(others) {
                let ran = finish(sender);
                assert_eq!(ran.code, 0, "{ran:?}");
            }
            end_input(&world, &id);
            let mut expected = vec![(b'A', 3 * ROOM)];
            expected.extend((b'a'..=b'd').map(|letter| (letter, 1000)));
            assert_eq!(sorted(runs(&world.output(&id))), expected);
        },
    );
}

#[test]
fn a_client_killed_in_the_middle_of_its_write_does_not_keep_others_from_writing() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    let mut killed = begin_send(&world, &id, &[], &vec![b'A'; 3 * ROOM]);
    until_it_waits(&killed);
    let others: Vec<Child> = (b'a'..=b'c')
        .map(|letter| begin_send(&world, &id, &[], &vec![letter; 200_000]))
        .collect();
    others.iter().for_each(until_it_waits);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let_go(&world);
    for sender in others {
        let ran = finish(sender);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    end_input(&world, &id);
    let mut runs = runs(&world.output(&id));
    let (letter, count) = runs.remove(0);
    assert_eq!(letter, b'A');
    assert!(count > ROOM && count < 3 * ROOM, "{count}");
    let expected: Vec<(u8, usize)> = (b'a'..=b'c').map(|letter| (letter, 200_000)).collect();
    assert_eq!(sorted(runs), expected);
}

#[test]
fn a_write_repeated_after_its_client_was_killed_is_completed() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec sha256sum"));
    let bytes = letters(3 * ROOM);
    let mut killed = begin_send(&world, &id, &["--write-id", "big"], &bytes);
    until_it_waits(&killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let again = begin_send(&world, &id, &["--write-id", "big"], &bytes);
    let_go(&world);
    let ran = finish(again);
    assert_eq!(ran.code, 0, "{ran:?}");
    end_input(&world, &id);
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
}

#[test]
fn a_write_id_arrives_once_and_another_arrives_too() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for write in ["x", "x", "y", "x", "y", &"z".repeat(34)] {
        world.ok(&["send", &id, write, "--enter", "--write-id", write]);
    }
    let block = vec![b'B'; 400_000];
    for _ in 0..2 {
        let ran = finish(begin_send(&world, &id, &["--write-id", "block"], &block));
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    end_input(&world, &id);
    let lines = format!("x\ny\n{}\n", "z".repeat(34)).into_bytes();
    assert_same_bytes("echo", &world.output(&id), &[lines, block].concat());
}

#[test]
fn a_write_id_is_known_to_the_next_keeper() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    world.ok(&["send", &id, "once", "--enter", "--write-id", "x"]);
    kill_for_good(world.pair(&id).keeper);
    world.ok(&["send", &id, "once", "--enter", "--write-id", "x"]);
    world.ok(&["send", &id, "more", "--enter", "--write-id", "y"]);
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"once\nmore\n");
}

#[test]
fn no_write_id_is_taken_for_a_piece_of_another_write() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let block = vec![b'B'; 400_000];
    let ran = finish(begin_send(&world, &id, &["--write-id", "a"], &block));
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = world.outlive(&["send", &id, "tail", "--write-id", "a#1"]);
    let expected = match ran.code {
        0 => [block, b"tail".to_vec()].concat(),
        code => {
            assert_eq!(code, 2, "{ran:?}");
            block
        }
    };
    end_input(&world, &id);
    assert_same_bytes("echo", &world.output(&id), &expected);
}

/// Whoever repeats what was done already is not told that it failed.
#[test]
fn a_repeated_write_that_ended_the_input_is_no_failure() {
    let world = World::new();
    let id = reader(&world, &format!("cat; {WAITS}exit 0"));
    for _ in 0..2 {
        world.ok(&["send", &id, "last", "--eof", "--write-id", "x"]);
    }
    kill_for_good(world.pair(&id).keeper);
    world.ok(&["send", &id, "last", "--eof", "--write-id", "x"]);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"last");
}

#[test]
fn a_bad_write_id_is_wrong_usage_and_changes_nothing() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for bad in ["", &"x".repeat(35), &"x".repeat(1000)] {
        let ran = world.outlive(&["send", &id, "no", "--write-id", bad]);
        assert_eq!(ran.code, 2, "{bad:?}: {ran:?}");
        assert!(ran.stderr.contains("write id"), "{ran:?}");
    }
    assert_eq!(world.outlive(&["send"]).code, 2);
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"");
}

#[test]
fn send_works_after_the_launcher_and_all_its_group_are_gone() {
    let world = World::new();
    let mut launcher = Command::new("setsid");
    launcher
        .args(["-w", "bash", "-c", "\"$@\"; kill -9 0", "launch"])
        .arg(env!("CARGO_BIN_EXE_outlive"))
        .args(["run", "--id", "kept", "--stdin", "pipe", "--", "cat"])
        .env("OUTLIVE_HOME", world.home())
        .stdin(Stdio::null());
    let ran = Ran::of(&mut launcher);
    assert_eq!(ran.stdout.trim_end(), "kept", "{ran:?}");
    send_line(&world, "kept", "after");
    end_input(&world, "kept");
    assert_eq!(world.output("kept"), b"after\n");
}

/// Those who are waited for are told when it has read enough.
#[test]
fn a_send_waits_until_a_slow_job_has_room_and_loses_nothing() {
    let world = World::new();
    let id = reader(
        &world,
        &format!("read first; echo \"$first\"; {WAITS}exec sha256sum"),
    );
    let bytes = letters(3 * ROOM);
    let sender = begin_send(&world, &id, &[], &[b"first\n", &bytes[..]].concat());
    until_output(&world, &id, "first\n");
    until_it_waits(&sender);
    assert!(is_alive(sender.id() as i32));
    let_go(&world);
    let ran = finish(sender);
    assert_eq!(ran.code, 0, "{ran:?}");
    end_input(&world, &id);
    let output = String::from_utf8(world.output(&id)).unwrap();
    assert_eq!(output, format!("first\n{}", sum(&bytes)));
}

#[test]
fn a_job_that_never_reads_is_stopped_as_any_other() {
    let world = World::new();
    let id = reader(&world, "exec sleep 60");
    let mut killed = begin_send(&world, &id, &[], &letters(4 * ROOM));
    until_it_waits(&killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let waiting = begin_send(&world, &id, &[], &letters(2 * ROOM));
    until_it_waits(&waiting);
    let job = world.json(&["stop", &id, "--json"]);
    assert_eq!(job["exit_code"], 143, "{job}");
    assert_eq!(job["ended_by"], "stop", "{job}");
    assert_eq!(finish(waiting).code, 125);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn the_end_comes_after_everything_that_was_sent() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec sha256sum"));
    let bytes = letters(ROOM / 2);
    send_bytes(&world, &id, &bytes);
    world.ok(&["send", &id, "last", "--eof"]);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    let expected = sum(&[&bytes[..], b"last"].concat());
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), expected);
}

/// As with a pipe of a shell: `echo x | cat /dev/stdin`.
#[test]
fn a_job_that_opens_its_input_by_name_after_the_end_was_sent_reads_it_all() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat /dev/stdin"));
    world.ok(&["send", &id, "x\n", "--eof"]);
    let_go(&world);
    let ran = world.outlive(&["wait", &id, "--timeout", "8s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.output(&id), b"x\n");
}

#[test]
fn a_job_can_open_its_input_by_name() {
    let world = World::new();
    let id = reader(&world, "exec cat /dev/stdin");
    send_line(&world, &id, "x");
    until_output(&world, &id, "x\n");
    end_input(&world, &id);
}

#[test]
fn nothing_can_be_sent_after_the_end_even_before_the_job_has_read_it() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    let block = vec![b'B'; ROOM / 2];
    send_bytes(&world, &id, &block);
    world.ok(&["send", &id, "--eof"]);
    let ran = world.outlive(&["send", &id, "late"]);
    assert!(refusal(&ran).contains("closed"), "{ran:?}");
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_same_bytes("echo", &world.output(&id), &block);
}

#[test]
fn the_end_survives_the_keeper_that_took_it() {
    for pending in [0, ROOM / 2] {
        let world = World::new();
        let id = reader(&world, &format!("{WAITS}exec cat"));
        let block = vec![b'B'; pending];
        send_bytes(&world, &id, &block);
        world.ok(&["send", &id, "--eof"]);
        kill_for_good(world.pair(&id).keeper);
        let_go(&world);
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_same_bytes("echo", &world.output(&id), &block);
        assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
    }
}

#[test]
fn the_end_comes_also_when_the_standby_stands_still_or_is_gone() {
    for signal in [KILL, STOP] {
        let world = World::new();
        let id = reader(&world, "exec cat");
        let standby = world.pair(&id).standby.unwrap();
        kill(standby, signal);
        send_line(&world, &id, "x");
        world.ok(&["send", &id, "--eof"]);
        if signal == STOP {
            kill(standby, CONT);
        }
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_eq!(world.output(&id), b"x\n");
    }
}

/// The system call a process sleeps in.
fn sleeps_in(pid: i32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn is_stopped(pid: i32) -> bool {
    procfs::stat(pid).is_some_and(|stat| stat.state == b'T')
}

/// Has the keeper stand still while a client is in the middle of handing over a piece.
fn stop_while_it_hands_over(keeper: i32, sender: i32) {
    until("its connection is full", || {
        kill(keeper, STOP);
        until("the keeper stands still", || is_stopped(keeper));
        let mut call = String::new();
        until("the client waits for the keeper", || {
            call = sleeps_in(sender);
            [SENDTO, RECVFROM].contains(&call.as_str())
        });
        if call != SENDTO {
            kill(keeper, CONT);
        }
        call == SENDTO
    });
}

/// A client that was suspended in the middle of handing over its bytes (Ctrl-Z, fg) goes on.
#[test]
fn a_send_that_was_suspended_arrives_whole() {
    let world = World::new();
    let id = reader(&world, "exec sha256sum");
    let keeper = world.pair(&id).keeper;
    let bytes = noise(6_000_000);
    let mut sender = begin_send(&world, &id, &[], &bytes);
    let pid = sender.id() as i32;
    stop_while_it_hands_over(keeper, pid);
    kill(pid, STOP);
    until("it is suspended", || is_stopped(pid));
    kill(pid, CONT);
    kill(keeper, CONT);
    until("it has sent everything", || {
        sender.try_wait().unwrap().is_some()
    });
    assert_eq!(finish(sender).code, 0);
    end_input(&world, &id);
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
}

/// Every hook that a job passes which reads to its end by itself.
const HOOKS: [&str; 17] = [
    "Begun",
    "Forked",
    "Spawned",
    "GateOpened",
    "Executed",
    "Started",
    "Ready",
    "Captured",
    "LeaderEnded",
    "Drained",
    "OutputSynced",
    "EndedRecorded",
    "Noted",
    "Told",
    "Reaped",
    "Closed",
    "Retired",
];

/// Takes a job from its start to its end by sending it lines, and checks what it read.
fn drive(world: &World, hooks: &str) -> String {
    let id = reader_with_hooks(world, hooks, "exec cat");
    (1..=5).for_each(|n| send_line(world, &id, &n.to_string()));
    world.ok(&["send", &id, "6\n", "--eof"]);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 0, "{job}");
    assert_eq!(job["ended_by"], "itself", "{job}");
    assert_eq!(job["awaiting_input"], false, "{job}");
    assert_eq!(world.output(&id), numbers(6));
    id
}

#[test]
fn a_keeper_killed_at_any_hook_loses_and_doubles_no_input() {
    every(&HOOKS, ToString::to_string, |hook| {
        let world = World::new();
        let id = drive(&world, &format!("keeper:{hook}=kill"));
        assert_nothing_is_left(&world, &id);
        assert_no_fifo(&world, &id);
        let kept = keepings(&world, &id);
        // Whether the end is closed in a step of its own depends on what is seen first.
        match *hook {
            "Begun" => assert_eq!(kept, ["taken_over"]),
            "Closed" => {}
            _ => assert_eq!(kept, ["launched", "taken_over"]),
        }
    });
}

/// The keeper that stopped at its hook, once it has.
fn stopped(world: &World) -> Option<i32> {
    world.processes().into_iter().find(|pid| is_stopped(*pid))
}

#[test]
fn a_standby_killed_at_any_hook_loses_and_doubles_no_input() {
    every(&HOOKS, ToString::to_string, |hook| {
        let world = World::new();
        thread::scope(|scope| {
            let job = scope.spawn(|| drive(&world, &format!("keeper:{hook}=stop")));
            let mut keeper = None;
            until("the job is over", || {
                match keeper {
                    // A hook that is passed often stops it each time.
                    Some(keeper) => kill(keeper, CONT),
                    None => {
                        keeper = stopped(&world);
                        let parent = keeper.and_then(procfs::stat).map(|stat| stat.parent);
                        parent.into_iter().for_each(kill_for_good);
                    }
                }
                job.is_finished() && world.processes().is_empty()
            });
            assert!(
                keeper.is_some() || *hook == "Closed",
                "never came to the hook"
            );
            let id = job.join().unwrap();
            assert_eq!(keepings(&world, &id), ["launched"]);
            assert_no_fifo(&world, &id);
        });
    });
}

/// Kills one of the pair at a random moment while lines are sent, one process each.
fn lines_arrive_once_though_a_random_kill_hits(victim: fn(&World, &str) -> i32) {
    let rounds: Vec<usize> = (0..40).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, "exec cat");
            let victim = victim(&world, &id);
            let micros = random() % 60_000;
            thread::scope(|scope| {
                let id = &id;
                let world = &world;
                scope.spawn(move || (1..=20).for_each(|n| send_line(world, id, &n.to_string())));
                thread::sleep(Duration::from_micros(micros));
                kill(victim, KILL);
            });
            send_line(&world, &id, "21");
            end_input(&world, &id);
            assert_same_bytes(
                format!("killed after {micros} µs"),
                &world.output(&id),
                &numbers(21),
            );
        },
    );
}

#[test]
fn lines_arrive_once_and_in_order_though_the_keeper_is_killed_at_random() {
    lines_arrive_once_though_a_random_kill_hits(|world, id| world.pair(id).keeper);
}

#[test]
fn lines_arrive_once_and_in_order_though_the_standby_is_killed_at_random() {
    lines_arrive_once_though_a_random_kill_hits(|world, id| world.pair(id).standby.unwrap());
}

/// The lines one of several clients sends.
fn lines_of(client: char) -> Vec<String> {
    (1..=10).map(|n| format!("{client}{n}")).collect()
}

#[test]
fn lines_of_several_clients_arrive_once_though_the_keeper_is_killed_at_random() {
    let rounds: Vec<usize> = (0..12).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, "exec cat");
            let keeper = world.pair(&id).keeper;
            let micros = random() % 100_000;
            thread::scope(|scope| {
                for client in ['a', 'b', 'c'] {
                    let (world, id) = (&world, &id);
                    scope.spawn(move || {
                        let lines = lines_of(client);
                        lines.iter().for_each(|line| send_line(world, id, line));
                    });
                }
                thread::sleep(Duration::from_micros(micros));
                kill(keeper, KILL);
            });
            end_input(&world, &id);
            let output = String::from_utf8(world.output(&id)).unwrap();
            assert_eq!(output.lines().count(), 30, "{micros} µs: {output}");
            for client in ['a', 'b', 'c'] {
                let arrived: Vec<&str> = output
                    .lines()
                    .filter(|line| line.starts_with(client))
                    .collect();
                assert_eq!(arrived, lines_of(client), "killed after {micros} µs");
            }
        },
    );
}

#[test]
fn long_writes_in_flight_arrive_once_though_the_keeper_is_killed_at_random() {
    let rounds: Vec<usize> = (0..20).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, "exec cat");
            let sender = begin_send(&world, &id, &[], &numbers(150_000));
            let micros = random() % 80_000;
            thread::sleep(Duration::from_micros(micros));
            kill_for_good(world.pair(&id).keeper);
            let ran = finish(sender);
            assert_eq!(ran.code, 0, "{ran:?}");
            end_input(&world, &id);
            assert_same_bytes(
                format!("killed after {micros} µs"),
                &world.output(&id),
                &numbers(150_000),
            );
        },
    );
}

#[test]
fn the_end_of_input_is_sent_once_though_the_keeper_is_killed_at_random() {
    let rounds: Vec<usize> = (0..30).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = World::new();
            let id = reader(&world, &format!("cat; {WAITS}exit 0"));
            let keeper = world.pair(&id).keeper;
            let micros = random() % 6_000;
            let sender = begin_send(&world, &id, &["last", "--eof"], b"");
            thread::sleep(Duration::from_micros(micros));
            kill_for_good(keeper);
            let ran = finish(sender);
            assert_eq!(ran.code, 0, "killed after {micros} µs: {ran:?}");
            let_go(&world);
            assert_eq!(world.wait(&id)["exit_code"], 0);
            assert_eq!(world.output(&id), b"last");
        },
    );
}

#[test]
fn what_was_accepted_before_a_kill_is_delivered_by_the_next_keeper() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    let block = letters(ROOM / 2);
    send_bytes(&world, &id, &block);
    kill_for_good(world.pair(&id).keeper);
    send_line(&world, &id, "after");
    let_go(&world);
    end_input(&world, &id);
    let expected = [&block[..], b"after\n"].concat();
    assert_same_bytes("echo", &world.output(&id), &expected);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
}

#[test]
fn what_is_sent_while_the_keeper_is_dead_and_its_heir_not_yet_up_arrives() {
    let world = World::new();
    let id = reader_with_hooks(&world, "heir:Begun=stop", "exec cat");
    send_line(&world, &id, "before");
    let pair = world.pair(&id);
    kill_for_good(pair.keeper);
    until("the heir has stopped", || stopped(&world) == pair.standby);
    let sender = begin_send(&world, &id, &["during", "--enter"], b"");
    until_it_waits(&sender);
    kill(pair.standby.unwrap(), CONT);
    assert_eq!(finish(sender).code, 0);
    send_line(&world, &id, "after");
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"before\nduring\nafter\n");
}

fn kill_both(world: &World, id: &str) {
    let pair = world.pair(id);
    pair.standby.into_iter().for_each(|pid| kill(pid, STOP));
    kill_for_good(pair.keeper);
    pair.standby.into_iter().for_each(kill_for_good);
}

/// With both keepers the pipe's only writers go: a job blocked in `read` sees the end of its input.
#[test]
fn when_both_keepers_are_killed_a_blocked_reader_sees_the_end() {
    let world = World::new();
    let id = reader(&world, "cat; echo end; exec sleep 60");
    send_line(&world, &id, "x");
    until_output(&world, &id, "x\n");
    kill_both(&world, &id);
    assert_eq!(world.show(&id)["state"], "running");
    until_output(&world, &id, "x\nend\n");
}

/// One that was not reading then can be written to through the keeper that adopts it.
#[test]
fn when_both_keepers_are_killed_what_is_sent_later_is_refused() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    kill_both(&world, &id);
    let ran = world.outlive(&["send", &id, "later", "--enter"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(
        ran.stderr.contains("its input went with the keepers"),
        "{ran:?}"
    );
    let_go(&world);
    assert_eq!(
        world.wait(&id)["exit_code"],
        0,
        "it sees the end of its input"
    );
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
}

/// The end was promised: whoever keeps the job now keeps the promise.
#[test]
fn an_end_that_was_sent_comes_also_when_both_keepers_are_killed() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}cat; echo end"));
    world.ok(&["send", &id, "x\n", "--eof"]);
    kill_both(&world, &id);
    assert_eq!(world.show(&id)["state"], "running");
    let_go(&world);
    let ran = world.outlive(&["wait", &id, "--timeout", "8s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.output(&id), b"x\nend\n");
}

/// Every file below a directory.
fn files(below: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(below)
        .unwrap()
        .flatten()
        .flat_map(|entry| match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path()),
            kind if kind.is_file() => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}

fn assert_not_on_disk(world: &World, secret: &str) {
    let all = files(&world.home());
    assert!(all.len() >= 3, "{all:?}");
    for path in all {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(secret), "{}", path.display());
    }
}

#[test]
fn nothing_that_is_sent_is_written_to_disk() {
    let world = World::new();
    let secret = "hunter2-0xdecaf";
    let id = reader(&world, &format!("{WAITS}read x; exit 0"));
    send_line(&world, &id, secret);
    assert_not_on_disk(&world, secret);
    kill_for_good(world.pair(&id).keeper);
    send_line(&world, &id, secret);
    assert_not_on_disk(&world, secret);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_nothing_is_left(&world, &id);
    assert_not_on_disk(&world, secret);
}

fn assert_no_fifo(world: &World, id: &str) {
    let fifos: Vec<_> = fs::read_dir(world.job_dir(id))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_type().unwrap().is_fifo())
        .map(|entry| entry.file_name())
        .collect();
    assert!(fifos.is_empty(), "{fifos:?}");
}

#[test]
fn no_fifo_is_left_behind() {
    let world = World::new();
    let by_itself = reader(&world, "exec cat");
    end_input(&world, &by_itself);
    let stopped = reader(&world, "exec cat");
    until_awaiting(&world, &stopped);
    world.ok(&["stop", &stopped]);
    let ran = world.outlive(&["run", "--id", "none", "--stdin", "pipe", "--", "/no/such"]);
    assert_eq!(ran.code, 127, "{ran:?}");
    for id in [by_itself.as_str(), &stopped, "none"] {
        assert_nothing_is_left(&world, id);
        assert_no_fifo(&world, id);
    }
}
