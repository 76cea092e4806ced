//! Text that does not fit: long lines and long texts.

use super::*;
use crate::view::line::Line;
use crate::view::{excerpt, line};

/// Few bytes, so that a small input is already too long.
pub fn tight() -> impl Strategy<Value = Options> {
    (0usize..3000, 0usize..400).prop_map(|(budget, line_limit)| Options { budget, line_limit })
}

/// Splits a shortened line into its two ends and the number of bytes between them.
fn ends(shown: &str) -> Option<(&str, u64, &str)> {
    let (first, rest) = shown.split_once(" … [")?;
    let (number, last) = rest.split_once(" bytes left out] … ")?;
    Some((first, number.replace(',', "").parse().ok()?, last))
}

/// Whether a line is shown correctly, and whether it was shortened.
fn shows(shown: &str, line: &str, limit: usize) -> Result<bool, TestCaseError> {
    if line.trim_end_matches('\n').len() <= limit {
        prop_assert_eq!(shown, line);
        return Ok(false);
    }
    prop_assert!(shown.trim_end_matches('\n').len() <= limit);
    let (first, left_out, last) = ends(shown).expect("a shortened line");
    prop_assert!(line.starts_with(first) && line.ends_with(last));
    prop_assert_eq!(
        (first.len() + last.len()) as u64 + left_out,
        line.len() as u64
    );
    prop_assert!(first.len() + last.len() + 62 > limit, "as much as fits");
    Ok(true)
}

/// Lines around the limit, mixed with bytes that are not text.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let line = (
        "(a|bc|日|👍){0,120}",
        select(vec!["\n", "\n", "\r\n", "\x1b[m\n"]),
    );
    let lines = vec(line.prop_map(|(text, end)| text + end), 0..40);
    (lines, "[a-z]{0,200}").prop_map(|(lines, rest)| (lines.concat() + &rest).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn head_and_tail_are_whole_lines_within_the_budget(
        input in prop_oneof![texts(), pieces()],
        options in tight(),
        places in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let viewed = view(options, &cut(&input, &places));
        let lines = reference::lines(&input);
        let limit = options.effective_line_limit();
        prop_assert!(viewed.text.len() <= options.budget.max(excerpt::MARK));

        let mark = excerpt::mark(viewed.omitted_lines, viewed.omitted_bytes);
        let (head, tail) = match viewed.omitted_lines {
            0 => (&viewed.text[..], ""),
            _ => viewed.text.split_once(&mark).expect("it is said"),
        };
        let head: Vec<&str> = head.split_inclusive('\n').collect();
        let tail: Vec<&str> = tail.split_inclusive('\n').collect();
        prop_assert_eq!(head.len() as u64 + viewed.omitted_lines + tail.len() as u64, lines.len() as u64);
        let (before, rest) = lines.split_at(head.len());
        let (between, after) = rest.split_at(rest.len() - tail.len());
        prop_assert_eq!(between.concat().len() as u64, viewed.omitted_bytes);
        prop_assert_eq!(viewed.omitted_from_line, between.first().map(|_| 1 + before.len() as u64));

        let mut shortened = 0;
        for (shown, line) in head.iter().zip(before).chain(tail.iter().zip(after)) {
            shortened += u64::from(shows(shown, line, limit)?);
        }
        prop_assert_eq!(shortened, viewed.shortened_lines);
        if options.budget >= 512 && !lines.is_empty() {
            prop_assert!(!head.is_empty() && (between.is_empty() || !tail.is_empty()));
        }
    }

    /// Text past the width cannot be edited, wherever the input was cut.
    #[test]
    fn a_line_past_its_width_does_not_depend_on_how_it_is_cut(
        acts in vec(prop_oneof![
            6 => "[aé日]{0,90}".prop_map(Step::Write),
            1 => (0usize..400).prop_map(Step::ToColumn),
            1 => (0usize..40).prop_map(Step::Left),
            1 => (0usize..40).prop_map(Step::Right),
            1 => select(vec![decode::Part::FromCursor, decode::Part::ToCursor, decode::Part::All]).prop_map(Step::Erase),
        ], 0..20),
    ) {
        let mut at_once = Line::with_width(128, 130);
        let mut in_parts = Line::with_width(128, 130);
        for act in &acts {
            step(&mut at_once, act);
            match act {
                Step::Write(text) => text.chars().for_each(|c| in_parts.write(c.encode_utf8(&mut [0; 4]))),
                other => step(&mut in_parts, other),
            }
        }
        prop_assert_eq!(at_once.shown(), in_parts.shown());
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(String),
    ToColumn(usize),
    Left(usize),
    Right(usize),
    Erase(decode::Part),
}

fn step(line: &mut Line, step: &Step) {
    match step {
        Step::Write(text) => line.write(text),
        Step::ToColumn(column) => line.go_to(*column),
        Step::Left(count) => line.left(*count),
        Step::Right(count) => line.right(*count),
        Step::Erase(part) => line.erase(*part),
    }
}

#[test]
fn a_long_line_keeps_its_ends() {
    let input = format!("{}middle{}\nnext\n", "a".repeat(5000), "z".repeat(5000));
    let viewed = view(Options::default(), &[input.as_bytes()]);
    let (first, left_out, last) = ends(&viewed.text).expect("shortened");
    assert_eq!(first, "a".repeat(997));
    assert_eq!(last, "z".repeat(997) + "\nnext\n");
    assert_eq!(left_out, 10_006 - 2 * 997);
    assert_eq!((viewed.shortened_lines, viewed.omitted_lines), (1, 0));
}

/// The text is past the width, and the second state replaces the first.
#[test]
fn a_long_line_can_be_overwritten() {
    let state = |c: &str| c.repeat(10_000);
    let again = text(&format!("{}\r{}end", state("a"), state("b")));
    assert_eq!(again, text(&format!("{}end", state("b"))));
    assert_eq!(text(&format!("{}\r\x1b[Kshort", state("a"))), "short");
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let options = Options::default();
    let mut view = View::new(options);
    for _ in 0..300 {
        view.push("a line of text, and 日本\n".repeat(1000).as_bytes());
        view.push("no end in sight ".repeat(4000).as_bytes());
        let held = view.page.line.held() + view.excerpt.held();
        assert!(held < 8 * options.budget, "{held}");
    }
}

#[test]
fn the_text_says_what_was_left_out() {
    let rows = [
        (1, 1, "[… 1 line, 1 byte left out …]\n"),
        (12_345, 1_234_567, "[… 12,345 lines, 1.2 MB left out …]\n"),
        (1_000, 999_999, "[… 1,000 lines, 999.9 kB left out …]\n"),
    ];
    for (lines, bytes, expected) in rows {
        assert_eq!(excerpt::mark(lines, bytes), expected);
    }
    assert!(excerpt::mark(u64::MAX, 999).len() <= excerpt::MARK);
    assert!(excerpt::mark(u64::MAX, u64::MAX).len() <= excerpt::MARK);
    let longest = format!(" … [{} bytes left out] … ", excerpt::grouped(u64::MAX));
    assert!(longest.len() <= line::MARK);
}
