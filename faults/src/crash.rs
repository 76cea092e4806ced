//! What may be left on a disk after a power loss.
//!
//! A file or directory (a **node**) is known by its inode. The recorder notes its content after each step that changed
//! anything, and when it was synced. After a power loss, each node has, independently of the others, one of the
//! contents that it had since its last sync. A node that was never synced may also be empty.
//! The content of a directory is its list of entries. So a file may be missing if its directory was not synced, and a
//! name may lead to a file that is still empty.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One file or directory. A later one with the same inode number is another node.
pub type Node = String;

/// The content of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    Directory(BTreeMap<String, Node>),
    /// The blob that has the bytes, and how many of its bytes the file has.
    File {
        blob: String,
        bytes: u64,
    },
    /// A link has its target from the moment it exists.
    Link(String),
    Fifo,
    Socket,
}

/// All nodes and their contents.
pub type Tree = BTreeMap<Node, Content>;

/// All steps, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub root: Node,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The content of the home after this step.
    pub tree: Tree,
    /// The nodes that this step synced.
    pub synced: BTreeSet<Node>,
    /// Whether a waiting client had been told of the end after this step.
    pub is_told: bool,
    /// Whether the job's command had started after this step.
    pub has_run: bool,
    /// The name of the system call, for reports.
    pub call: String,
}

impl Content {
    pub fn empty_file() -> Content {
        Content::File {
            blob: String::new(),
            bytes: 0,
        }
    }

    /// The content of a node that was just created and not synced.
    fn newborn(&self) -> Content {
        match self {
            Content::Directory(_) => Content::Directory(BTreeMap::new()),
            Content::File { .. } => Content::empty_file(),
            other => other.clone(),
        }
    }

    /// This content with only the first half of the added bytes, if the file has grown.
    fn torn(&self, before: &Content) -> Option<Content> {
        match (self, before) {
            (Content::File { blob, bytes }, Content::File { bytes: old, .. }) if bytes > old => {
                Some(Content::File {
                    blob: blob.clone(),
                    bytes: old + (bytes - old) / 2,
                })
            }
            _ => None,
        }
    }
}

impl Recording {
    /// The contents that a node may have on the disk after a step, without duplicates, newest first. These are all
    /// contents since its last sync (or since it was created) and a version with half of what this step added. A node
    /// whose name was removed may still be there, if its directory was not synced.
    fn may_hold(&self, node: &Node, step: usize) -> Vec<Content> {
        let mut held: Vec<Content> = Vec::new();
        let mut add = |content: Content| {
            if !held.contains(&content) {
                held.push(content);
            }
        };
        let mut oldest = None;
        for before in self.steps[..=step].iter().rev() {
            let content = before.tree.get(node);
            content.cloned().into_iter().for_each(&mut add);
            if before.synced.contains(node) {
                return held;
            }
            if oldest.is_none() {
                self.torn(node, step).into_iter().for_each(&mut add);
            }
            oldest = content.or(oldest);
        }
        oldest.map(Content::newborn).into_iter().for_each(&mut add);
        held
    }

    /// The node with only half of the bytes that a step added.
    fn torn(&self, node: &Node, step: usize) -> Option<Content> {
        let before = &self.steps[step.checked_sub(1)?].tree;
        self.steps[step].tree.get(node)?.torn(before.get(node)?)
    }
}

/// A file name that leads to the node, for reports.
fn name_of(tree: &Tree, node: &Node) -> String {
    let is_named = |content: &Content| match content {
        Content::Directory(entries) => entries
            .iter()
            .find(|(_, there)| *there == node)
            .map(|(name, _)| name.clone()),
        _ => None,
    };
    let parent = tree.iter().find_map(|(parent, content)| {
        let name = is_named(content)?;
        Some((parent.clone(), name))
    });
    match parent {
        Some((parent, name)) => format!("{}/{name}", name_of(tree, &parent)),
        None => String::new(),
    }
}

impl Recording {
    pub fn to_json(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(Step::to_json).collect();
        json!({ "root": self.root, "steps": steps })
    }

    pub fn from_json(value: &Value) -> Option<Recording> {
        let steps = value["steps"].as_array()?.iter();
        Some(Recording {
            root: value["root"].as_str()?.to_owned(),
            steps: steps.map(Step::from_json).collect::<Option<_>>()?,
        })
    }
}

impl Step {
    fn to_json(&self) -> Value {
        let tree: serde_json::Map<String, Value> = self
            .tree
            .iter()
            .map(|(node, content)| (node.clone(), content.to_json()))
            .collect();
        json!({ "tree": tree, "synced": self.synced, "told": self.is_told, "run": self.has_run, "call": self.call })
    }

    fn from_json(value: &Value) -> Option<Step> {
        let read =
            |(node, content): (&String, &Value)| Some((node.clone(), Content::from_json(content)?));
        let word = |node: &Value| node.as_str().map(str::to_owned);
        let synced = value["synced"].as_array()?.iter().map(word);
        Some(Step {
            tree: value["tree"]
                .as_object()?
                .iter()
                .map(read)
                .collect::<Option<_>>()?,
            synced: synced.collect::<Option<_>>()?,
            is_told: value["told"] == true,
            has_run: value["run"] == true,
            call: word(&value["call"])?,
        })
    }
}

impl Content {
    fn to_json(&self) -> Value {
        match self {
            Content::Directory(entries) => json!({ "directory": entries }),
            Content::File { blob, bytes } => json!({ "file": blob, "bytes": bytes }),
            Content::Link(target) => json!({ "link": target }),
            Content::Fifo => json!("fifo"),
            Content::Socket => json!("socket"),
        }
    }

    fn from_json(value: &Value) -> Option<Content> {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(entries) = value["directory"].as_object() {
            let read = |(name, node): (&String, &Value)| Some((name.clone(), word(node)?));
            return entries
                .iter()
                .map(read)
                .collect::<Option<_>>()
                .map(Content::Directory);
        }
        if let (Some(blob), Some(bytes)) = (word(&value["file"]), value["bytes"].as_u64()) {
            return Some(Content::File { blob, bytes });
        }
        match (word(&value["link"]), value.as_str()) {
            (Some(target), _) => Some(Content::Link(target)),
            (None, Some("fifo")) => Some(Content::Fifo),
            (None, Some("socket")) => Some(Content::Socket),
            _ => None,
        }
    }
}

mod ways;
pub use ways::{Crash, Ways};

#[cfg(test)]
mod tests;
