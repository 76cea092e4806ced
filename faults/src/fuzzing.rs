//! Every decoder of outside bytes, fuzzed: the kept inputs again, then new ones for a bounded time.
//!
//! The targets are built by `cargo fuzz`, which takes minutes; the short form uses them only where that
//! has been done.

use crate::row::{Context, Row, Tried};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For each target, in the long form.
const SECONDS: u32 = 60;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "fuzz: decoders of outside bytes",
        promise: "none panics or hangs; what is read and written again is the same (long form)",
        run,
    }]
}

fn run(context: &Context) -> Tried {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let target = root.join("target");
    if context.is_long
        && let Err(loss) = build(&root, &target)
    {
        return Tried::lost(loss);
    }
    let programs = target.join("x86_64-unknown-linux-gnu/release");
    let built = |name: &String| programs.join(name).is_file();
    let targets: Vec<String> = names(&root).into_iter().filter(built).collect();
    let all = targets.len();
    context.try_cases_at_once(2, targets, all, |name| {
        fuzz(context, &root, &programs.join(name), name)
    })
}

/// The targets there are.
fn names(root: &Path) -> Vec<String> {
    let targets = fs::read_dir(root.join("targets"))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = targets
        .filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

fn build(root: &Path, target: &Path) -> Result<(), String> {
    let built = Command::new("cargo")
        .args(["fuzz", "build", "--sanitizer", "none", "--target-dir"])
        .arg(target)
        .current_dir(root.join(".."))
        .status();
    match built {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!(
            "the targets cannot be built ({other:?}); `cargo install cargo-fuzz`"
        )),
    }
}

fn fuzz(context: &Context, root: &Path, program: &Path, name: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{name}: {error}");
    // Inputs that reach something new are kept here, for the next run to go on from; what breaks a
    // target is kept too.
    let found = root.join("found").join(name);
    let broken = root.join("artifacts").join(name);
    for directory in [&found, &broken] {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    let mut command = Command::new(program);
    command
        .arg("-timeout=10")
        .arg(format!("-artifact_prefix={}/", broken.display()));
    match context.is_long {
        true => command.arg(format!("-max_total_time={SECONDS}")),
        false => command.arg("-runs=0"),
    };
    let corpus: PathBuf = root.join("corpus").join(name);
    let output = command.arg(&found).arg(&corpus).output().map_err(failed)?;
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
