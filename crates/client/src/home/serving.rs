//! Where this home is served over HTTP, and the tokens that open it: the file `serve`.
//!
//! The next server of the home uses the same port and the same tokens, so that open pages go on after a restart. Whoever
//! reads this file can run commands, as can whoever writes to the home; so only its owner may read it. It is locked
//! while a server runs.

use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::layout;
use outlive_sys::file;
use outlive_sys::lock::{self, Lock, LockResult};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;

/// What the next server needs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Where it listened. Port 0 if that is not known yet.
    pub address: SocketAddr,
    /// The token of the owner.
    pub owner: String,
    /// The token of those who may look.
    pub reader: String,
}

/// The tokens stay out of logs.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The file of this home, locked until this is dropped.
#[derive(Debug)]
pub struct Serving {
    outlive: Outlive,
    file: File,
    _lock: Lock,
}

/// What came of the attempt to serve a home.
#[derive(Debug)]
pub enum Opened {
    /// Nobody else serves it.
    Free(Serving, Option<Kept>),
    /// Another process does. This is what it wrote, if it has come that far.
    Served(Option<Kept>),
}

impl Serving {
    /// Takes the lock, and reads what the last server has left.
    pub fn open(outlive: &Outlive) -> Result<Opened, Error> {
        let path = outlive.home().serve();
        let failed = || Error::io("cannot use", &path);
        outlive.prepare()?;
        let file = layout::open_or_replace(&path).map_err(failed())?;
        let kept = read(&path).map_err(failed())?;
        match lock::take(file.try_clone().map_err(failed())?).map_err(failed())? {
            LockResult::Held => Ok(Opened::Served(kept)),
            LockResult::Acquired(lock) => {
                let serving = Serving {
                    outlive: outlive.clone(),
                    file,
                    _lock: lock,
                };
                Ok(Opened::Free(serving, kept))
            }
        }
    }

    /// Leaves this to the next server.
    pub fn keep(&self, kept: &Kept) -> Result<(), Error> {
        let write = || -> io::Result<()> {
            let line = serde_json::to_vec(kept)?;
            self.file.write_all_at(&line, 0)?;
            self.file.set_len(line.len() as u64)?;
            layout::sync_all(&self.file)
        };
        write().map_err(Error::io("cannot write", self.outlive.home().serve()))
    }
}

/// What the file says; `None` if it is new or was cut short. Then new tokens are made.
fn read(path: &std::path::Path) -> io::Result<Option<Kept>> {
    Ok(serde_json::from_slice(&layout::read(path)?).ok())
}

/// A new token of 192 random bits.
pub fn token() -> Result<String, Error> {
    let bytes: [u8; 24] = file::random().map_err(Error::io("cannot read", "/dev/urandom"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_next_server_gets_what_the_last_one_left_and_two_do_not_serve_at_once() {
        let world = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(world.path().join("home")).unwrap();
        let kept = Kept {
            address: "127.0.0.1:4000".parse().unwrap(),
            owner: token().unwrap(),
            reader: token().unwrap(),
        };
        let Opened::Free(first, None) = Serving::open(&outlive).unwrap() else {
            panic!("a new home");
        };
        first.keep(&kept).unwrap();
        let mode = fs::metadata(outlive.home().serve()).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let Opened::Served(Some(told)) = Serving::open(&outlive).unwrap() else {
            panic!("it is served");
        };
        assert_eq!(told, kept);
        drop(first);
        let Opened::Free(_, Some(left)) = Serving::open(&outlive).unwrap() else {
            panic!("nobody serves it any more");
        };
        assert_eq!(left, kept);
        fs::write(outlive.home().serve(), "{\"addr").unwrap();
        assert!(matches!(
            Serving::open(&outlive).unwrap(),
            Opened::Free(_, None)
        ));
    }
}
