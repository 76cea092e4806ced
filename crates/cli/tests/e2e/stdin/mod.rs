//! Jobs whose standard input is a pipe: what `send` writes arrives once, whole and in order.

mod blocks;
mod disk;
mod end_of_input;
mod heirs;
mod hooks;
mod random_kills;
mod refusals;
mod room;
mod sending;
mod standard_input;
mod write_ids;

use outlive_testkit::processes::{begin, is_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::with_go;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many bytes a keeper buffers for a job that does not read. After that a client has to wait.
const ROOM: usize = 1024 * 1024;
/// The number of the system call in which a client waits for an answer.
const PPOLL: &str = "271";

/// Starts a shell job with a pipe as standard input; returns its ID.
fn reader(world: &World, script: &str) -> String {
    reader_with_hooks(world, "", script)
}

fn reader_with_hooks(world: &World, hooks: &str, script: &str) -> String {
    let args = ["run", "--stdin", "pipe", "--shell", script];
    let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// Starts to send these bytes, which `send` reads from its standard input.
fn begin_send(world: &World, id: &str, more: &[&str], bytes: &[u8]) -> Child {
    let path = world.path(&format!("bytes-{:x}", random()));
    fs::write(&path, bytes).unwrap();
    let mut send = world.command(["send", id]);
    send.args(more).stdin(File::open(&path).unwrap());
    begin(send)
}

fn send_bytes(world: &World, id: &str, bytes: &[u8]) {
    let ran = Ran::end_of(begin_send(world, id, &[], bytes));
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Ends the input, and waits until the job ends with 0.
fn end_input(world: &World, id: &str) -> Value {
    world.ok(&["send", id, "--eof"]);
    let job = world.wait(id);
    assert_eq!(job["exit_code"], 0, "{job}");
    job
}

/// A number that differs from call to call.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u128(now.as_nanos());
    hasher.finish()
}

/// Random bytes.
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

/// Random letters.
fn letters(count: usize) -> Vec<u8> {
    let mut bytes = noise(count);
    bytes.iter_mut().for_each(|byte| *byte = b'a' + *byte % 26);
    bytes
}

/// The output of `sha256sum` for these bytes.
fn sum(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    Ran::end_of(child).stdout
}

/// Waits until `send` has sent something and sleeps until it gets an answer.
fn until_it_waits(sender: &Child) {
    let pid = sender.id() as i32;
    let mut seen = 0;
    until("send waits for an answer", || {
        seen = if system_call_of(pid) == PPOLL {
            seen + 1
        } else {
            0
        };
        seen > 20
    });
}

/// The message with which `send` was refused.
fn refusal(ran: &Ran) -> &str {
    assert_eq!(ran.code, 125, "{ran:?}");
    assert_eq!(ran.stdout, "", "{ran:?}");
    ran.stderr.trim_end()
}

/// The number of the system call in which a process sleeps.
fn system_call_of(pid: i32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// The keeper that has stopped at its hook.
fn stopped(world: &World) -> Option<i32> {
    world.processes().into_iter().find(|pid| is_stopped(*pid))
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
