//! A line that is cut by the dropped middle is never treated as a whole line.

use super::bounded;
use outlive_testkit::world::World;
use serde_json::Value;
use std::ops::Range;

const MARK: &str = " of output were not kept here …]\n";

/// A bounded output of numbers. The dropped middle starts and ends inside a number.
struct Cut {
    world: World,
    id: String,
    whole: String,
    dropped: Range<usize>,
}

impl Cut {
    fn new() -> Cut {
        let world = World::new();
        let count = 200_000;
        let id = bounded(&world, "256K", &format!("seq 1 {count}"));
        world.wait(&id);
        let log: Value = world.json(&["log", &id, "--lines", "1", "--json"]);
        let [start, end] = [0, 1].map(|at| log["dropped_ranges"][0][at].as_u64().unwrap() as usize);
        let cut = Cut {
            world,
            id,
            whole: (1..=count).map(|number| format!("{number}\n")).collect(),
            dropped: start..end,
        };
        for at in [start, end] {
            assert!(!cut.whole[..at].ends_with('\n'), "a line is cut at {at}");
        }
        cut
    }

    fn log(&self, options: &[&str]) -> String {
        let args = [&["log", &self.id], options].concat();
        let ran = self.world.outlive(&args);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    }

    /// The end of the number in which the dropped middle ends.
    fn rest(&self) -> &str {
        self.whole[self.dropped.end..].lines().next().unwrap()
    }

    /// The lines that were kept as a whole.
    fn kept(&self) -> Vec<&str> {
        let before = self.whole[..self.dropped.start].rsplit_once('\n').unwrap();
        let after = self.whole[self.dropped.end..].split_once('\n').unwrap();
        before.0.lines().chain(after.1.lines()).collect()
    }
}

#[test]
fn grep_does_not_match_half_a_line() {
    let cut = Cut::new();
    let rest = cut.rest();
    for reading in [&[][..], &["--raw"], &["--redact"]] {
        let log = |options: &[&str]| cut.log(&[options, reading].concat());
        let pattern = format!("^{rest}$");
        let found = log(&["--grep", &pattern]);
        let expected = match cut.kept().contains(&rest) {
            true => format!("{rest}\n"),
            false => String::new(),
        };
        assert_eq!(found, expected, "{reading:?}");
        let all = log(&["--grep", "^[0-9]+$"]);
        assert!(all.lines().eq(cut.kept()), "{reading:?}");
        let stamped = log(&["--timestamps", "--lines", "300000"]);
        let shown = stamped.lines().map(|line| line.split_once(' ').unwrap().1);
        assert!(shown.eq(cut.kept()), "{reading:?}");
    }
    // This also holds if the selected part starts inside the dropped middle.
    let inside = (cut.dropped.start + 1000).to_string();
    let inside = ["--cursor", &format!("b{inside}"), "--grep", ""];
    let after = cut.whole[cut.dropped.end..].split_once('\n').unwrap().1;
    assert_eq!(cut.log(&inside), after);
    let line = cut.log(&["--offset", "40000", "--grep", "", "--json"]);
    let line: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["text"], &line["line"]),
        (
            &after.lines().next().unwrap().into(),
            &after.lines().next().unwrap().parse::<u64>().unwrap().into()
        )
    );
}

#[test]
fn half_a_line_is_shown_after_a_note_about_the_gap() {
    let cut = Cut::new();
    let marked = |text: &str| {
        let (mark, text) = text.split_once(MARK).unwrap_or_else(|| panic!("{text:?}"));
        assert!(mark.starts_with("\n[… "), "{mark:?}");
        text.to_owned()
    };
    let after = &cut.whole[cut.dropped.end..];
    let first_lines: String = after.split_inclusive('\n').take(3).collect();
    for manner in [&[][..], &["--redact"]] {
        let log = |options: &[&str]| cut.log(&[options, manner].concat());
        let page = log(&["--offset", "40000", "--lines", "3"]);
        assert_eq!(marked(&page), first_lines, "{manner:?}");
        let count = after.lines().count().to_string();
        assert_eq!(marked(&log(&["--lines", &count])), after, "{manner:?}");
        let follow = log(&["--offset", "40000", "--lines", "3", "--follow"]);
        assert_eq!(marked(&follow), after, "{manner:?}");
    }
    let inside = (cut.dropped.start + 1000).to_string();
    for options in [["--bytes", &inside], ["--cursor", &format!("b{inside}")]] {
        assert_eq!(marked(&cut.log(&options)), after);
    }
    let page = ["--offset", "40000", "--lines", "3", "--json"];
    let page: Value = serde_json::from_str(&cut.log(&page)).unwrap();
    assert_eq!(marked(page["text"].as_str().unwrap()), first_lines);
    assert_eq!(page["from_byte"], cut.dropped.end);
    // The exact bytes have no note about the gap.
    let exact = ["--bytes", &cut.dropped.end.to_string()];
    assert_eq!(cut.log(&exact), after);
    assert_eq!(
        cut.log(&["--offset", "40000", "--lines", "3", "--raw"]),
        first_lines
    );
}

/// The command in the note of `--budget` prints the lines that were left out, also after a gap.
#[test]
fn the_hint_of_a_budget_after_a_gap_shows_what_was_left_out() {
    let cut = Cut::new();
    let page = [
        "log", &cut.id, "--offset", "40000", "--lines", "3000", "--budget", "2K",
    ];
    let page = cut.world.outlive(&page);
    let hint = page.stderr.split('`').nth(1).unwrap();
    let hint: Vec<&str> = hint.split(' ').skip(1).collect();
    let middle = cut.world.outlive(&hint).stdout;
    let shown = page.stdout.split_once(MARK).unwrap().1;
    let said = shown.lines().find(|line| line.contains("left out"));
    let whole = shown.replace(&format!("{}\n", said.unwrap()), &middle);
    let after = cut.whole[cut.dropped.end..].split_inclusive('\n');
    assert!(after.take(3000).eq(whole.split_inclusive('\n')), "{shown}");
}
