//! Other users: what they can do to a home, and what a malicious name can do.
//!
//! | module | owns |
//! |---|---|
//! | `others` | another user who tries everything on a running job |
//! | `planted` | what another user puts where the home will be |
//! | `names` | ids from outside, given to every verb and to MCP |

mod names;
mod others;
mod planted;

use crate::row::Row;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub fn rows() -> Vec<Row> {
    [others::rows(), planted::rows(), names::rows()]
        .into_iter()
        .flatten()
        .collect()
}

/// A user who owns nothing here. Cases run at the same time, so each case has a user of its own.
#[derive(Clone, Copy, Debug)]
struct User(u32);

impl User {
    fn numbered(number: usize) -> User {
        User(200_000 + (std::process::id() % 10_000) * 100 + number as u32 % 100)
    }

    /// A program run as this user, with the environment of `outlive` in that world.
    fn command<S: AsRef<OsStr>>(
        self,
        world: &World,
        words: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={}", self.0))
            .arg(format!("--regid={}", self.0))
            .arg("--clear-groups")
            .args(words)
            .current_dir("/");
        world.give_environment(&mut command);
        command
    }

    fn shell(self, world: &World, script: &str) -> Result<Ran, String> {
        Ran::try_of(&mut self.command(world, ["sh", "-c", script]))
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Copies the programs to a directory where every user can run them; returns the directory.
fn public_programs(world: &World) -> Result<std::path::PathBuf, String> {
    let directory = world.path("bin");
    let failed = |error: std::io::Error| format!("copying the programs: {error}");
    fs::create_dir(&directory).map_err(failed)?;
    let program = world.command::<&str>([]);
    let from = Path::new(program.get_program())
        .parent()
        .unwrap_or(Path::new("."));
    for name in ["outlive", "outlive-keeper", "outlive-far"] {
        fs::copy(from.join(name), directory.join(name)).map_err(failed)?;
    }
    set_mode(&directory, 0o755)?;
    set_mode(&world.path("."), 0o755)?;
    Ok(directory)
}
