//! Records what a home contains after each system call that may change it, and what is synced when.
//!
//! The traced process is suspended meanwhile, so at most one call of each other process is seen too early.

use crate::calls;
use crate::crash::{Content, Node, Recording, Step, Tree};
use outlive_sys::trace::Call;
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Metadata};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub struct Recorder {
    home: PathBuf,
    /// The directory of the recording: `recording.json` and `blobs`. If it has a file `told`, the waiting client has
    /// been told of the end.
    to: PathBuf,
    recording: Recording,
}

impl Recorder {
    /// Starts a recording. Everything that is in the home counts as synced.
    pub fn begin(home: PathBuf, to: PathBuf) -> io::Result<Recorder> {
        fs::create_dir_all(to.join("blobs"))?;
        let mut recorder = Recorder {
            recording: Recording {
                root: node(&fs::metadata(&home)?),
                steps: Vec::new(),
            },
            home,
            to,
        };
        let tree = recorder.look();
        recorder.recording.steps.push(Step {
            synced: tree.keys().cloned().collect(),
            tree,
            call: "beginning".to_owned(),
            ..Step::default()
        });
        Ok(recorder)
    }

    /// Looks at the home after a system call, and records a step if the call changed or synced something.
    pub fn after(&mut self, pid: i32, call: Call) {
        let synced = match calls::is_sync(call.number) {
            true => {
                let path = format!("/proc/{pid}/fd/{}", call.arguments[0]);
                fs::metadata(path).ok().map(|it| node(&it))
            }
            false if calls::may_change_files(call.number) => None,
            false => return,
        };
        // These two are read before the home. So what they say was already true when the home was read.
        let (is_told, has_run) = (self.to.join("told").exists(), self.has_run());
        let tree = self.look();
        let synced = synced.filter(|node| tree.contains_key(node));
        let last = self.recording.steps.last();
        if synced.is_none() && last.is_some_and(|last| last.tree == tree) {
            return;
        }
        self.recording.steps.push(Step {
            tree,
            synced: synced.into_iter().collect(),
            is_told,
            has_run,
            call: calls::name(call.number),
        });
    }

    /// Writes the recording to the disk, with a last step at which the client has been told.
    pub fn end(mut self) -> io::Result<()> {
        let tree = self.look();
        self.recording.steps.push(Step {
            tree,
            is_told: true,
            has_run: self.has_run(),
            call: "end".to_owned(),
            ..Step::default()
        });
        let recording = self.recording.to_json().to_string();
        fs::write(self.to.join("recording.json"), recording)
    }

    /// Whether the job's command has run: it leaves a file beside the home.
    fn has_run(&self) -> bool {
        self.home.with_file_name("ran").exists()
    }

    fn look(&self) -> Tree {
        let mut tree = Tree::new();
        self.look_at(&self.home, &mut tree);
        tree
    }

    /// Reads a file or directory into the tree. If it is removed meanwhile, it is left out.
    fn look_at(&self, path: &Path, tree: &mut Tree) -> Option<Node> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let kind = metadata.file_type();
        let content = if kind.is_dir() {
            let mut entries = BTreeMap::new();
            for entry in fs::read_dir(path).ok()?.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if let Some(node) = self.look_at(&entry.path(), tree) {
                    entries.insert(name, node);
                }
            }
            Content::Directory(entries)
        } else if kind.is_symlink() {
            Content::Link(fs::read_link(path).ok()?.to_string_lossy().into_owned())
        } else if kind.is_fifo() {
            Content::Fifo
        } else if kind.is_socket() {
            Content::Socket
        } else {
            self.keep(&fs::read(path).ok()?)?
        };
        let node = node(&metadata);
        tree.insert(node.clone(), content);
        Some(node)
    }

    /// Stores bytes as a blob whose name is derived from them.
    fn keep(&self, bytes: &[u8]) -> Option<Content> {
        if bytes.is_empty() {
            return Some(Content::empty_file());
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let blob = format!("{:016x}-{}", hasher.finish(), bytes.len());
        let path = self.to.join("blobs").join(&blob);
        if !path.exists() {
            fs::write(path, bytes).ok()?;
        }
        Some(Content::File {
            blob,
            bytes: bytes.len() as u64,
        })
    }
}

/// Identifies a node by inode number and creation time, because the kernel reuses inode numbers.
fn node(metadata: &Metadata) -> Node {
    let born = metadata.created().ok();
    let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    format!("{}@{}", metadata.ino(), born.unwrap_or_default().as_nanos())
}
