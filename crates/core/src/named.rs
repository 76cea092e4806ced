//! Locking a directory's name, so that its id is not given to another job meanwhile.
//!
//! An id may be used again after its job was pruned. Code that removes something by id, such as an
//! inbox link, must be sure that the id still means the same job until the removal is done:
//!
//! ```text
//!   remove a link     shared lock ─► is it still that job? ─► remove the link
//!   prune a job       exclusive lock ─► remove its links ─► rename its directory
//! ```
//!
//! Nobody blocks here: if pruning cannot get the lock, it leaves the job for the next time.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Proof that a directory keeps its name as long as this value exists.
///
/// Some network filesystems cannot lock directories. There it only proves that the directory had its
/// name a moment ago.
#[derive(Debug)]
pub struct Named {
    _directory: File,
}

/// Locks the name together with others. Returns `None` if the directory has lost its name or will soon.
pub fn share(path: &Path) -> io::Result<Option<Named>> {
    hold(path, File::try_lock_shared)
}

/// Locks the name exclusively, to remove it. Returns `None` if the directory has lost its name or
/// others hold it.
pub fn take(path: &Path) -> io::Result<Option<Named>> {
    hold(path, File::try_lock)
}

fn hold(
    path: &Path,
    lock: impl FnOnce(&File) -> Result<(), TryLockError>,
) -> io::Result<Option<Named>> {
    let directory = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if let Err(TryLockError::WouldBlock) = lock(&directory) {
        return Ok(None);
    }
    // Between opening and locking, the directory may have been renamed and another one may have its
    // name.
    let has_name = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        other => {
            let (there, here) = (other?, directory.metadata()?);
            (there.dev(), there.ino()) == (here.dev(), here.ino())
        }
    };
    Ok(has_name.then_some(Named {
        _directory: directory,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_locked_shared_or_exclusively_and_only_by_its_directory() -> io::Result<()> {
        let world = tempfile::tempdir()?;
        let path = world.path().join("a");
        assert!(share(&path)?.is_none(), "nothing is there");
        std::fs::create_dir(&path)?;
        let first = share(&path)?.expect("it is there");
        let second = share(&path)?.expect("others may share it");
        assert!(take(&path)?.is_none(), "it is shared");
        drop((first, second));
        let alone = take(&path)?.expect("nobody shares it");
        assert!(share(&path)?.is_none(), "it is about to go");
        std::fs::rename(&path, world.path().join("gone"))?;
        std::fs::create_dir(&path)?;
        assert!(
            share(&path)?.is_some(),
            "another has the name, which nobody holds"
        );
        drop(alone);
        Ok(())
    }
}
