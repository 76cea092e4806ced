//! Which functions a launch goes through, for the linker to put side by side.
//!
//! A program's pages are read from memory, yet each has to be asked for: a launch that goes through two
//! hundred functions all over a program asks for sixty pages, and for ten where they lie together. What is
//! written names functions without the numbers of their crates, so it holds for any checkout and goes stale
//! slowly; a function that is not there any more is no error, and one that is not named is merely elsewhere.

use crate::Why;
use crate::steps::{self, Process};
use outlive_sys::trace;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Writes `outlive.ld` and `outlive-keeper.ld`, from programs that still have their symbols.
pub fn write(programs: &Path, out: &Path) -> Result<(), Why> {
    let home = std::env::temp_dir().join(format!("outlive-order-{}", std::process::id()));
    let outlive = programs.join("outlive");
    let verb = |words: &[&str]| {
        let mut command = Command::new(&outlive);
        command.args(words).env("OUTLIVE_HOME", &home);
        command
    };
    let mut all = ["outlive", "outlive-keeper"].map(|name| Functions::of(programs, name));
    // The first one makes the home.
    let made = crate::contender::output_of(&mut verb(&["run", "--id", "first", "--", "true"]));
    let launch = [&["run", "--", "true"][..], &["wait", "first"], &["list"]];
    let followed = made.and_then(|_| {
        launch.iter().try_for_each(|words| {
            steps::follow(&verb(words), |process| {
                let at = trace::place(process.pid)?;
                all.iter_mut()
                    .for_each(|functions| functions.saw(process, at));
                Ok(())
            })
            .map_err(|error| format!("{words:?} cannot be followed: {error}"))
        })
    });
    let _ = fs::remove_dir_all(&home);
    followed?;
    for functions in all {
        let path = out.join(format!("{}.ld", functions.program));
        fs::write(&path, functions.script()?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// What may be brought along by a name, in bytes.
const MOST: u64 = 16 * 1024;

/// Those of one program that were seen, in the order in which they were.
struct Functions {
    program: &'static str,
    /// Where each begins.
    symbols: Result<Vec<(u64, String)>, Why>,
    seen: Vec<usize>,
    known: HashSet<usize>,
}

impl Functions {
    fn of(programs: &Path, program: &'static str) -> Functions {
        let mut nm = Command::new("nm");
        nm.arg("-n").arg(programs.join(program));
        Functions {
            program,
            symbols: crate::contender::output_of(&mut nm).map(|text| symbols(&text)),
            seen: Vec::new(),
            known: HashSet::new(),
        }
    }

    fn saw(&mut self, process: &Process<'_>, at: u64) {
        if let (true, Ok(symbols)) = (process.program == self.program, &self.symbols) {
            let after = symbols.partition_point(|(start, _)| *start <= at);
            if after > 0 && self.known.insert(after - 1) {
                self.seen.push(after - 1);
            }
        }
    }

    fn script(self) -> Result<String, Why> {
        let symbols = self.symbols?;
        let mut text = format!(
            "/* Written by `cargo xtask order`: what a launch goes through in `{}`, side by side. */\n\n\
             SECTIONS\n{{\n  .text.first :\n  {{\n    *crt1.o(.text)\n",
            self.program
        );
        if self.seen.len() < 50 {
            return Err(format!("{} has no symbols", self.program));
        }
        let length = |at: usize| symbols.get(at + 1).map_or(0, |next| next.0 - symbols[at].0);
        // How long all of a name are together.
        let mut lengths: HashMap<String, u64> = HashMap::new();
        for (at, (_, symbol)) in symbols.iter().enumerate() {
            *lengths.entry(pattern(symbol)).or_default() += length(at);
        }
        for at in self.seen {
            let symbol = &symbols[at].1;
            let pattern = pattern(symbol);
            // A name that others have too brings them along.
            let all = lengths.get(&pattern).copied().unwrap_or_default();
            let name = match all - length(at) > MOST {
                true => quoted(symbol),
                false => pattern,
            };
            // What a compiler takes to be seldom called it puts elsewhere.
            let _ = writeln!(text, "    *(.text.{name} .text.unlikely.{name})");
            if !symbol.starts_with("_R") {
                // A C library's have a file each, and what is written in assembly has no section of its own.
                let _ = writeln!(text, "    *{name}.lo(.text .text.*)");
            }
        }
        Ok(text + "  }\n}\nINSERT BEFORE .text;\n")
    }
}

/// What `nm -n` says of functions.
fn symbols(text: &str) -> Vec<(u64, String)> {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.splitn(3, ' ');
        let at = u64::from_str_radix(words.next()?, 16).ok()?;
        let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
        is_code.then(|| Some((at, words.next()?.to_owned())))?
    });
    lines.collect()
}

/// A symbol without what differs from checkout to checkout, as a linker takes it.
fn pattern(symbol: &str) -> String {
    let Some(path) = symbol.strip_prefix("_R") else {
        return quoted(symbol);
    };
    // Of several that came to be the same, which: `.llvm.123`, `.45`.
    let (path, rest) = match path.find('.') {
        Some(at) => (&path[..at], ".*"),
        None => (path, ""),
    };
    let path = quoted(&without_numbers(path));
    match without_user(&path) {
        Some(path) => format!("_R{path}*"),
        None => format!("_R{path}{rest}"),
    }
}

/// The path of what is generic, without the crate it was made for in the end: of several that need the same,
/// another one in another checkout.
fn without_user(path: &str) -> Option<&str> {
    path.strip_suffix("B*_").or_else(|| {
        let at = path.rfind("Cs*_")?;
        let user = &path[at + "Cs*_".len()..];
        (name_length(user) == Some(user.len())).then_some(&path[..at])
    })
}

/// A mangled path without the numbers of its crates (`Cs1aB2cD_4name`), and without where something is
/// told again (`B5_`): that depends on how long those are.
fn without_numbers(path: &str) -> String {
    let mut text = String::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let number = |sign: &str| {
            let after = rest.strip_prefix(sign)?;
            let end = after.find(|c: char| !c.is_ascii_alphanumeric())?;
            after[end..].starts_with('_').then(|| sign.len() + end + 1)
        };
        let differs = ["Cs", "B"]
            .iter()
            .find_map(|sign| Some((sign, number(sign)?)));
        let passed = match differs {
            Some((sign, length)) => {
                text.push_str(sign);
                text.push_str("*_");
                length
            }
            None => {
                // Of several of a kind, which: `s16_`.
                let part = number("s").or_else(|| name_length(rest));
                let length = part.unwrap_or(first.len_utf8());
                text.push_str(&rest[..length]);
                length
            }
        };
        rest = &rest[passed..];
    }
    text
}

/// How long the name is that begins here with its own length, if one does: `4name`.
fn name_length(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = text[..digits].parse().ok()?;
    let underscore = usize::from(text[digits..].starts_with('_'));
    let end = digits + underscore + length;
    (text.is_char_boundary(end) && end <= text.len()).then_some(end)
}

/// A linker would take a dollar for the beginning of a variable.
fn quoted(symbol: &str) -> String {
    symbol.replace('$', "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_without_what_differs_from_build_to_build() {
        for (symbol, wanted) in [
            ("memcpy", "memcpy"),
            (
                "_RNvNtNtCsaz6eC2DG7lh_3std2io5stdio6STDOUT",
                "_RNvNtNtCs*_3std2io5stdio6STDOUT",
            ),
            (
                "_RINvNtCsaz6_4core3ptr13drop_in_placeNtNtCs1B_3std4path7PathBufEB9_.llvm.123",
                "_RINvNtCs*_4core3ptr13drop_in_placeNtNtCs*_3std4path7PathBufE*",
            ),
            (
                "_RNvXsZ_NtCs2N_5alloc6stringNtB5_6StringNtNtCs7B_4core3fmt5Write9write_str.7315",
                "_RNvXsZ_NtCs*_5alloc6stringNtB*_6StringNtNtCs*_4core3fmt5Write9write_str.*",
            ),
            (
                "_RNvYNtNtCsaz_3std2fs4FileNtNtB6_2io5Write9write_allCs4H_7outlive",
                "_RNvYNtNtCs*_3std2fs4FileNtNtB*_2io5Write9write_all*",
            ),
            ("_RNvMs16_NtCs1_3std4Path", "_RNvMs16_NtCs*_3std4Path"),
            // What is a part of a name is none of those numbers.
            ("_RNvC3abc7Csabc_d", "_RNvC3abc7Csabc_d"),
            ("_RNvC3abc99short", "_RNvC3abc99short"),
            ("_ZN3abc$u7b$", "_ZN3abc?u7b?"),
        ] {
            assert_eq!(pattern(symbol), wanted);
        }
    }

    #[test]
    fn only_functions_are_taken() {
        let text =
            "0000000000401000 T main\n0000000000402000 d data\n   U open\n0000000000403000 t a b\n";
        let named = |at, name: &str| (at, name.to_owned());
        assert_eq!(
            symbols(text),
            [named(0x40_1000, "main"), named(0x40_3000, "a b")]
        );
    }
}
