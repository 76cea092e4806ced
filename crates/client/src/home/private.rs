//! Who may see a home: its owner alone.

use crate::error::Error;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Whoever owns a directory can read and change it, whatever its mode says. And a link of another user
/// leads where they want, also to a directory of ours that is no home.
pub(super) fn check_owner(root: &Path) -> Result<(), Error> {
    let own = outlive_sys::process::own::user_id();
    if let Ok(link) = fs::symlink_metadata(root)
        && link.is_symlink()
        && ![own, 0].contains(&link.uid())
    {
        return Err(Error::PlantedHome(root.to_owned()));
    }
    match fs::metadata(root) {
        Ok(metadata) if metadata.uid() != own => Err(Error::ForeignHome(root.to_owned())),
        Ok(metadata) if metadata.permissions().mode() & 0o022 != 0 => {
            Err(Error::OpenHome(root.to_owned()))
        }
        // It does not exist or cannot be read; creating or using it will report the error.
        _ => Ok(()),
    }
}

/// Whether other users have any right to this directory.
fn is_open(root: &Path) -> bool {
    fs::metadata(root).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Makes a home private. Call this only for a directory that is a home: another one may have to stay
/// open, such as `/`.
pub(super) fn hide_from_others(root: &Path) -> Result<(), Error> {
    match is_open(root) {
        true => fs::set_permissions(root, fs::Permissions::from_mode(0o700))
            .map_err(Error::io("cannot make private", root)),
        false => Ok(()),
    }
}

/// Whether this directory may become the home. A directory that other users can read and that contains
/// files of others was probably named by mistake.
pub(super) fn may_be_home(root: &Path) -> bool {
    /// Ours, and what a new ext4 filesystem contains.
    const HARMLESS: [&str; 3] = ["config.toml", "hook.log", "lost+found"];
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    !is_open(root)
        || root.join("jobs").is_dir()
        || names.all(|name| HARMLESS.iter().any(|harmless| name == *harmless))
        // Meanwhile another process may have made it private and begun to fill it.
        || !is_open(root)
}
