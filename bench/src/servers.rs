//! Tests whether the released MCP servers survive large commands: a search for memory errors with
//! random input from a seed.
//!
//! The released programs use another C library, allocator and optimisation level than the programs of
//! the other tests. None of those tests found an allocator that corrupted its own lists.

use crate::budgets::World;
use crate::processes::Watchdog;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One in four servers crashed from the error that this searches for. With this many, nine of ten runs
/// find it.
const SERVERS: u64 = 8;
const RUNS: usize = 30;
/// The size of a command in bytes. The kernel refuses an argument of 128 KiB.
const SIZES: std::ops::Range<u64> = 60_000..125_000;
/// `jobs` lists all running jobs, and this many ended ones.
const LISTED: usize = 20;
/// A server that has not answered after this time never will.
const PATIENCE: Duration = Duration::from_secs(120);
/// Sets the seed, to repeat a failure.
const SEED: &str = "OUTLIVE_SEED";

#[test]
#[ignore = "needs the programs as they ship: cargo xtask budgets"]
fn servers_answer_right_whatever_the_size_of_their_commands() {
    let world = World::new();
    let seed = std::env::var(SEED).map_or_else(|_| fresh_seed(), |text| text.parse().unwrap());
    let watchdog = Watchdog::after(PATIENCE);
    let wrong: Vec<String> = thread::scope(|scope| {
        let serve = |number| {
            let world = &world;
            scope.spawn(move || converse(world, number, seed + number))
        };
        let servers: Vec<_> = (0..SERVERS).map(serve).collect();
        let ended = servers.into_iter().map(|server| server.join().unwrap());
        ended.filter_map(Result::err).collect()
    });
    drop(watchdog);
    assert!(
        wrong.is_empty(),
        "{} of {SERVERS} servers failed; again with {SEED}={seed}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{SERVERS} servers answered {RUNS} large commands each");
}

fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_micros() as u64
}

/// A whole conversation with one server. Returns why it failed, if it did.
fn converse(world: &World, number: u64, seed: u64) -> Result<(), String> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let text = random.letters(2 * SIZES.end);
    let mut server = Server::start(world, number);
    let mut commands = BTreeSet::new();
    let spoke = (|| {
        server.ask("initialize", HELLO)?;
        server.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#)?;
        for _ in 0..RUNS {
            let command = random.command(&text);
            let arguments = format!(r#"{{"command":"{command}"}}"#);
            let answer = server.call("run", &arguments)?;
            commands.insert(command);
            check_jobs(&answer, &commands, 1)?;
            if random.below(2) == 0 {
                check_jobs(&server.call("jobs", "{}")?, &commands, LISTED)?;
            }
        }
        check_jobs(&server.call("jobs", "{}")?, &commands, LISTED)
    })();
    let status = server.end();
    match (spoke, status.success()) {
        (Ok(()), true) => Ok(()),
        (Ok(()), false) => Err(format!("server {number} ended with {status}")),
        (Err(why), _) => Err(format!("server {number}: {why} ({status})")),
    }
}

/// Checks that the answer lists at least this many jobs, if there are as many, and only jobs that were
/// started.
fn check_jobs(answer: &str, asked: &BTreeSet<String>, fewest: usize) -> Result<(), String> {
    // A job may appear twice: as a job and as an ended job in the news. Sorted and not hashed, because
    // hashing would read every byte.
    let told: BTreeSet<&str> = commands_in(answer).collect();
    if told.len() < fewest.min(asked.len()) {
        return Err(format!("{} of {} jobs", told.len(), asked.len()));
    }
    // An answer shows the beginning of a long command.
    let was_asked = |told: &&str| {
        let begin = told.trim_end_matches('…');
        begin.len() > 20 && asked.iter().any(|command| command.starts_with(begin))
    };
    match told.iter().all(was_asked) {
        true => Ok(()),
        false => Err("a command that nobody asked for".to_owned()),
    }
}

/// The commands of the jobs in an answer. Searched and not parsed, because there are hundreds of
/// megabytes of them, and no character in them needs escaping.
fn commands_in(answer: &str) -> impl Iterator<Item = &str> {
    let behind = answer.split(r#""command":""#).skip(1);
    behind.map(|rest| rest.split('"').next().unwrap_or_default())
}

const HELLO: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"budgets","version":"1"}}"#;

struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Server {
    fn start(world: &World, number: u64) -> Server {
        let session = format!("server-{number}");
        let mut command = world.outlive.command(&["mcp", "--session", &session]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Server {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            asked: 0,
        }
    }

    fn say(&mut self, message: &str) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("no input")?;
        let said = input.write_all(format!("{message}\n").as_bytes());
        said.map_err(|error| format!("it does not read: {error}"))
    }

    /// Waits for the answer to this request, and skips other messages.
    fn ask(&mut self, method: &str, params: &str) -> Result<String, String> {
        self.asked += 1;
        let id = self.asked;
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ))?;
        let result = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"#);
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            if read.map_err(|error| format!("answer {id}: {error}"))? == 0 {
                return Err(format!("no answer to request {id}"));
            }
            if line.starts_with(&result) && line.ends_with("}\n") {
                return Ok(line);
            }
            // An error, or an unexpected message.
            if !line.starts_with(r#"{"jsonrpc":"2.0","method":"#) {
                let start: String = line.chars().take(300).collect();
                return Err(format!("answer {id}: {start}"));
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &str) -> Result<String, String> {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        self.ask("tools/call", &params)
    }

    /// The client closes the connection. Returns how the server ends.
    fn end(&mut self) -> std::process::ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }
}

/// Random numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    fn letters(&mut self, count: u64) -> String {
        let bytes = (0..count / 8).flat_map(|_| self.next().to_le_bytes());
        bytes.map(|byte| char::from(b'a' + byte % 26)).collect()
    }

    /// A command that does nothing but is long: a piece of this text.
    fn command(&mut self, text: &str) -> String {
        let size = SIZES.start + self.below(SIZES.end - SIZES.start);
        let from = self.below(text.len() as u64 - size) as usize;
        format!("true # {}", &text[from..from + size as usize])
    }
}
