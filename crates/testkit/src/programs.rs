//! Where the programs under test are.
//!
//! By default they lie beside the test program, where cargo builds both. `OUTLIVE_TEST_PROGRAMS` can name another
//! directory, so that installed release programs can be tested too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Names the directory of the programs under test.
pub const PROGRAMS: &str = "OUTLIVE_TEST_PROGRAMS";

static OUTLIVE: LazyLock<String> = LazyLock::new(|| path_of("outlive"));
static KEEPER: LazyLock<String> = LazyLock::new(|| path_of("outlive-keeper"));

static FAR: LazyLock<String> = LazyLock::new(|| path_of("outlive-far"));

/// The path of `outlive-far`.
pub fn far() -> &'static str {
    &FAR
}

/// The path of `outlive`.
pub fn outlive() -> &'static str {
    &OUTLIVE
}

/// The path of `outlive-keeper`.
pub fn keeper() -> &'static str {
    &KEEPER
}

/// The directory of the programs under test.
pub fn directory() -> &'static Path {
    Path::new(outlive())
        .parent()
        .expect("a program is in a directory")
}

fn path_of(name: &str) -> String {
    let program = match std::env::var_os(PROGRAMS) {
        Some(directory) => Some(PathBuf::from(directory).join(name)),
        None => beside_this_program(name),
    };
    let program = program.filter(|program| program.is_file());
    let program = program.unwrap_or_else(|| {
        panic!("{name} was not found; build it, or name its directory in {PROGRAMS}")
    });
    let program = program.canonicalize().unwrap();
    program.into_os_string().into_string().unwrap()
}

/// Cargo puts test programs into `target/PROFILE/deps`, and programs into `target/PROFILE`.
fn beside_this_program(name: &str) -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let mut programs = this.ancestors().skip(1).take(2).map(|it| it.join(name));
    programs.find(|program| program.is_file())
}

/// Copies a program with `cp`. If this process had the copy open for writing, a child that another test
/// forks at that moment would have it open too, and nobody could execute it.
pub fn copy_program(from: &str, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}
