//! Opens, creates and reads the files of a home. These functions never block, whatever a job has put in
//! the place of one of its files.

use std::fs::{DirBuilder, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Every file in a home is private to its owner.
pub const PRIVATE: u32 = 0o600;
/// Every directory in a home is private to its owner.
pub const PRIVATE_DIRECTORY: u32 = 0o700;

/// With this flag, opening a FIFO does not wait for the other side.
const NONBLOCK: i32 = libc::O_NONBLOCK;
/// With this flag, opening a symbolic link fails. A job can replace one of its files by a link, and we
/// must not append a record to a file elsewhere.
const NOFOLLOW: i32 = libc::O_NOFOLLOW;
/// No file of ours comes close to this size; reading more would only fill the memory.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Checks that an opened file is a regular file. A job can replace one of its files by anything, such
/// as a FIFO that nobody writes to or an endless device, and no reader may block on that.
fn regular(file: File) -> io::Result<File> {
    sized(file).map(|(file, _)| file)
}

/// Like [`regular`], and returns the size.
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

/// Opens a file for reading and writing, and creates it if needed.
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

/// Creates a file for reading and appending. Fails if the path exists.
pub fn make(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path)
}

/// Opens a file that the job cannot be kept without. Anything else at this path is moved aside first.
pub fn open_or_replace(path: &Path) -> io::Result<File> {
    open_or_make(path).or_else(|error| {
        set_aside(path, FileType::is_file).map_err(|_| error)?;
        open_or_make(path)
    })
}

/// Moves whatever is at this path aside if it has the wrong type. It stays in the same directory, since
/// it may belong to somebody.
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

/// Moves an unusable file aside, whatever it is. Returns its new path.
pub fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = path.with_extension("aside");
    // The newest moved file gets the plain name. A rename replaces older ones, except what it cannot
    // replace, such as a directory that is not empty; then a numbered name is used.
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

/// Creates a directory. Other processes may create it, and remove it while it is empty, at any moment.
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

/// Whether the directory appeared and disappeared between two calls, so that a retry makes sense.
fn comes_and_goes(path: &Path) -> bool {
    match std::fs::symlink_metadata(path) {
        Ok(found) => found.is_dir(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Opens a file for reading.
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

/// Opens a file for reading and appending, and creates it if needed.
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

/// Empties a file and opens it for writing, and creates it if needed.
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

/// Reads a whole file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_into(path, &mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file in place of what is in the buffer. To reuse a buffer saves allocations.
pub fn read_into(path: &Path, bytes: &mut Vec<u8>) -> io::Result<()> {
    let (file, size) = open_sized(path)?;
    read_all(&file, size, bytes)
}

/// Reads a whole file and leaves it open for appending.
pub fn read_to_append(path: &Path) -> io::Result<(Vec<u8>, File)> {
    let (file, size) = sized(append(path)?)?;
    let mut bytes = Vec::new();
    read_all(&file, size, &mut bytes)?;
    Ok((bytes, file))
}

fn read_all(mut file: &File, size: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    if size > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it has {size} bytes, which no record has"),
        ));
    }
    // The standard library would make two more system calls per file, and every verb reads a few files.
    bytes.resize(size as usize + 1, 0);
    let mut end = 0;
    loop {
        match file.read(&mut bytes[end..]) {
            Ok(0) => break,
            Ok(count) => {
                end += count;
                // The room for one more byte stayed empty, so this was the end. A file that was cut short meanwhile
                // takes another read to know that.
                if end as u64 == size {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // The file is growing: somebody appends to it.
        if end == bytes.len() {
            bytes.resize(2 * end, 0);
        }
    }
    bytes.truncate(end);
    Ok(())
}

/// Makes the names in a directory durable. A directory that is gone was empty, so there is nothing to
/// sync.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => sync_all(&other?),
    }
}

/// Flushes a file's data to disk. There are two system calls for this; if one is refused, use the
/// other.
pub fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if is_refused(&error) => file.sync_all(),
        other => other,
    }
}

/// Flushes a file's data and metadata to disk.
pub fn sync_all(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if is_refused(&error) => file.sync_data(),
        other => other,
    }
}

/// Whether the system refused the call, as opposed to a disk error.
fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, Unsupported};
    matches!(error.kind(), PermissionDenied | Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn anything_but_a_regular_file_of_sane_size_is_refused_or_moved_aside_without_blocking() {
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
