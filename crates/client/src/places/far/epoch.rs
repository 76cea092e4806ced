//! How often a courier has said hello for a place of its home: the **epoch**, in `near/<home id>/<place>`.
//!
//! A wire can be lost while a launch is in it. The next wire raises the epoch. From then on, an older far end that
//! still has the launch before it does not start it: it compares under a shared lock, and holds that until the job
//! has its name. The epoch is raised under the exclusive lock. So what is not there after a hello will never be.

use super::greeting::Greeted;
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::far::Hello;
use outlive_core::layout;
use outlive_sys::lock;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// No later wire can say hello while this exists.
#[derive(Debug)]
pub struct Shared {
    /// The epoch of the last hello.
    pub epoch: u64,
    _locked: File,
}

/// Raises the epoch of this place, and returns the new one. Waits while an older far end names a job.
pub fn raise(outlive: &Outlive, hello: &Hello) -> Result<u64, Error> {
    let path = outlive.home().near(&hello.home, &hello.place);
    let failed = || Error::io("cannot write", &path);
    let try_to_raise = || {
        let directory = path.parent().unwrap_or(&path);
        let is_new = !directory.is_dir();
        layout::make_directory(directory)?;
        let file = layout::open_or_make(&path)?;
        lock::wait(&file)?;
        // The clock makes up for a file that was lost.
        let epoch = (read(&file)? + 1).max(clock::wall().ms());
        file.write_all_at(format!("{epoch:020}\n").as_bytes(), 0)?;
        layout::sync(&file)?;
        if is_new {
            layout::sync_directory(directory)?;
        }
        Ok(epoch)
    };
    try_to_raise().map_err(failed())
}

/// Reads the epoch, and keeps others from raising it.
pub fn share(greeted: &Greeted) -> Result<Shared, Error> {
    let path: &PathBuf = &greeted.near;
    try_to_share(path).map_err(Error::io("cannot read", path))
}

fn try_to_share(path: &Path) -> io::Result<Shared> {
    let file = layout::open_or_make(path)?;
    lock::wait_shared(&file)?;
    Ok(Shared {
        epoch: read(&file)?,
        _locked: file,
    })
}

/// 0 if there was no hello.
fn read(file: &File) -> io::Result<u64> {
    let mut bytes = [0; 21];
    let count = file.read_at(&mut bytes, 0)?;
    let text = std::str::from_utf8(&bytes[..count]).ok();
    Ok(text
        .and_then(|text| text.trim_end().parse().ok())
        .unwrap_or(0))
}

/// Whether this can be the name of a file beside others. It comes from another machine.
pub fn is_place_key(text: &str) -> bool {
    const LONGEST: usize = 200;
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_-@%".contains(&byte);
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_safe)
}
