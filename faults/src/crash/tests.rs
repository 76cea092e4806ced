use super::*;

fn directory(entries: &[(&str, &str)]) -> Content {
    let own = |(name, node): &(&str, &str)| ((*name).to_owned(), (*node).to_owned());
    Content::Directory(entries.iter().map(own).collect())
}

fn file(bytes: u64) -> Content {
    match bytes {
        0 => Content::empty_file(),
        _ => Content::File {
            blob: "b".to_owned(),
            bytes,
        },
    }
}

fn step(tree: &[(&str, Content)], synced: &[&str]) -> Step {
    Step {
        tree: tree
            .iter()
            .map(|(node, content)| ((*node).to_owned(), content.clone()))
            .collect(),
        synced: synced.iter().map(|node| (*node).to_owned()).collect(),
        ..Step::default()
    }
}

/// A home in which a file is created and written in two parts, with a sync between the parts.
fn recording() -> Recording {
    let with_file = || directory(&[("f", "file")]);
    Recording {
        root: "root".to_owned(),
        steps: vec![
            step(&[("root", directory(&[]))], &["root"]),
            step(&[("root", with_file()), ("file", file(0))], &[]),
            step(&[("root", with_file()), ("file", file(10))], &[]),
            step(&[("root", with_file()), ("file", file(10))], &["file"]),
            step(&[("root", with_file()), ("file", file(20))], &[]),
            step(&[("root", with_file()), ("file", file(20))], &["root"]),
        ],
    }
}

/// The possible lengths of the file after a step. `None` if no name leads to it.
fn sizes(step: usize) -> BTreeSet<Option<u64>> {
    let recording = recording();
    let ways = Ways::of(&recording);
    let found = ways.find(100, 1);
    assert_eq!(found.drawn, 0);
    let after = |crash: &&Crash| crash.step == step;
    let tree = |crash: &Crash| match ways.tree(crash).get("file") {
        Some(Content::File { bytes, .. }) => Some(*bytes),
        _ => None,
    };
    found.crashes.iter().filter(after).map(tree).collect()
}

/// States that were possible after an earlier step are not listed again.
#[test]
fn what_is_not_synced_may_be_lost_torn_or_kept() {
    assert_eq!(sizes(0), [None].into());
    assert_eq!(sizes(1), [Some(0)].into());
    assert_eq!(sizes(2), [Some(5), Some(10)].into());
}

#[test]
fn what_is_synced_is_kept_but_for_its_name() {
    assert_eq!(sizes(3), [].into());
    assert_eq!(sizes(4), [Some(15), Some(20)].into());
}

#[test]
fn each_way_the_disk_may_look_is_there_once() {
    let recording = recording();
    let ways = Ways::of(&recording);
    let trees: Vec<Tree> = ways
        .find(100, 1)
        .crashes
        .iter()
        .map(|crash| ways.tree(crash))
        .collect();
    for (place, tree) in trees.iter().enumerate() {
        assert!(!trees[place + 1..].contains(tree), "{tree:?}");
    }
    // No file, or a file of 0, 5, 10, 15 or 20 bytes.
    assert_eq!(trees.len(), 6);
}

/// A home in which two files are created, then one is removed while the other grows. Nothing is synced.
fn unsynced() -> Recording {
    let root = directory;
    Recording {
        root: "root".to_owned(),
        steps: vec![
            step(&[("root", root(&[]))], &["root"]),
            step(&[("root", root(&[("a", "one")])), ("one", file(1))], &[]),
            step(
                &[
                    ("root", root(&[("a", "one"), ("b", "two")])),
                    ("one", file(1)),
                    ("two", file(1)),
                ],
                &[],
            ),
            step(&[("root", root(&[("b", "two")])), ("two", file(9))], &[]),
        ],
    }
}

#[test]
fn each_file_is_lost_or_kept_by_itself() {
    let recording = unsynced();
    let ways = Ways::of(&recording);
    let size = |tree: &Tree, node: &str| match tree.get(node) {
        Some(Content::File { bytes, .. }) => Some(*bytes),
        _ => None,
    };
    let found = ways.find(100, 1).crashes;
    let both: BTreeSet<(Option<u64>, Option<u64>)> = found
        .iter()
        .map(|crash| ways.tree(crash))
        .map(|tree| (size(&tree, "one"), size(&tree, "two")))
        .collect();
    let (ones, twos) = (
        [None, Some(0), Some(1)],
        [None, Some(0), Some(1), Some(5), Some(9)],
    );
    let all = ones.into_iter().flat_map(|one| twos.map(|two| (one, two)));
    assert_eq!(both, all.collect());
}

#[test]
fn what_was_removed_is_there_again_unless_its_directory_was_synced() {
    let mut recording = unsynced();
    let ways = Ways::of(&recording);
    let removed = 3;
    let is_back = |crash: &Crash| ways.tree(crash).contains_key("one");
    let found = ways.find(100, 1).crashes;
    assert!(found.iter().any(|it| it.step == removed && is_back(it)));
    recording.steps[removed].synced.insert("root".to_owned());
    let ways = Ways::of(&recording);
    let found = ways.find(100, 1).crashes;
    let later = found.iter().filter(|crash| crash.step == removed);
    assert!(later.clone().count() > 0);
    for crash in later {
        assert!(!ways.tree(crash).contains_key("one"), "{crash:?}");
    }
}

#[test]
fn too_many_ways_are_drawn_and_said_to_be() {
    let recording = unsynced();
    let ways = Ways::of(&recording);
    let all = ways.find(100, 1);
    let some = ways.find(1, 1);
    assert!(some.drawn > 0);
    assert!(some.crashes.len() < all.crashes.len());
    assert!(some.crashes.iter().all(|crash| all.crashes.contains(crash)));
    assert_eq!(ways.find(1, 1).crashes, some.crashes);
    assert_eq!(ways.describe(&all.crashes[0]), "as written");
}

#[test]
fn a_recording_survives_being_written_down() {
    let mut recording = recording();
    recording.steps[2].is_told = true;
    recording.steps[2].call = "write".to_owned();
    let more = [
        ("link", Content::Link("../x".to_owned())),
        ("fifo", Content::Fifo),
        ("socket", Content::Socket),
    ];
    let more = more.map(|(node, content)| (node.to_owned(), content));
    recording.steps[0].tree.extend(more);
    assert_eq!(Recording::from_json(&recording.to_json()), Some(recording));
}

#[test]
fn a_node_is_called_by_its_path() {
    let tree = step(
        &[
            ("root", directory(&[("jobs", "d")])),
            ("d", directory(&[("x", "f")])),
            ("f", file(1)),
        ],
        &[],
    );
    assert_eq!(name_of(&tree.tree, &"f".to_owned()), "/jobs/x");
}
