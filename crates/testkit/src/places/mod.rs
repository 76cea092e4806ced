//! Places that the tests make. Their processes and files are on this machine, but their home is another one, and our
//! program gets there as it gets to any other machine.
//!
//! | place | how it is reached |
//! |---|---|
//! | [`CmdSh`] | `cmd:`, a command that runs `sh` with another home |
//! | [`Ssh`] | `ssh:`, an `sshd` on the loopback interface, one for each test |
//! | [`OneShot`] | `text:`, a script that runs one command and does to its text what services do |
//! | [`Lent`] | `caller:`, the same script, which this process executes for a lender |
//! | [`SweRex`] | `swerex:`, a real server of SWE-ReX, one for each test |
//! | [`InContainer`] | `docker:`, `podman:`, a container of an engine of the test |
//! | [`InInstance`] | `apptainer:`, an instance that shares the directory of the test |
//! | [`Hosts`] | `ssh:`, hosts with a network of their own, whose links can be cut, and which can crash |

pub mod apptainer;
mod cmd_sh;
mod container;
pub mod engine;
mod hosts;
pub mod image;
mod lent;
pub mod one_shot;
mod ssh;
pub mod sshd;
pub mod swe_rex;

pub use apptainer::InInstance;
pub use cmd_sh::CmdSh;
pub use container::{Container, InContainer, Inside, SharedEngine};
pub use hosts::Hosts;
pub use lent::Lent;
pub use one_shot::OneShot;
pub use ssh::Ssh;
pub use swe_rex::SweRex;

use crate::programs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

/// The home of a place below the directory of the test there, which is the login directory.
pub fn far_home(scratch: &Path) -> PathBuf {
    scratch.join(".local/state/outlive")
}

/// A directory for what all tests of a build share: our program as it is sent to places, and keys. It lies beside the
/// programs under test.
pub fn shared() -> &'static Path {
    static SHARED: LazyLock<PathBuf> = LazyLock::new(|| {
        let shared = programs::directory().join("outlive-test-places");
        fs::create_dir_all(&shared).unwrap();
        remove_older_programs(&shared.join("outlive"));
        shared
    });
    &SHARED
}

/// Removes what was sent by tests of an earlier build. No test of this one uses it.
fn remove_older_programs(directory: &Path) {
    let changed = |path: &Path| -> io::Result<SystemTime> { path.metadata()?.modified() };
    let Ok(built) = changed(Path::new(programs::outlive())) else {
        return;
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if changed(&path).is_ok_and(|at| at < built) {
            // Another test may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}
