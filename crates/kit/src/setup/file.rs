//! Files that belong to somebody else: read as a whole, and replaced atomically.

use super::Refused;
use crate::error::Error;
use outlive_sys::file as system;
use outlive_sys::process::own;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A larger file is not a configuration.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The contents of an existing file.
#[derive(Clone, Debug)]
pub struct Contents {
    pub text: String,
    pub mode: u32,
    /// Why setup must not replace the file, even if the system would let it.
    pub protection: Option<Protection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    ReadOnly,
    /// It belongs to the user with this number.
    OtherOwner(u32),
}

impl Protection {
    fn of(metadata: &fs::Metadata) -> Option<Protection> {
        if metadata.uid() != own::user_id() {
            return Some(Protection::OtherOwner(metadata.uid()));
        }
        let is_writable = metadata.permissions().mode() & 0o200 != 0;
        (!is_writable).then_some(Protection::ReadOnly)
    }
}

/// The file that a path leads to, and whether links lead elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Real {
    pub path: PathBuf,
    pub is_elsewhere: bool,
}

/// Follows links. `base` itself may be a link; what is below it should not be.
pub fn real(base: &Path, path: &Path) -> Result<Real, Error> {
    let failed = || Error::io("cannot look at", path);
    let expected = match (resolve(base), path.strip_prefix(base)) {
        (Ok(base), Ok(below)) => base.join(below),
        _ => path.to_owned(),
    };
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    if is_link && !path.exists() {
        return Err(Refused::not_a_file(path, "a link to nothing").into());
    }
    let real = resolve(path).map_err(failed())?;
    Ok(Real {
        is_elsewhere: real != expected,
        path: real,
    })
}

/// Follows links as far as the path exists.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(resolve(parent)?.join(name)),
                _ => Err(error),
            }
        }
        other => other,
    }
}

pub fn read(path: &Path) -> Result<Option<Contents>, Error> {
    let failed = || Error::io("cannot read", path);
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed())?,
    };
    if !metadata.is_file() {
        return Err(Refused::not_a_file(path, "no regular file").into());
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Refused::not_a_file(path, "too large").into());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed())?;
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed())?;
    let text = String::from_utf8(bytes).map_err(|_| Refused::not_a_file(path, "not UTF-8"))?;
    Ok(Some(Contents {
        text,
        mode: metadata.permissions().mode() & 0o7777,
        protection: Protection::of(&metadata),
    }))
}

/// A path beside the file for its new text.
pub fn staged(path: &Path) -> Result<PathBuf, Error> {
    let token = system::random().map_err(Error::io("cannot read", "/dev/urandom"))?;
    let name = format!(".outlive-{:016x}", u64::from_ne_bytes(token));
    Ok(path.with_file_name(name))
}

/// Writes a text to the path of [`staged`], with the mode and the group of the file that it will replace.
pub fn stage(staged: &Path, text: &str, mode: Option<u32>, like: Option<&Path>) -> io::Result<()> {
    let group = like.and_then(|like| fs::metadata(like).ok());
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(staged)
        .and_then(|mut file| {
            if let Some(group) = group.map(|metadata| metadata.gid()) {
                // A member of the group may do this, another user may not and keeps the own group.
                let _ = std::os::unix::fs::fchown(&file, None, Some(group));
            }
            if let Some(mode) = mode {
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    if written.is_err() {
        let _ = fs::remove_file(staged);
    }
    written
}

/// Puts the staged text in the place of the file, in one step.
pub fn publish(staged: &Path, path: &Path) -> Result<(), Error> {
    let published = fs::rename(staged, path);
    if published.is_err() {
        let _ = fs::remove_file(staged);
    }
    published.map_err(Error::io("cannot write", path))
}

/// Removes a file that may be gone already.
pub fn remove(path: &Path) -> Result<(), Error> {
    // A read-only filesystem refuses to remove even a file that is not there.
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes a directory if it is empty, and not if the path leads through a link.
pub fn remove_directory(path: &Path) {
    if fs::canonicalize(path).is_ok_and(|real| real == path) {
        let _ = fs::remove_dir(path);
    }
}

/// The directories above a path that do not exist, the outermost first.
pub fn missing_directories(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut missing = Vec::new();
    for directory in path.ancestors().skip(1) {
        match fs::metadata(directory) {
            Ok(metadata) if metadata.is_dir() => break,
            Ok(_) => return Err(Refused::not_a_file(directory, "no directory").into()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing.push(directory.to_owned());
            }
            Err(error) => return Err(Error::io("cannot look at", directory)(error)),
        }
    }
    missing.reverse();
    Ok(missing)
}

/// The path of the backup.
pub fn backup(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".outlive-backup");
    path.with_file_name(name)
}
