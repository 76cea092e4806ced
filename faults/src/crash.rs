//! What may be left on a disk after a power loss.
//!
//! A file or directory (a **node**) is known by its inode. What it held after each step that changed
//! anything is recorded, and when it was synced. If the power fails after a step, each node by itself
//! holds one of the things it held since it was last synced, or, never synced, what it was born with:
//! nothing. A directory's entries are its content: a file whose directory was not synced may be
//! missing, and a name may lead to a file that is still empty.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One file or directory, for as long as it lives.
pub type Node = String;

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    Directory(BTreeMap<String, Node>),
    /// The name of the blob that holds its bytes, and how many of those are there.
    File {
        blob: String,
        bytes: u64,
    },
    /// Is what it is from the moment it has a name.
    Link(String),
    Fifo,
    Socket,
}

/// All nodes and what they hold.
pub type Tree = BTreeMap<Node, Content>;

/// Everything that happened, a step after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub root: Node,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What is there after it.
    pub tree: Tree,
    /// What was synced by it.
    pub synced: BTreeSet<Node>,
    /// Whoever waited has been told by now.
    pub is_told: bool,
    /// The job's command has begun to run by now.
    pub has_run: bool,
    /// The system call, for people.
    pub call: String,
}

/// One way the disk may look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// After which step.
    pub step: usize,
    /// Which of what may be lost is.
    pub how: String,
    pub tree: Tree,
}

impl Content {
    /// What it is born with, before anything in it is synced.
    fn newborn(&self) -> Content {
        match self {
            Content::Directory(_) => Content::Directory(BTreeMap::new()),
            Content::File { blob, .. } => Content::File {
                blob: blob.clone(),
                bytes: 0,
            },
            other => other.clone(),
        }
    }

    /// Half of what was added to it, if it has grown.
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
    /// The ways the disk may look, each once: as written; all lost that may be; for each node, it alone
    /// lost or it alone kept; and the last write torn. The first step is there before anything happens.
    pub fn crashes(&self) -> Vec<Crash> {
        let mut crashes: Vec<Crash> = Vec::new();
        let mut seen = BTreeSet::new();
        for step in 0..self.steps.len() {
            for (how, tree) in self.after(step) {
                let tree = reachable(&self.root, &tree);
                // What had happened makes a difference to what must be so.
                let Step {
                    is_told, has_run, ..
                } = self.steps[step];
                if seen.insert((is_told, has_run, tree.clone())) {
                    crashes.push(Crash { step, how, tree });
                }
            }
        }
        crashes
    }

    fn after(&self, step: usize) -> Vec<(String, Tree)> {
        let now = &self.steps[step].tree;
        let least: Tree = now
            .keys()
            .map(|node| (node.clone(), self.least(node, step)))
            .collect();
        let mut trees = vec![
            ("as written".to_owned(), now.clone()),
            ("all lost".to_owned(), least.clone()),
        ];
        for (node, content) in now {
            if least[node] == *content {
                continue;
            }
            let name = name_of(now, node);
            let mut lost = now.clone();
            lost.insert(node.clone(), least[node].clone());
            trees.push((format!("{name} lost"), lost));
            let mut kept = least.clone();
            kept.insert(node.clone(), content.clone());
            trees.push((format!("all lost but {name}"), kept));
            let before = step
                .checked_sub(1)
                .and_then(|step| self.steps[step].tree.get(node));
            if let Some(torn) = before.and_then(|before| content.torn(before)) {
                let mut tree = now.clone();
                tree.insert(node.clone(), torn);
                trees.push((format!("{name} torn"), tree));
            }
        }
        trees
    }

    /// The oldest thing this node may hold after a step.
    fn least(&self, node: &Node, step: usize) -> Content {
        let synced = (0..=step)
            .rev()
            .find(|step| self.steps[*step].synced.contains(node));
        match synced {
            Some(synced) => self.steps[synced].tree[node].clone(),
            None => self.steps[step].tree[node].newborn(),
        }
    }
}

/// What can be reached by names.
fn reachable(root: &Node, tree: &Tree) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![root.clone()];
    while let Some(node) = open.pop() {
        let Some(content) = tree.get(&node) else {
            continue;
        };
        if let Content::Directory(entries) = content {
            open.extend(entries.values().cloned());
        }
        found.insert(node, content.clone());
    }
    // A name whose node was never recorded leads nowhere, which no disk has.
    let known: BTreeSet<Node> = found.keys().cloned().collect();
    for content in found.values_mut() {
        if let Content::Directory(entries) = content {
            entries.retain(|_, node| known.contains(node));
        }
    }
    found
}

/// A name by which a node is known, for people.
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

#[cfg(test)]
mod tests;
