//! The home of a place, which the far end looks for if it is not named.
//!
//! A user of a container may have no home directory, or one that cannot be written to. Then the home is in the directory of
//! that user in `/var/tmp` or `/tmp`, where our program is, too.

use crate::environment;
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_sys::process::own;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Directories that every user can write to. What is in the first one outlives a restart.
const FOR_ALL: [&str; 2] = ["/var/tmp", "/tmp"];

/// The home with this directory, or the one of this user.
pub fn open_home(named: Option<PathBuf>) -> Result<Outlive, Error> {
    if let Some(named) = named {
        return Outlive::open_at(below_login(&named));
    }
    let usual = Outlive::open().and_then(prepared);
    match usual {
        Err(error) if has_no_directory(&error) => {
            let own = FOR_ALL.iter().map(|parent| in_own_directory(parent));
            own.flatten().next().ok_or(error)
        }
        other => other,
    }
}

/// `~/x` is below the home directory of the user.
fn below_login(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), environment::non_empty("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path.to_owned(),
    }
}

fn prepared(outlive: Outlive) -> Result<Outlive, Error> {
    outlive.prepare()?;
    Ok(outlive)
}

/// Whether there is no directory for a home, as opposed to one that cannot be used now.
fn has_no_directory(error: &Error) -> bool {
    const NONE: [io::ErrorKind; 4] = [
        io::ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::NotADirectory,
    ];
    match error {
        Error::NoHome => true,
        Error::Io { source, .. } => NONE.contains(&source.kind()),
        _ => false,
    }
}

fn in_own_directory(parent: &str) -> Option<Outlive> {
    let own = PathBuf::from(format!("{parent}/outlive-{}", own::user_id()));
    let made = fs::DirBuilder::new().mode(0o700).create(&own);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
        _ => {}
    }
    // Others can make one with our name.
    let found = own.symlink_metadata().ok()?;
    let is_ours = found.is_dir() && found.uid() == own::user_id() && found.mode() & 0o022 == 0;
    let home = is_ours.then(|| Outlive::open_at(own.join("home")))?;
    home.and_then(prepared).ok()
}
