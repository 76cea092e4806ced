//! Where everything lies.
//!
//! ```text
//! <home>/
//!   jobs/<id>/           one directory a job, complete from the moment it has this name
//!     spec.json journal output output.d index feed control lock told
//!   jobs/.new-…          a job directory being made, or left by a launcher that died
//!   jobs/.gone-…         a job directory being removed
//!   live/<id>            while the job is not over: what runs is found without reading what ran
//!   sessions/<key>/<id>  link per session
//!   inbox/<key>/<id>     link while the session may have something to hear of the job or post
//!   posts/<id>/          what was posted from outside: post.json told
//!   locks/<name>         held by the job that has the lock
//!   names/<name>         link to the newest job of that name
//!   ended/<day>          which jobs ended on a day, in order (see `history`)
//!   boot                 since when `live` and `ended` are whole
//! ```

use crate::id::JobId;
use crate::journal::Journal;
use crate::label::Label;
use crate::spec::Spec;
use std::fs::{File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Prefixes no job id can have, since ids start with a letter or a digit.
pub const NEW: &str = ".new-";
pub const GONE: &str = ".gone-";

/// The mode of every file below a home: its owner's alone.
pub const PRIVATE: u32 = 0o600;
/// And of every directory.
pub const PRIVATE_DIRECTORY: u32 = 0o700;

/// So that opening a FIFO does not wait for its other side; the same on every Linux we are built for.
const NONBLOCK: i32 = 0o4000;
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
        false => std::fs::rename(path, path.with_extension("aside")),
    }
}

/// Opens a file of ours to read it.
pub fn open(path: &Path) -> io::Result<File> {
    open_sized(path).map(|(file, _)| file)
}

fn open_sized(path: &Path) -> io::Result<(File, u64)> {
    let file = File::options()
        .read(true)
        .custom_flags(NONBLOCK)
        .open(path)?;
    sized(file)
}

/// Opens a file of ours to read it and write at its end; its owner's alone where there is none.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .append(true)
        .create(true)
        .mode(PRIVATE)
        .open(path)?;
    regular(file)
}

/// Opens a file of ours to write it anew; its owner's alone where there is none.
pub fn open_to_replace(path: &Path) -> io::Result<File> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE)
        .custom_flags(NONBLOCK)
        .open(path)?;
    regular(file)
}

/// All of a file of ours.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, size) = open_sized(path)?;
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
        other => other?.sync_all(),
    }
}

/// The directory that holds all jobs of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    pub fn at(root: PathBuf) -> Home {
        Home { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn jobs(&self) -> PathBuf {
        self.root.join("jobs")
    }

    pub fn live(&self) -> PathBuf {
        self.root.join("live")
    }

    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    pub fn names(&self) -> PathBuf {
        self.root.join("names")
    }

    pub fn inboxes(&self) -> PathBuf {
        self.root.join("inbox")
    }

    pub fn inbox(&self, session: &Label) -> PathBuf {
        self.inboxes().join(session.file_name())
    }

    pub fn posts(&self) -> PathBuf {
        self.root.join("posts")
    }

    pub fn post(&self, id: &JobId) -> PostDir {
        PostDir {
            path: self.posts().join(id.as_str()),
        }
    }

    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    pub fn lock(&self, name: &Label) -> PathBuf {
        self.locks().join(name.file_name())
    }

    pub fn ended(&self) -> PathBuf {
        self.root.join("ended")
    }

    /// The boot in which it was last made sure that every job is in `live` or in `ended`.
    pub fn boot(&self) -> PathBuf {
        self.root.join("boot")
    }

    pub fn session(&self, session: &Label) -> PathBuf {
        self.sessions().join(session.file_name())
    }

    pub fn name(&self, name: &Label) -> PathBuf {
        self.names().join(name.file_name())
    }

    pub fn live_link(&self, id: &JobId) -> PathBuf {
        self.live().join(id.as_str())
    }

    pub fn job(&self, id: &JobId) -> JobDir {
        JobDir {
            path: self.jobs().join(id.as_str()),
        }
    }
}

/// One post's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostDir {
    path: PathBuf,
}

impl PostDir {
    pub fn at(path: PathBuf) -> PostDir {
        PostDir { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn post(&self) -> PathBuf {
        self.path.join("post.json")
    }

    pub fn told(&self) -> PathBuf {
        self.path.join("told")
    }
}

/// One job's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDir {
    path: PathBuf,
}

/// Why a job directory could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is damaged: {source}")]
    Damaged {
        path: PathBuf,
        source: serde_json::Error,
    },
}

impl JobDir {
    pub fn at(path: PathBuf) -> JobDir {
        JobDir { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The home this directory lies in and the id it is named by: `<home>/jobs/<id>`.
    pub fn place(&self) -> io::Result<(Home, JobId)> {
        let root = self.path.parent().and_then(Path::parent);
        let id = self.path.file_name().and_then(|name| name.to_str());
        match (root, id.map(JobId::parse)) {
            (Some(root), Some(Ok(id))) => Ok((Home::at(root.to_owned()), id)),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is not a job directory", self.path.display()),
            )),
        }
    }

    pub fn spec(&self) -> PathBuf {
        self.path.join("spec.json")
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// What follows the head of an output whose middle cannot be punched out (see `output`).
    pub fn segments(&self) -> PathBuf {
        self.path.join("output.d")
    }

    /// Where lines and moments are in the output.
    pub fn index(&self) -> PathBuf {
        self.path.join("index")
    }

    pub fn feed(&self) -> PathBuf {
        self.path.join("feed")
    }

    /// Sockets are bound and reached through their directory (`CONTROL`), since this may be longer
    /// than a socket's path can be.
    pub fn control(&self) -> PathBuf {
        self.path.join(CONTROL)
    }

    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Who has been told what.
    pub fn told(&self) -> PathBuf {
        self.path.join("told")
    }

    /// How far the output has been watched.
    pub fn watch(&self) -> PathBuf {
        self.path.join("watch")
    }

    pub fn read_spec(&self) -> Result<Spec, ReadError> {
        let path = self.spec();
        let bytes = read(&path).map_err(|source| ReadError::Io {
            path: path.clone(),
            source,
        })?;
        serde_json::from_slice(&bytes).map_err(|source| ReadError::Damaged { path, source })
    }

    pub fn read_journal(&self) -> Result<Journal, ReadError> {
        let path = self.journal();
        Journal::read(&path).map_err(|source| ReadError::Io { path, source })
    }
}

/// The control socket's name inside a job directory.
pub const CONTROL: &str = "control";

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
        for name in ["endless", "nowhere", "directory", "fifo"] {
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
