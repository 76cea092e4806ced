use super::*;
use outlive_core::watch::Pattern;
use proptest::prelude::*;

mod reference;

fn text(text: &str) -> Pattern {
    Pattern::Text(text.into())
}

fn regex(source: &str) -> Pattern {
    Pattern::Regex(source.into())
}

fn compile(patterns: &[Pattern]) -> Patterns {
    Patterns::compile(patterns).expect("they compile")
}

fn push(scanner: &mut Scanner, bytes: &[u8]) -> Vec<Match> {
    let mut told = Vec::new();
    scanner.push(bytes, &mut |hit| told.push(hit.to_match()));
    told
}

fn still(scanner: &mut Scanner) -> Vec<Match> {
    let mut told = Vec::new();
    scanner.still(&mut |hit| told.push(hit.to_match()));
    told
}

fn texts(told: &[Match]) -> Vec<&str> {
    told.iter().map(|found| found.text.as_str()).collect()
}

#[test]
fn matching_lines_are_reported_with_their_offsets() {
    let mut scanner = Scanner::new(compile(&[text("error"), regex("^warn")]));
    let told = push(&mut scanner, b"fine\nan error\r\n\nwarning\nno warning\n");
    assert_eq!(
        told,
        [
            Match {
                offset: 5,
                end: 14,
                pattern: Some(0),
                text: "an error".into()
            },
            Match {
                offset: 16,
                end: 23,
                pattern: Some(1),
                text: "warning".into()
            },
        ]
    );
    assert_eq!(scanner.place(), Place::at(35));
}

#[test]
fn a_text_split_by_writes_and_escapes_is_found() {
    let mut scanner = Scanner::new(compile(&[text("ready")]));
    assert!(push(&mut scanner, b"\x1b[1mre\x1b").is_empty());
    assert!(push(&mut scanner, b"[0;3").is_empty());
    assert!(push(&mut scanner, b"1mady\x1b]0;re").is_empty());
    assert_eq!(texts(&push(&mut scanner, b"ady\x07!\nx")), ["ready!"]);
    // A title is not a part of the text.
    assert!(push(&mut scanner, b"\x1b]0;ready\x07\n").is_empty());
}

#[test]
fn a_prompt_is_reported_once_when_the_output_pauses() {
    let mut scanner = Scanner::new(compile(&[regex(r"\? ?$")]));
    assert!(push(&mut scanner, b"Overwr").is_empty());
    assert!(still(&mut scanner).is_empty());
    assert!(push(&mut scanner, b"ite? ").is_empty());
    assert_eq!(texts(&still(&mut scanner)), ["Overwrite? "]);
    assert!(still(&mut scanner).is_empty());
    let place = scanner.place();
    assert_eq!((place.line, place.from, place.told), (0, 11, true));
    assert!(push(&mut scanner, b"yes?\n").is_empty());
    assert_eq!(texts(&push(&mut scanner, b"Sure?\n")), ["Sure?"]);
}

#[test]
fn an_empty_unfinished_line_is_no_prompt() {
    let mut scanner = Scanner::new(compile(&[Pattern::NotText("x".into())]));
    assert!(still(&mut scanner).is_empty());
    assert!(push(&mut scanner, b"\x1b[2K\r").is_empty());
    assert!(still(&mut scanner).is_empty());
}

#[test]
fn each_state_of_a_progress_bar_is_checked_and_the_line_reported_once() {
    let mut scanner = Scanner::new(compile(&[regex("^[0-9]+%$"), Pattern::NotText("1".into())]));
    let told = push(&mut scanner, b"\r10%\r\x1b[K20%\r30%\r100%\r\n");
    assert_eq!(texts(&told), ["20%"]);
    assert_eq!((told[0].offset, told[0].end), (0, 21));
}

#[test]
fn an_empty_line_can_match() {
    let mut scanner = Scanner::new(compile(&[regex("^$")]));
    let told = push(&mut scanner, b"a\n\n\r\n\x1b[0m\n\rb\n");
    let offsets: Vec<u64> = told.iter().map(|found| found.offset).collect();
    assert_eq!(offsets, [2, 3, 5]);
}

#[test]
fn a_long_line_is_checked_in_windows_and_reported_once() {
    let mut scanner = Scanner::new(compile(&[text("needle")]));
    let mut told = Vec::new();
    for _ in 0..100 {
        told.extend(push(&mut scanner, &[b'.'; 10_000]));
        assert!(scanner.begun.capacity() < 3 * WINDOWS.size);
    }
    // A match across the end of a window.
    let place = scanner.place();
    assert!(place.line == 0 && place.from > 0);
    let until = WINDOWS.size as u64 - (scanner.end - place.from);
    told.extend(push(&mut scanner, &vec![b'.'; until as usize - 3]));
    assert_eq!(told, []);
    told.extend(push(&mut scanner, b"needle"));
    told.extend(push(&mut scanner, &[b'.'; 100_000]));
    told.extend(push(&mut scanner, b"needle\nshort needle\n"));
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].offset, told[0].text.len()), (0, LONGEST_TEXT));
    assert_eq!(told[1].text, "short needle");
}

#[test]
fn a_reported_text_is_cut_at_a_character() {
    let mut scanner = Scanner::new(compile(&[text("x")]));
    let line = format!("x{}\n", "é".repeat(5000));
    let told = push(&mut scanner, line.as_bytes());
    assert_eq!(told[0].text, format!("x{}", "é".repeat(999)));
    let told = push(&mut scanner, b"x\xff\n");
    assert_eq!(told[0].text, "x\u{fffd}");
}

#[test]
fn lost_output_ends_the_line_before_it() {
    let mut scanner = Scanner::new(compile(&[text("error")]));
    push(&mut scanner, b"err");
    scanner.skip_to(1000);
    let told = push(&mut scanner, b"or\nerror\n");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].offset, 1003);
}

/// So small that random streams have lines that are longer.
const SMALL: Windows = Windows { size: 24, step: 17 };

const PIECES: &[&[u8]] = &[
    b"error",
    b"err",
    b"or",
    b"a",
    b"b",
    b"x",
    b" ",
    b"_",
    b"foo bar",
    b"10%",
    b"\n",
    b"\n",
    b"\n\n",
    b"\r\n",
    b"\r\r\n",
    b"\r",
    b"\r",
    b"\x1b[31m",
    b"\x1b[K",
    b"\x1b]0;error\x07",
    b"\x1b]8;;a\x1b\\",
    b"\x1b(B",
    b"\x1b",
    b"\x1b[",
    b"\x07",
    "é".as_bytes(),
    "É".as_bytes(),
    b"\xc3",
    b"\xff",
    b"\0",
];

const SOURCES: &[&str] = &[
    "error",
    "^err",
    "or$",
    r"\Aerror\z",
    r"a\s*b",
    r"a[^x]*b",
    r"(?s)a.*b",
    r"\berr",
    r"or\b",
    r"\B",
    r"(?-u:\B)",
    r"(?-u:\b)x",
    "(?i)ERR|é",
    "^$",
    "a*",
    "",
    "^[^a-z]+$",
    r"(?-u:\xff)",
    r"(?s-u:^.$)",
    r"(?R)^a|b$",
    r"(?m)^x$",
    r"(?-m)^x|(?R-m)b$",
    r"x\n?",
    r"\n",
    r"[\r\n]",
    "\\x1b|31m|0;",
    r"\d+%",
    r"(a|b)(x|_)+?$",
    r"\w{4,}",
    r"\x00",
];

fn patterns() -> impl Strategy<Value = Vec<Pattern>> {
    let one = (0..4u8, prop::sample::select(SOURCES)).prop_map(|(kind, source)| {
        let source = source.to_owned();
        match kind {
            0 => Pattern::Text(source),
            1 | 2 => Pattern::Regex(source),
            _ if source.len() % 2 == 0 => Pattern::NotText(source),
            _ => Pattern::NotRegex(source),
        }
    });
    prop::collection::vec(one, 1..4)
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(PIECES), 0..60).prop_map(|pieces| pieces.concat())
}

/// What happens after some bytes have been pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interruption {
    Nothing,
    Still,
    /// The keeper is killed. Its successor continues from the scanner's last position.
    Kill,
    /// The output pauses. Then the keeper is killed, and only what it reported is journaled.
    StillKill,
    /// The keeper is killed after it has journaled this many of the hits of its last push.
    KillAmid(usize),
}

fn cuts() -> impl Strategy<Value = Vec<(usize, Interruption)>> {
    let then = prop_oneof![
        Just(Interruption::Nothing),
        Just(Interruption::Still),
        Just(Interruption::Kill),
        Just(Interruption::StillKill),
        (0..3usize).prop_map(Interruption::KillAmid),
    ];
    prop::collection::vec((1..70usize, then), 0..30)
}

fn scanner(patterns: Patterns, windows: Windows, place: Place) -> Scanner {
    let mut scanner = Scanner::resume(patterns, place);
    scanner.windows = windows;
    scanner
}

/// Everything that is reported for a stream that is cut and interrupted in this way, and the offsets at which it
/// paused.
fn run(
    patterns: &[Pattern],
    windows: Windows,
    stream: &[u8],
    cuts: &[(usize, Interruption)],
) -> (Vec<Match>, Vec<usize>) {
    let mut scanned = scanner(compile(patterns), windows, Place::default());
    let (mut told, mut stills) = (Vec::new(), Vec::new());
    let mut place = Place::default();
    let (mut at, mut farthest) = (0, 0);
    for (length, then) in cuts
        .iter()
        .copied()
        .chain([(stream.len(), Interruption::Nothing)])
    {
        let to = (at + length).min(stream.len());
        let mut hits: Vec<(Match, Place)> = Vec::new();
        scanned.push(&stream[at..to], &mut |hit| {
            hits.push((hit.to_match(), hit.after));
        });
        at = to;
        // A successor first pushes what its predecessor had pushed.
        let is_caught_up = at >= farthest;
        farthest = farthest.max(at);
        if is_caught_up && matches!(then, Interruption::Still | Interruption::StillKill) {
            stills.push(at);
            scanned.still(&mut |hit| hits.push((hit.to_match(), hit.after)));
        }
        let heir = match then {
            Interruption::Nothing | Interruption::Still => None,
            Interruption::Kill => Some(scanned.place()),
            Interruption::KillAmid(_) | Interruption::StillKill => {
                if let Interruption::KillAmid(count) = then {
                    hits.truncate(count);
                }
                Some(hits.last().map_or(place, |(_, after)| *after))
            }
        };
        told.extend(hits.into_iter().map(|(found, _)| found));
        if let Some(heirs) = heir {
            scanned = scanner(scanned.patterns, windows, heirs);
            at = heirs.from as usize;
        }
        place = scanned.place();
    }
    (told, stills)
}

proptest! {
    #[test]
    fn the_scanner_reports_what_matching_each_line_alone_would(
        patterns in patterns(), stream in stream(), cuts in cuts(), long in any::<bool>(),
    ) {
        let windows = if long { SMALL } else { WINDOWS };
        let (told, stills) = run(&patterns, windows, &stream, &cuts);
        prop_assert_eq!(told, reference::matches(&patterns, windows, &stream, &stills));
    }

    #[test]
    fn whole_streams_are_the_same_without_cuts(patterns in patterns(), stream in stream()) {
        let (told, _) = run(&patterns, WINDOWS, &stream, &[]);
        prop_assert_eq!(told, reference::matches(&patterns, WINDOWS, &stream, &[]));
    }
}
