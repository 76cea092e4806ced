use super::*;

fn directory(entries: &[(&str, &str)]) -> Content {
    let own = |(name, node): &(&str, &str)| ((*name).to_owned(), (*node).to_owned());
    Content::Directory(entries.iter().map(own).collect())
}

fn file(bytes: u64) -> Content {
    Content::File {
        blob: "b".to_owned(),
        bytes,
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

/// A home in which a file is made, written to in two goes, and synced in between.
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

/// How long the file is in each way the disk may look after a step; `None` where it has no name.
fn sizes(step: usize) -> BTreeSet<Option<u64>> {
    let recording = recording();
    let trees = recording.after(step).into_iter();
    trees
        .map(
            |(_, tree)| match reachable(&recording.root, &tree).get("file") {
                Some(Content::File { bytes, .. }) => Some(*bytes),
                _ => None,
            },
        )
        .collect()
}

#[test]
fn what_is_not_synced_may_be_lost_torn_or_kept() {
    assert_eq!(sizes(0), [None].into());
    assert_eq!(sizes(1), [None, Some(0)].into());
    assert_eq!(sizes(2), [None, Some(0), Some(5), Some(10)].into());
}

#[test]
fn what_is_synced_is_kept_but_for_its_name() {
    assert_eq!(sizes(3), [None, Some(10)].into());
    assert_eq!(sizes(4), [None, Some(10), Some(15), Some(20)].into());
}

#[test]
fn a_synced_directory_keeps_its_names() {
    assert_eq!(sizes(5), [Some(10), Some(20)].into());
}

#[test]
fn each_way_the_disk_may_look_is_there_once() {
    let crashes = recording().crashes();
    for (place, crash) in crashes.iter().enumerate() {
        let others = &crashes[place + 1..];
        assert!(
            others.iter().all(|other| other.tree != crash.tree),
            "{crash:?}"
        );
    }
    // Without a name; of 0, 5, 10, 15 and 20 bytes.
    assert_eq!(crashes.len(), 6);
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
