//! Every decoder of outside bytes: first the stored inputs, then new ones.
//!
//! In the short form the program `outlive-fuzz` calls the targets with the stored inputs and with variants
//! that a seed makes of them. In the long form libFuzzer searches for new inputs for a limited time; its
//! targets take minutes to build.

mod mutants;

use crate::random::Random;
use crate::row::{Context, Row, Tried};
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::ran::Ran;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// How long the long form searches for each target.
const SECONDS: u32 = 60;

/// How many inputs the short form makes from the kept ones, for each target.
const MUTANTS: usize = 2_000;

/// No debug build takes this long for an input, unless it hangs.
const INPUT_TIMEOUT: Duration = Duration::from_secs(20);

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "fuzz: decoders of outside bytes",
        promise: "none panics or hangs; what is read and written again is the same",
        run,
    }]
}

fn run(context: &Context) -> Tried {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let program = context.programs.join("outlive-fuzz");
    let listed = match Ran::try_of(&mut Command::new(&program)) {
        Ok(listed) if listed.code == 0 => listed.text(),
        Ok(listed) => return Tried::lost(format!("the targets cannot be listed: {listed}")),
        Err(loss) => return Tried::lost(loss),
    };
    let targets: Vec<String> = listed.lines().map(str::to_owned).collect();
    match context.is_long {
        true => search(context, &root, targets),
        false => replay(context, &root, &program, targets),
    }
}

/// Runs the kept inputs, and the inputs that a seed makes from them. The row counts inputs.
fn replay(context: &Context, root: &Path, program: &Path, targets: Vec<String>) -> Tried {
    let (all, count) = (targets.len(), AtomicUsize::new(0));
    let mut tried = context.try_cases_at_once(2, targets, all, |name| {
        let kept = kept(&root.join("corpus").join(name)).map_err(|error| error.to_string())?;
        let mut random = Random::new(context.seed);
        let mutants = (0..MUTANTS).map(|_| mutants::mutant(&kept, &mut random));
        let mut target = Target::start(program, name)?;
        kept.iter().cloned().chain(mutants).try_for_each(|input| {
            count.fetch_add(1, Ordering::Relaxed);
            target.take(&input)
        })
    });
    tried.count = count.into_inner();
    tried
}

fn kept(directory: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// A process that runs a target with the inputs it is sent.
struct Target {
    child: Child,
    answers: Receiver<()>,
}

impl Target {
    fn start(program: &Path, name: &str) -> Result<Target, String> {
        let mut child = Command::new(program)
            .arg(name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut out = child.stdout.take().ok_or("the target says nothing")?;
        let (say, answers) = mpsc::channel();
        thread::spawn(
            move || {
                while out.read_exact(&mut [0]).is_ok() && say.send(()).is_ok() {}
            },
        );
        Ok(Target { child, answers })
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let to = self
            .child
            .stdin
            .as_mut()
            .ok_or("the target hears nothing")?;
        let length = (input.len() as u32).to_le_bytes();
        // If the process has ended, reading its answer fails too and reports it.
        let _ = to.write_all(&[&length, input].concat());
        let why = match self.answers.recv_timeout(INPUT_TIMEOUT) {
            Ok(()) => return Ok(()),
            Err(mpsc::RecvTimeoutError::Timeout) => "it hangs".to_owned(),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let mut said = String::new();
                let from = self.child.stderr.as_mut();
                let _ = from.map(|from| from.read_to_string(&mut said));
                said.trim().to_owned()
            }
        };
        Err(format!("the input b\"{}\": {why}", input.escape_ascii()))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        kill(self.child.id() as i32, KILL);
        let _ = self.child.wait();
    }
}

/// Lets libFuzzer search for inputs that make the target fail.
fn search(context: &Context, root: &Path, targets: Vec<String>) -> Tried {
    let built = root.join("libfuzzer/target");
    if let Err(loss) = build(root, &built) {
        return Tried::lost(loss);
    }
    let programs = built.join("x86_64-unknown-linux-gnu/release");
    let all = targets.len();
    context.try_cases_at_once(2, targets, all, |name| {
        fuzz(root, &programs.join(name), name)
    })
}

fn build(root: &Path, target: &Path) -> Result<(), String> {
    let built = Command::new("cargo")
        .args(["fuzz", "build", "--sanitizer", "none", "--fuzz-dir"])
        .arg(root.join("libfuzzer"))
        .arg("--target-dir")
        .arg(target)
        .status();
    match built {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!(
            "the targets cannot be built ({other:?}); `cargo install cargo-fuzz`"
        )),
    }
}

fn fuzz(root: &Path, program: &Path, name: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("{name}: {error}");
    // Keeps the inputs that reach new code, so that the next run continues from them. Inputs that make a target fail
    // are kept too.
    let found = root.join("found").join(name);
    let broken = root.join("artifacts").join(name);
    for directory in [&found, &broken] {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    let output = Command::new(program)
        .arg("-timeout=10")
        .arg(format!("-artifact_prefix={}/", broken.display()))
        .arg(format!("-max_total_time={SECONDS}"))
        .arg(&found)
        .arg(root.join("corpus").join(name))
        .output()
        .map_err(failed)?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let tail: Vec<&str> = said.lines().rev().take(30).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            Err(tail.join("\n"))
        }
    }
}
