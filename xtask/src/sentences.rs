//! Sentences picked at random from what people read, for somebody who does not know the code.
//!
//! A reader says in their own words what each sentence means. A sentence that they get wrong must be rewritten. A
//! quarter of the sentences each comes from the help, the messages (both as the snapshots of `outlive-cli` have
//! them), the documents, and the heads of modules.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// How many sentences are picked of each kind.
const OF_EACH: usize = 10;
/// Shorter pieces are headings and labels, not sentences.
const MIN_WORDS: usize = 6;
/// Where sentences come from, as `git ls-files` takes it.
const KINDS: [(&str, &[&str]); 4] = [
    ("help", &["crates/cli/tests/snapshots/help/*.txt"]),
    (
        "messages",
        &[
            "crates/cli/tests/snapshots/errors/*.txt",
            "crates/cli/tests/snapshots/verbs/*.txt",
        ],
    ),
    ("documents", &["*.md"]),
    ("module heads", &["*.rs"]),
];

struct Sentence {
    file: PathBuf,
    line: usize,
    text: String,
}

/// Prints the sentences, each with its place. The same seed picks the same sentences.
pub fn sentences(args: &[String]) -> Result<(), String> {
    let seed = match args {
        [] => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(1, |since| since.as_secs()),
        [option, seed] if option == "--seed" => seed
            .parse()
            .map_err(|_| format!("{seed:?} is not a number"))?,
        _ => return Err("usage: cargo xtask sentences [--seed N]".to_owned()),
    };
    println!("--seed {seed}");
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
    let mut number = 0;
    for (kind, patterns) in KINDS {
        let found = find(patterns)?;
        println!("\n{kind}: {OF_EACH} of {}\n", found.len());
        for sentence in random.pick(found) {
            number += 1;
            println!("{number:2}. {}", sentence.text);
            println!("    ({}:{})\n", sentence.file.display(), sentence.line);
        }
    }
    Ok(())
}

/// Every sentence in the files of the repository with these names, once.
fn find(patterns: &[&str]) -> Result<Vec<Sentence>, String> {
    let listed = Command::new("git")
        .arg("ls-files")
        .args(patterns)
        .output()
        .map_err(|error| format!("git ls-files: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut found = Vec::new();
    for file in listed.lines().map(Path::new).filter(|file| file.exists()) {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        collect(file, &text, &mut found);
    }
    let mut seen = HashSet::new();
    found.retain(|sentence| seen.insert(sentence.text.clone()));
    Ok(found)
}

/// Cuts the paragraphs of a file into sentences.
fn collect(file: &Path, text: &str, found: &mut Vec<Sentence>) {
    let mut paragraph = String::new();
    let (mut begin, mut in_listing) = (0, false);
    // The empty line at the end closes the last paragraph.
    for (number, line) in text.lines().chain([""]).enumerate() {
        let (prose, begins) = prose(file, line);
        in_listing ^= prose.starts_with("```");
        if in_listing || begins || !is_prose(prose) {
            cut(file, begin, &paragraph, found);
            paragraph.clear();
        }
        if in_listing || !is_prose(prose) {
            continue;
        }
        if paragraph.is_empty() {
            begin = number + 1;
        }
        paragraph.push_str(prose);
        paragraph.push(' ');
    }
}

/// The prose of a line, and whether a paragraph begins with it.
fn prose<'a>(file: &Path, line: &'a str) -> (&'a str, bool) {
    let extension = file.extension().unwrap_or_default();
    if extension == "txt" {
        // A message on stderr is one line. In help, the text comes after the name of an option or a verb.
        return match line.strip_prefix("2> ") {
            Some(message) => (message.trim_start_matches("outlive: ").trim(), true),
            None => match line.trim().rsplit_once("  ") {
                Some((_, text)) => (text.trim(), true),
                None if line.trim().starts_with('-') => ("", true),
                None => (line.trim(), false),
            },
        };
    }
    let prose = match extension == "rs" {
        true => line.strip_prefix("//!").unwrap_or_default().trim(),
        false => line.trim(),
    };
    match prose.strip_prefix("- ").or(prose.strip_prefix("* ")) {
        Some(item) => (item, true),
        None => (prose, false),
    }
}

fn is_prose(prose: &str) -> bool {
    !prose.is_empty() && !prose.starts_with(['|', '#', '`', '$', '<', '{', '+', '['])
}

fn cut(file: &Path, line: usize, paragraph: &str, found: &mut Vec<Sentence>) {
    let mut rest = paragraph.trim();
    while !rest.is_empty() {
        let end = rest.find(". ").map_or(rest.len(), |at| at + 1);
        let text = rest[..end].trim();
        if text.split_whitespace().count() >= MIN_WORDS {
            found.push(Sentence {
                file: file.to_owned(),
                line,
                text: text.to_owned(),
            });
        }
        rest = rest[end..].trim();
    }
}

/// Numbers that need not be secret, only repeatable (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Draws some of them, none twice.
    fn pick(&mut self, mut from: Vec<Sentence>) -> Vec<Sentence> {
        let mut picked = Vec::new();
        while picked.len() < OF_EACH && !from.is_empty() {
            let at = self.next() as usize % from.len();
            picked.push(from.swap_remove(at));
        }
        picked
    }
}
