//! Opening, making and reading what lies in a home, so that nobody waits for what a job may have put in the
//! place of one of its own files.

use std::fs::{DirBuilder, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The mode of every file below a home: its owner's alone.
pub const PRIVATE: u32 = 0o600;
/// And of every directory.
pub const PRIVATE_DIRECTORY: u32 = 0o700;

/// With it, opening a FIFO does not wait for the other side.
const NONBLOCK: i32 = libc::O_NONBLOCK;
/// With it, opening a symbolic link fails. A job can replace one of its files by a link, and what we append
/// to a record must not end up in a file elsewhere.
const NOFOLLOW: i32 = libc::O_NOFOLLOW;
/// No record of ours comes near it; reading more would only fill the memory.
const LARGEST: u64 = 1 << 30;

/// A file of ours that was opened. A job can put anything in the place of one of its own: a FIFO that
/// nobody writes to, a device without an end. Nobody is to wait for that.
fn regular(file: File) -> io::Result<File> {
    sized(file).map(|(file, _)| file)
}

/// The same, and how large it is.
fn sized(file: File) -> io::Result<(File, u64)> {
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata.len())),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "something else is in the place of this file",
        )),
    }
}

/// Opens a file of ours to read and write it, as it is; an empty one, its owner's alone, where there is
/// none.
pub fn open_or_make(path: &Path) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE)
        .custom_flags(NOFOLLOW)
        .open(path)?;
    regular(file)
}

/// Makes a file of ours where there is none, to read it and write at its end.
pub fn make(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path)
}

/// The same where there has to be one, or nobody could keep the job: what else is there is set aside.
pub fn open_or_replace(path: &Path) -> io::Result<File> {
    open_or_make(path).or_else(|error| {
        set_aside(path, FileType::is_file).map_err(|_| error)?;
        open_or_make(path)
    })
}

/// Moves what is in the place of something of ours away, where it is not what it should be. It stays
/// beside it, since it may be somebody's.
pub fn set_aside(path: &Path, is_right: impl Fn(&FileType) -> bool) -> io::Result<()> {
    let kind = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?.file_type(),
    };
    match is_right(&kind) {
        true => Ok(()),
        false => move_aside(path).map(drop),
    }
}

/// Moves a file of ours away that cannot be used, whatever it is. Says where to.
pub fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = path.with_extension("aside");
    // Of several that had to go the last one keeps the plain name; nothing is ever replaced that a
    // rename cannot replace (a directory that is not empty).
    match std::fs::rename(path, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let other = (2..100).map(|n| path.with_extension(format!("aside-{n}")));
            let free = other.into_iter().find(|to| to.symlink_metadata().is_err());
            let free = free.ok_or(error)?;
            std::fs::rename(path, &free).map(|()| free)
        }
        other => other.map(|()| aside),
    }
}

/// Makes a directory that is to be there. Others may make it, and remove it while it is empty, at any moment.
pub fn make_directory(path: &Path) -> io::Result<()> {
    loop {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIRECTORY)
            .create(path);
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && comes_and_goes(path) => {}
            made => return made,
        }
    }
}

/// It was there when it was to be made and not when it was looked at, or is by now.
fn comes_and_goes(path: &Path) -> bool {
    match std::fs::symlink_metadata(path) {
        Ok(found) => found.is_dir(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Opens a file of ours to read it.
pub fn open(path: &Path) -> io::Result<File> {
    open_sized(path).map(|(file, _)| file)
}

fn open_sized(path: &Path) -> io::Result<(File, u64)> {
    let file = File::options()
        .read(true)
        .custom_flags(NONBLOCK | NOFOLLOW)
        .open(path)?;
    sized(file)
}

/// Opens a file of ours to read it and write at its end; its owner's alone where there is none.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    regular(append(path)?)
}

fn append(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .append(true)
        .create(true)
        .mode(PRIVATE)
        .custom_flags(NOFOLLOW)
        .open(path)
}

/// Opens a file of ours to write it anew; its owner's alone where there is none.
pub fn open_to_replace(path: &Path) -> io::Result<File> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE)
        .custom_flags(NONBLOCK | NOFOLLOW)
        .open(path)?;
    regular(file)
}

/// All of a file of ours.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (file, size) = open_sized(path)?;
    read_all(&file, size)
}

/// The same of one that was opened to append to it.
pub fn read_to_append(path: &Path) -> io::Result<(Vec<u8>, File)> {
    let (file, size) = sized(append(path)?)?;
    Ok((read_all(&file, size)?, file))
}

fn read_all(mut file: &File, size: u64) -> io::Result<Vec<u8>> {
    if size > LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it has {size} bytes, which no record has"),
        ));
    }
    // The standard library would ask for the size and the place once more: every verb reads a few of these.
    let mut bytes = vec![0; size as usize + 1];
    let mut end = 0;
    loop {
        match file.read(&mut bytes[end..]) {
            Ok(0) => break,
            Ok(count) => end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // It is being appended to.
        if end == bytes.len() {
            bytes.resize(2 * end, 0);
        }
    }
    bytes.truncate(end);
    Ok(bytes)
}

/// Makes the names in a directory last. One that is gone was emptied, and has none to keep.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => sync_all(&other?),
    }
}

/// Puts what is in a file on the disk. There are two calls for it, of which a system may refuse one.
pub fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if is_refused(&error) => file.sync_all(),
        other => other,
    }
}

/// The same with all that is known about the file.
pub fn sync_all(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if is_refused(&error) => file.sync_data(),
        other => other,
    }
}

/// Whether a call was refused by the system, and not failed by the disk.
fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, Unsupported};
    matches!(error.kind(), PermissionDenied | Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_no_file_of_bounded_size_is_not_waited_for_but_refused_or_set_aside() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| directory.path().join(name);
        symlink("/dev/zero", path("endless")).expect("linked");
        symlink("/nowhere/at/all", path("nowhere")).expect("linked");
        std::fs::create_dir(path("directory")).expect("made");
        let mut made = std::process::Command::new("mkfifo");
        assert!(
            made.arg(path("fifo"))
                .status()
                .is_ok_and(|status| status.success())
        );
        std::fs::write(path("precious"), "precious").expect("written");
        symlink(path("precious"), path("elsewhere")).expect("linked");
        assert!(
            open_to_append(&path("elsewhere")).is_err(),
            "a link was followed"
        );
        assert!(open_to_replace(&path("elsewhere")).is_err());
        assert_eq!(std::fs::read(path("precious")).expect("there"), b"precious");
        for name in ["endless", "nowhere", "directory", "fifo", "elsewhere"] {
            assert!(read(&path(name)).is_err(), "{name} was read");
            assert!(open_or_make(&path(name)).is_err(), "{name} was opened");
            let file = open_or_replace(&path(name)).expect("a file in its place");
            assert_eq!(file.metadata().expect("known").len(), 0);
            let aside = path(name).with_extension("aside");
            assert!(aside.symlink_metadata().is_ok(), "{name} is gone");
            assert_eq!(read(&path(name)).expect("a file now"), b"");
        }
        let huge = open_or_make(&path("huge")).expect("made");
        huge.set_len(1 << 40).expect("a hole");
        assert!(read(&path("huge")).is_err());
    }
}
