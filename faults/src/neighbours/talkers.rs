//! The most difficult kinds of output, and jobs that use their descriptors in unusual ways.

use super::{bystander_is_unharmed, ended, is_clear, output_of, start_bystander};
use crate::invariants::nothing_is_left;
use crate::row::{Context, Row, Tried};
use outlive_testkit::world::World;
use serde_json::Value;
use std::fmt;

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "neighbour: terrible output",
            promise: "bytes are kept exactly; every view of them is text of a limited size; the end is exact",
            run: run_output,
        },
        Row {
            name: "neighbour: plays with its descriptors",
            promise: "the end is exact, and nothing is left",
            run: run_descriptors,
        },
    ]
}

/// The largest text that `log` may print. Models get less.
const MAX_SHOWN_BYTES: usize = 4 << 20;

struct Talk {
    name: &'static str,
    options: &'static [&'static str],
    script: String,
    /// How many bytes the job writes. `None` on a terminal, which adds bytes.
    bytes: Option<u64>,
}

impl fmt::Display for Talk {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name)
    }
}

fn talks(is_long: bool) -> Vec<Talk> {
    // A debug build needs about a second to show a megabyte.
    let large: u64 = if is_long { 4 << 20 } else { 1 << 18 };
    let talk = |name, options, script: String, bytes| Talk {
        name,
        options,
        script,
        bytes,
    };
    let queries =
        r"printf '\033[6n\033[c\033[>c\033[5n\033]11;?\033\\\033[18t\033P$qm\033\\\033[?u\005'";
    vec![
        talk(
            "one line without an end",
            &[],
            format!("head -c {large} /dev/zero | tr '\\0' x"),
            Some(large),
        ),
        talk(
            "a line of 100 MB, of which 4 are kept",
            &["--max-output", "4M"],
            "head -c 104857600 /dev/zero | tr '\\0' x".to_owned(),
            Some(100 << 20),
        ),
        talk(
            "NULs",
            &[],
            format!("head -c {large} /dev/zero"),
            Some(large),
        ),
        talk(
            "no UTF-8",
            &[],
            format!("head -c {} /dev/urandom", large / 2),
            Some(large / 2),
        ),
        talk(
            "a flood of short lines",
            &[],
            format!("yes | head -c {large}"),
            Some(large),
        ),
        talk(
            "half escapes and carriage returns",
            &[],
            format!(
                "yes \"$(printf '\\033[38;5;\\r\\033]0;')\" | head -c {}",
                large / 2
            ),
            Some(large / 2),
        ),
        talk(
            "terminal queries",
            &["--pty"],
            format!("for n in $(seq 200); do {queries}; done; echo; echo asked"),
            None,
        ),
        talk(
            "noise on a terminal",
            &["--pty"],
            "head -c 300000 /dev/urandom; printf '\\033c'; echo asked".to_owned(),
            None,
        ),
    ]
}

fn run_output(context: &Context) -> Tried {
    context.try_cases_at_once(2, talks(context.is_long), 8, |talk| {
        let world = context.world()?;
        let script = format!("{}; exit 6", talk.script);
        let mut args = vec!["run", "--id", "job", "--watch", "never to be seen"];
        args.extend(talk.options);
        args.extend(["--shell", &script]);
        world.try_ok(&args)?;
        look(&world)?;
        let ended = ended(&world, "job")?;
        if ended["outcome"]["code"] != 6 || ended["output"]["complete"] != true {
            return Err(format!("the job ended wrongly: {ended}"));
        }
        let bytes = ended["output"]["bytes"].as_u64();
        if talk.bytes.is_some() && bytes != talk.bytes {
            return Err(format!("{bytes:?} bytes of {:?}", talk.bytes));
        }
        look(&world)?;
        if talk.options == ["--pty"] {
            let screen = world.try_ok(&["log", "job", "--screen"])?;
            let is_there = screen.text().contains("asked");
            is_there
                .then_some(())
                .ok_or_else(|| format!("its screen: {screen}"))?;
        }
        nothing_is_left(&world)
    })
}

/// Checks that every verb that shows the output prints valid text of a limited size.
fn look(world: &World) -> Result<(), String> {
    for args in [
        &["show", "job", "--json"][..],
        &["log", "job", "--json"],
        &["log", "job"],
        &["log", "job", "--grep", "x{3}", "--json"],
        &["list", "--json"],
    ] {
        let ran = world.try_outlive(args)?;
        is_clear(&ran, args[0])?;
        if ran.code != 0 {
            return Err(format!("{args:?} failed: {ran}"));
        }
        let mut lines = ran
            .bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let is_json = lines.all(|line| serde_json::from_slice::<Value>(line).is_ok());
        if args.contains(&"--json") && !is_json {
            return Err(format!("{args:?} printed no JSON: {ran}"));
        }
        if args == ["log", "job"] && ran.bytes.len() > MAX_SHOWN_BYTES {
            return Err(format!("{args:?} printed {} bytes", ran.bytes.len()));
        }
    }
    Ok(())
}

/// What a job does with its descriptors, and the output that must be kept.
const PLAYS: [(&str, &str, &str); 6] = [
    ("closes all of them", "exec 0<&- 1>&- 2>&-; sleep 0.1", ""),
    (
        "closes and reopens them by name",
        "echo a; exec 1>&- 2>&-; exec > \"$OUTLIVE_JOB_DIR/feed\" 2>&1; echo b",
        "a\nb\n",
    ),
    (
        "has them nonblocking",
        "python3 -c 'import os; os.set_blocking(1, False)'; echo a; echo b >&2",
        "a\nb\n",
    ),
    (
        "reopens its output through /proc",
        "echo a > /proc/self/fd/1; echo b >> /dev/stdout; echo c > /dev/stderr",
        "a\nb\nc\n",
    ),
    (
        "leaves them to a process that outlives it",
        "echo a; (sleep 0.3; echo b) & exit 6",
        "a\nb\n",
    ),
    (
        "opens a thousand more",
        "python3 -c 'import os\nfor n in range(1000): os.dup(1)\nos.write(900, b\"a\\n\")'",
        "a\n",
    ),
];

struct Play(usize);

impl fmt::Display for Play {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(PLAYS[self.0].0)
    }
}

fn run_descriptors(context: &Context) -> Tried {
    context.try_cases((0..PLAYS.len()).map(Play).collect(), PLAYS.len(), |play| {
        let (_, script, expected) = PLAYS[play.0];
        let world = context.world()?;
        start_bystander(&world)?;
        world.try_ok(&[
            "run",
            "--id",
            "job",
            "--shell",
            &format!("{script}; exit 6"),
        ])?;
        let ended = ended(&world, "job")?;
        if ended["outcome"]["code"] != 6 {
            return Err(format!("the job ended wrongly: {ended}"));
        }
        bystander_is_unharmed(&world)?;
        nothing_is_left(&world)?;
        let output = output_of(&world, "job");
        match output == expected.as_bytes() {
            true => Ok(()),
            false => Err(format!(
                "its output is {:?}",
                String::from_utf8_lossy(&output)
            )),
        }
    })
}
