//! All paths below the home.
//!
//! ```text
//! <home>/
//!   jobs/<id>/           one directory a job, complete from the moment it has this name
//!     spec.json journal output output.d index feed control lock told
//!     feed.err streams   only of a job with split streams
//!     placed             only of a job at a place
//!   jobs/.new-…          a job directory being made, or left by a launcher that died
//!   jobs/.gone-…         a job directory being removed
//!   live/<id>            while the job is not over: what runs is found without reading what ran
//!   sessions/<key>/<id>  link per session
//!   inbox/<key>/<id>     link while the session may have something to hear of the job or post
//!   posts/<id>/          what was posted from outside: post.json told
//!   locks/<name>         held by the job that has the lock
//!   queues/<name>/       who is in a queue, in order (see `queue`)
//!   names/<name>         link to the newest job of that name
//!   places/<key>/        what is known of a place, and its courier
//!   ended/<day>          which jobs ended on a day, in order (see `history`)
//!   boot                 since when `live` and `ended` are whole
//!   home-id              names this home to places and couriers, once and for ever
//!   near/<home>/<place>  how often the courier of another home has said hello here
//! ```

mod files;

use crate::far::HomeId;
use crate::id::JobId;
use crate::journal::Journal;
use crate::label::Label;
use crate::post::Post;
use crate::spec::Spec;
pub use files::{
    PRIVATE, PRIVATE_DIRECTORY, make, make_directory, move_aside, open, open_or_make,
    open_or_replace, open_to_append, open_to_replace, read, read_into, read_to_append, set_aside,
    sync, sync_all, sync_directory,
};
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};

/// Prefixes that no job id can have, since ids start with a letter or a digit.
pub const NEW: &str = ".new-";
pub const GONE: &str = ".gone-";

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

    /// The FIFOs of processes that are told of every new, changed or removed job and post.
    pub fn bells(&self) -> PathBuf {
        self.root.join("bells")
    }

    pub fn posts(&self) -> PathBuf {
        self.root.join("posts")
    }

    /// What the running agents do now: see `agent` in the client.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
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

    /// Names the boot in which somebody last checked that every job is in `live` or in `ended`.
    pub fn boot(&self) -> PathBuf {
        self.root.join("boot")
    }

    /// Its time says when ended jobs were last looked through; locked meanwhile.
    pub fn retention(&self) -> PathBuf {
        self.root.join("retention")
    }

    /// Names this home for ever, to places and to couriers.
    pub fn home_id(&self) -> PathBuf {
        self.root.join("home-id")
    }

    /// Where the web page is served, and the tokens that open it.
    pub fn serve(&self) -> PathBuf {
        self.root.join("serve")
    }

    /// Counts the hellos of a courier, which works for a place of another home: see `places::far` in the client.
    pub fn near(&self, home: &HomeId, place: &str) -> PathBuf {
        self.root.join("near").join(home.as_str()).join(place)
    }

    /// At a place: the tunnels that lead here, one directory each. See `places::tunnel` in the client.
    pub fn tunnels(&self) -> PathBuf {
        self.root.join("tunnels")
    }

    pub fn session(&self, session: &Label) -> PathBuf {
        self.sessions().join(session.file_name())
    }

    pub fn name(&self, name: &Label) -> PathBuf {
        self.names().join(name.file_name())
    }

    /// What is known of places, and their couriers.
    pub fn places(&self) -> PathBuf {
        self.root.join("places")
    }

    /// The directory of the place with this key.
    pub fn place(&self, key: &str) -> PathBuf {
        self.places().join(key)
    }

    pub fn live_link(&self, id: &JobId) -> PathBuf {
        below(&self.root, ["live", id.as_str()])
    }

    pub fn job(&self, id: &JobId) -> JobDir {
        JobDir {
            path: below(&self.root, ["jobs", id.as_str()]),
        }
    }
}

/// The directory of one post.
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

    pub fn read(&self) -> Result<Post, ReadError> {
        read_json(self.post(), &mut Vec::new())
    }
}

/// The directory of one job.
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

    /// The home that contains this directory, and the job's id: `<home>/jobs/<id>`.
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
        below(&self.path, ["spec.json"])
    }

    pub fn journal(&self) -> PathBuf {
        below(&self.path, ["journal"])
    }

    pub fn output(&self) -> PathBuf {
        below(&self.path, ["output"])
    }

    /// What follows the head of an output on a filesystem that cannot punch holes (see `output`).
    pub fn segments(&self) -> PathBuf {
        below(&self.path, ["output.d"])
    }

    /// Where lines and times are in the output.
    pub fn index(&self) -> PathBuf {
        below(&self.path, ["index"])
    }

    /// The FIFO that the job writes to. Of a job with split streams, this is its standard output.
    pub fn feed(&self) -> PathBuf {
        below(&self.path, ["feed"])
    }

    /// The FIFO that is the standard error of a job with split streams.
    pub fn feed_of_stderr(&self) -> PathBuf {
        below(&self.path, ["feed.err"])
    }

    /// Which bytes of the output are of which stream (see `streams`).
    pub fn streams(&self) -> PathBuf {
        below(&self.path, ["streams"])
    }

    /// What takes the place of `streams` when it is complete.
    pub fn next_streams(&self) -> PathBuf {
        below(&self.path, ["streams.new"])
    }

    /// Sockets are bound and reached through their directory (`CONTROL`), since this path may be too
    /// long for a socket.
    pub fn control(&self) -> PathBuf {
        below(&self.path, [CONTROL])
    }

    pub fn lock(&self) -> PathBuf {
        below(&self.path, ["lock"])
    }

    /// Who was told what.
    pub fn told(&self) -> PathBuf {
        below(&self.path, ["told"])
    }

    /// Exists once the jobs that this one was to start after have ended.
    pub fn after_met(&self) -> PathBuf {
        below(&self.path, ["after"])
    }

    /// How the start of a job at a place went.
    pub fn placed(&self) -> PathBuf {
        below(&self.path, ["placed"])
    }

    /// The beginning and the end of the output, of a job of a place.
    pub fn excerpt(&self) -> PathBuf {
        below(&self.path, ["excerpt"])
    }

    /// How far the watch has read the output.
    pub fn watch(&self) -> PathBuf {
        below(&self.path, ["watch"])
    }

    pub fn read_spec(&self) -> Result<Spec, ReadError> {
        self.read_spec_with(&mut Vec::new())
    }

    /// Like [`read_spec`](JobDir::read_spec), for many jobs one after the other: they share the buffer.
    pub fn read_spec_with(&self, buffer: &mut Vec<u8>) -> Result<Spec, ReadError> {
        read_json(self.spec(), buffer)
    }

    pub fn read_journal(&self) -> Result<Journal, ReadError> {
        self.read_journal_with(&mut Vec::new())
    }

    /// Like [`read_journal`](JobDir::read_journal), with a buffer that is reused.
    pub fn read_journal_with(&self, buffer: &mut Vec<u8>) -> Result<Journal, ReadError> {
        let path = self.journal();
        match read_into(&path, buffer) {
            Ok(()) => Ok(Journal::parse(buffer)),
            Err(source) => Err(ReadError::Io { path, source }),
        }
    }
}

/// A path below another one. Every verb makes several for each job, and `Path::join` allocates twice: for a copy, and
/// for a longer one.
fn below<const N: usize>(base: &Path, names: [&str; N]) -> PathBuf {
    let length = names.iter().map(|name| name.len() + 1).sum::<usize>();
    let mut path = PathBuf::with_capacity(base.as_os_str().len() + length);
    path.push(base);
    path.extend(names);
    path
}

fn read_json<T: DeserializeOwned>(path: PathBuf, buffer: &mut Vec<u8>) -> Result<T, ReadError> {
    if let Err(source) = read_into(&path, buffer) {
        return Err(ReadError::Io { path, source });
    }
    serde_json::from_slice(buffer).map_err(|source| ReadError::Damaged { path, source })
}

/// The name of the control socket inside a job directory.
pub const CONTROL: &str = "control";
