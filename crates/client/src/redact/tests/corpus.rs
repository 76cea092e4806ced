//! How many secrets of the corpus in `crates/client/tests/redaction` are found, and how much else is taken for one.

#![expect(clippy::print_stdout, reason = "the rates are what the tests measure")]

use super::*;

const SECRETS: &str = include_str!("../../../tests/redaction/secrets.txt");
const HARMLESS: &str = include_str!("../../../tests/redaction/harmless.txt");

/// A secret counts as leaked if a part of this length is shown.
const PART: usize = 6;

/// Of all secrets in `secrets.txt`, including those that cannot be recognised.
const MIN_RECALL: f64 = 0.95;

/// A line of `secrets.txt`, or several if a secret extends over them.
struct Sample {
    section: &'static str,
    /// The text as a program would print it.
    text: String,
    /// The same with `[redacted]` in place of each secret.
    expected: String,
    secrets: Vec<String>,
}

impl Sample {
    fn read(section: &'static str, marked: &str) -> Sample {
        let mut secrets = Vec::new();
        let mut expected = String::new();
        for (i, piece) in marked.split(['«', '»']).enumerate() {
            match i % 2 {
                0 => expected.push_str(piece),
                _ => {
                    expected.push_str("[redacted]");
                    secrets.push(piece.to_owned());
                }
            }
        }
        Sample {
            section,
            text: marked.replace(['«', '»'], ""),
            expected,
            secrets,
        }
    }

    fn is_beyond(&self) -> bool {
        self.section.starts_with("beyond")
    }

    /// How many secrets have a part in `shown` that is not also in the expected text.
    fn leaks(&self, shown: &str) -> usize {
        let is_shown = |secret: &&String| {
            let secret = secret.as_bytes();
            secret.windows(PART.min(secret.len())).any(|part| {
                let count = |text: &str| {
                    let windows = text.as_bytes().windows(part.len());
                    windows.filter(|window| *window == part).count()
                };
                count(shown) > count(&self.expected)
            })
        };
        self.secrets.iter().filter(is_shown).count()
    }
}

fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for section in SECRETS.split("\n== ").skip(1) {
        let (name, text) = section.split_once('\n').unwrap_or((section, ""));
        let mut sample = String::new();
        for line in expand(text).split_inclusive('\n') {
            sample.push_str(line);
            if sample.matches('«').count() == sample.matches('»').count() {
                samples.push(Sample::read(name, &std::mem::take(&mut sample)));
            }
        }
        assert!(sample.is_empty(), "{name}: a mark is not closed");
    }
    samples
}

/// The text with `[redacted]` for each marker, whatever its kind.
fn without_kinds(text: &str) -> String {
    let marker = regex::Regex::new(r"\[redacted:[a-z-]+\]").expect("a constant expression");
    marker.replace_all(text, "[redacted]").into_owned()
}

#[test]
fn every_secret_of_the_corpus_is_found() {
    let (mut all, mut found) = (0, 0);
    let mut wrong = Vec::new();
    for sample in samples() {
        let shown = without_kinds(&redact(&sample.text));
        all += sample.secrets.len();
        found += sample.secrets.len() - sample.leaks(&shown);
        if shown != sample.expected && !sample.is_beyond() {
            wrong.push(format!(
                "{}:\n  shown    {shown}  expected {}",
                sample.section, sample.expected
            ));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let recall = found as f64 / all as f64;
    println!("recall: {found} of {all} secrets, {:.1} %", recall * 100.0);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.concat());
    assert!(recall >= MIN_RECALL, "{recall}");
}

/// Redacts the samples all at once and line by line, with other lines around each.
#[test]
fn secrets_are_found_among_other_lines_and_line_by_line() {
    let samples: Vec<_> = samples().into_iter().filter(|s| !s.is_beyond()).collect();
    let text: String = samples.iter().map(|sample| &sample.text[..]).collect();
    let expected: String = samples.iter().map(|sample| &sample.expected[..]).collect();
    for shown in [redact(&text).into_owned(), lines::lines(&text)] {
        let shown = without_kinds(&shown);
        let mut both = shown.lines().zip(expected.lines());
        assert_eq!(both.find(|(shown, expected)| shown != expected), None);
        assert_eq!(shown.len(), expected.len());
    }
}

#[test]
fn nothing_harmless_is_taken_for_a_secret() {
    let text = expand(HARMLESS);
    let shown = redact(&text);
    let lines = text.lines().zip(shown.lines());
    let wrong: Vec<_> = lines.filter(|(line, shown)| line != shown).collect();
    let count = text.lines().count();
    println!("false positives: {} of {count} lines", wrong.len());
    assert!(wrong.is_empty(), "{} lines: {wrong:#?}", wrong.len());
    assert_eq!(shown, text);
}
