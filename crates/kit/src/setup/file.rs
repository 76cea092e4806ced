//! Files that belong to somebody else: read as a whole, and replaced atomically.

use super::Refused;
use crate::error::Error;
use outlive_sys::file as system;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A larger file is not a configuration.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The contents of an existing file.
#[derive(Clone, Debug)]
pub struct Contents {
    pub text: String,
    mode: u32,
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
    }))
}

/// Replaces the file in one step, with the mode of the old one.
pub fn write(path: &Path, text: &str, like: Option<&Contents>) -> Result<(), Error> {
    let failed = || Error::io("cannot write", path);
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory).map_err(Error::io("cannot make the directory", directory))?;
    let token = system::random().map_err(Error::io("cannot read", "/dev/urandom"))?;
    let new = directory.join(format!(".outlive-{:016x}", u64::from_ne_bytes(token)));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&new)
        .and_then(|mut file| {
            if let Some(like) = like {
                file.set_permissions(Permissions::from_mode(like.mode))?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map_err(failed())
}

/// Removes a file, and the directories above it that are empty now.
pub fn remove(base: &Path, path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("cannot remove", path)(error));
        }
        _ => {}
    }
    let mut above = path.parent();
    while let Some(directory) = above.filter(|directory| *directory != base) {
        if !directory.starts_with(base) || fs::remove_dir(directory).is_err() {
            break;
        }
        above = directory.parent();
    }
    Ok(())
}

/// The path of the backup.
pub fn backup(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".outlive-backup");
    path.with_file_name(name)
}
