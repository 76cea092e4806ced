//! Every state in which the disk may be after a step: each node independently has one of its possible contents.
//!
//! A node that no name leads to makes no difference. So contents are chosen from the root down, and every
//! choice gives a different disk. If there are too many, a random sample is taken.

use super::{Content, Node, Recording, Tree, name_of};
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A recording in which all nodes and contents have numbers, so that thousands of disk states can be compared quickly.
pub struct Ways<'a> {
    recording: &'a Recording,
    nodes: Vec<&'a Node>,
    root: usize,
    contents: Vec<Content>,
    /// For each content, the nodes that its entries lead to.
    below: Vec<Vec<usize>>,
    /// For each step and each node, the contents that the node may have, newest first.
    choices: Vec<Vec<Vec<usize>>>,
}

/// One possible state of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The step after which the power failed.
    pub step: usize,
    image: Image,
}

/// The content of each node that a name leads to.
type Image = Vec<(usize, usize)>;

/// The possible disk states of a recording.
#[derive(Debug, Default)]
pub struct DiskStates {
    pub crashes: Vec<Crash>,
    /// After how many steps the states were too many to list, so that some were picked at random.
    pub drawn: usize,
}

impl<'a> Ways<'a> {
    pub fn of(recording: &'a Recording) -> Ways<'a> {
        let steps = recording.steps.iter();
        let nodes: BTreeSet<&Node> = steps.flat_map(|step| step.tree.keys()).collect();
        let nodes: Vec<&Node> = nodes.into_iter().collect();
        let place: BTreeMap<&Node, usize> = nodes.iter().copied().zip(0..).collect();
        let mut known: BTreeMap<Content, usize> = BTreeMap::new();
        let mut number = |content: Content| {
            let next = known.len();
            *known.entry(content).or_insert(next)
        };
        let choices = (0..recording.steps.len())
            .map(|step| {
                let held = |node: &&Node| recording.may_hold(node, step).into_iter();
                nodes
                    .iter()
                    .map(|node| held(node).map(&mut number).collect())
                    .collect()
            })
            .collect();
        let mut contents: Vec<(Content, usize)> = known.into_iter().collect();
        contents.sort_by_key(|(_, number)| *number);
        let contents: Vec<Content> = contents.into_iter().map(|(content, _)| content).collect();
        let below = |content: &Content| match content {
            Content::Directory(entries) => {
                let nodes = entries.values().filter_map(|node| place.get(node));
                nodes.copied().collect()
            }
            _ => Vec::new(),
        };
        Ways {
            recording,
            root: place.get(&recording.root).copied().unwrap_or_default(),
            below: contents.iter().map(below).collect(),
            nodes,
            contents,
            choices,
        }
    }

    /// The possible states of the disk, each once, even if several steps lead to it. If more than `most` are possible
    /// after a step, `most` of them are picked at random. In addition there are the extremes: everything newest or
    /// oldest, and a single node newest or oldest.
    pub fn find(&self, most: usize, seed: u64) -> DiskStates {
        let mut found = DiskStates::default();
        let mut seen = HashSet::new();
        let mut random = Random::new(seed);
        for (number, step) in self.recording.steps.iter().enumerate() {
            let mut images = Vec::new();
            if !self.list(number, most, &mut images) {
                found.drawn += 1;
                images = self.extremes(number);
                images.extend(
                    (0..most).map(|_| {
                        self.image(number, |choices| choices[random.below(choices.len())])
                    }),
                );
            }
            for image in images {
                // The same disk counts again if the job had run or a client had been told, because then more must
                // hold.
                if seen.insert((step.is_told, step.has_run, image.clone())) {
                    found.crashes.push(Crash {
                        step: number,
                        image,
                    });
                }
            }
        }
        found
    }

    /// The content of the whole disk.
    pub fn tree(&self, crash: &Crash) -> Tree {
        let own = |(node, content): &(usize, usize)| {
            (self.nodes[*node].clone(), self.contents[*content].clone())
        };
        crash.image.iter().map(own).collect()
    }

    /// The nodes that do not have their newest content, for reports.
    pub fn describe(&self, crash: &Crash) -> String {
        let tree = self.tree(crash);
        let choices = &self.choices[crash.step];
        let lost = crash.image.iter().filter_map(|(node, content)| {
            let age = choices[*node].iter().position(|held| held == content)?;
            let name = || name_of(&tree, self.nodes[*node]);
            (age > 0).then(|| format!("{} {age} older", name()))
        });
        let mut lost: Vec<String> = lost.collect();
        lost.sort();
        match lost.is_empty() {
            true => "as written".to_owned(),
            false => lost.join(", "),
        }
    }

    /// A disk on which each reachable node has the content that `pick` chooses from its possible ones.
    fn image(&self, step: usize, mut pick: impl FnMut(&[usize]) -> usize) -> Image {
        self.image_by(step, |_, choices| pick(choices))
    }

    fn image_by(&self, step: usize, mut pick: impl FnMut(usize, &[usize]) -> usize) -> Image {
        let mut image = Image::new();
        let mut open = vec![self.root];
        while let Some(node) = open.pop() {
            let choices = &self.choices[step][node];
            if choices.is_empty() || image.iter().any(|(known, _)| *known == node) {
                continue;
            }
            let content = pick(node, choices);
            open.extend(&self.below[content]);
            image.push((node, content));
        }
        image.sort_unstable();
        image
    }

    /// Everything newest, everything oldest, and each single node oldest or newest against all others.
    fn extremes(&self, step: usize) -> Vec<Image> {
        let newest = |choices: &[usize]| choices[0];
        let oldest = |choices: &[usize]| choices[choices.len() - 1];
        let mut images = vec![self.image(step, newest), self.image(step, oldest)];
        for alone in 0..self.nodes.len() {
            images.push(self.image_by(step, |node, choices| match node == alone {
                true => oldest(choices),
                false => newest(choices),
            }));
            images.push(self.image_by(step, |node, choices| match node == alone {
                true => newest(choices),
                false => oldest(choices),
            }));
        }
        images
    }

    /// Lists every possible disk after a step. Returns whether there are at most `most`.
    fn list(&self, step: usize, most: usize, images: &mut Vec<Image>) -> bool {
        self.list_from(step, &mut vec![self.root], &mut Image::new(), most, images)
    }

    /// Lists the disks that agree with the choices made so far, with every choice for the nodes still open.
    fn list_from(
        &self,
        step: usize,
        open: &mut Vec<usize>,
        chosen: &mut Image,
        most: usize,
        images: &mut Vec<Image>,
    ) -> bool {
        let Some(node) = open.pop() else {
            let mut image = chosen.clone();
            image.sort_unstable();
            images.push(image);
            return images.len() <= most;
        };
        let choices = &self.choices[step][node];
        let is_done = choices.is_empty() || chosen.iter().any(|(known, _)| *known == node);
        if is_done {
            return self.list_from(step, open, chosen, most, images);
        }
        choices.iter().all(|content| {
            let mut open = open.clone();
            open.extend(&self.below[*content]);
            chosen.push((node, *content));
            let is_whole = self.list_from(step, &mut open, chosen, most, images);
            chosen.pop();
            is_whole
        })
    }
}
