//! The ids of posts that were told and pruned, so that a repeated post is recognised.
//!
//! `posts/.pruned` has one JSON line for each. A pruner adds a post before it removes it. Pruning drops
//! lines that are older than [`REMEMBERED`].

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::moment;
use outlive_core::post::Post;
use outlive_core::{Incarnation, JobId, Label};
use outlive_core::{WallTime, layout};
use outlive_sys::lock;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An interrupted poster tries again within hours; three months are plenty.
const REMEMBERED: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// One post that was pruned.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pruned {
    pub id: JobId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    pub session: Label,
    /// When it was posted, in Unix milliseconds.
    #[serde(rename = "posted_ms")]
    pub posted: WallTime,
}

fn path(outlive: &Outlive) -> PathBuf {
    outlive.home().posts().join(".pruned")
}

/// The pruned post with this id.
pub fn find(outlive: &Outlive, id: &JobId) -> Result<Option<Pruned>, Error> {
    Ok(all(outlive)?.into_iter().find(|pruned| pruned.id == *id))
}

fn all(outlive: &Outlive) -> Result<Vec<Pruned>, Error> {
    let path = path(outlive);
    let bytes = match layout::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(Error::io("cannot read", &path))?,
    };
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}

/// Call this before a post is removed.
pub fn remember(outlive: &Outlive, post: &Post) -> Result<(), Error> {
    let path = path(outlive);
    let pruned = Pruned {
        id: post.id.clone(),
        incarnation: post.incarnation.clone(),
        session: post.session.clone(),
        posted: post.at.wall,
    };
    let write = || {
        let mut file = alone_with(&path)?;
        // The leading newline limits the damage of a line cut short by a full disk to that line.
        file.write_all(format!("\n{}\n", serde_json::to_string(&pruned)?).as_bytes())?;
        layout::sync(&file)
    };
    write().map_err(Error::io("cannot write", &path))
}

/// Drops lines that are so old that nobody posts them again.
pub fn forget_old(outlive: &Outlive) -> Result<(), Error> {
    let oldest = moment::now().wall - REMEMBERED;
    let is_old = |one: &Pruned| one.posted < oldest;
    if !all(outlive)?.iter().any(is_old) {
        return Ok(());
    }
    let path = path(outlive);
    let failed = || Error::io("cannot write", &path);
    let _alone = alone_with(&path).map_err(failed())?;
    let mut text = String::new();
    for one in all(outlive)?.iter().filter(|one| !is_old(one)) {
        let line = serde_json::to_string(one).map_err(|error| failed()(error.into()))?;
        text.push_str(&format!("{line}\n"));
    }
    let new = path.with_extension("new");
    let replace = || {
        let mut file = layout::open_to_replace(&new)?;
        file.write_all(text.as_bytes())?;
        layout::sync(&file)?;
        fs::rename(&new, &path)
    };
    replace().map_err(failed())
}

/// Opens the file and locks it for writing. Another pruner may have replaced it before it was locked;
/// then the new file is opened.
fn alone_with(path: &Path) -> io::Result<File> {
    loop {
        let file = layout::open_to_append(path)?;
        lock::wait(&file)?;
        let which = |found: &Metadata| (found.dev(), found.ino());
        let here = file.metadata()?;
        if fs::metadata(path).is_ok_and(|there| which(&there) == which(&here)) {
            return Ok(file);
        }
    }
}
