//! Which functions a launch goes through, for the linker to put side by side.
//!
//! A program's pages are read from memory, yet each has to be asked for: a launch that goes through two
//! hundred functions all over a program asks for sixty pages, and for ten where they lie together. What is
//! written names functions without the hashes of their crates, where that is enough, so it goes stale slowly;
//! a function that is not there any more is no error, and one that is not named is merely elsewhere.

use crate::Why;
use crate::steps::{self, Process};
use outlive_sys::trace::{self, Until};
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
            steps::follow(&verb(words), Until::Step, |process, _| {
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
             SECTIONS\n{{\n  .text.first :\n  {{\n",
            self.program
        );
        if self.seen.len() < 50 {
            return Err(format!("{} has no symbols", self.program));
        }
        let mut named: HashMap<String, usize> = HashMap::new();
        for (_, symbol) in &symbols {
            *named.entry(pattern(symbol)).or_default() += 1;
        }
        for (_, symbol) in self.seen.iter().map(|at| &symbols[*at]) {
            let pattern = pattern(symbol);
            // A name that others have too would bring them along.
            let name = match named.get(&pattern) {
                Some(1) => pattern,
                _ => quoted(symbol),
            };
            let _ = writeln!(text, "    *(.text.{name})");
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

/// A symbol without its hashes, as a linker takes it.
fn pattern(symbol: &str) -> String {
    const HASH: usize = 16;
    // Of two mangled forms: `…17h0123456789abcdefE`, and `…Cs1aB2cD_4name…`.
    let symbol = match symbol.find(".llvm.") {
        Some(at) => format!("{}*", &symbol[..at]),
        None => symbol.to_owned(),
    };
    let mut text = String::new();
    let mut rest = symbol.as_str();
    while let Some(first) = rest.chars().next() {
        let hash = rest.strip_prefix("17h").and_then(|after| after.get(HASH..));
        let ends = hash.is_some_and(|after| after.starts_with('E'));
        if let (Some(after), true) = (hash, ends) {
            text.push_str("17h*");
            rest = after;
            continue;
        }
        let number = rest.strip_prefix("Cs").and_then(|after| {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric())?;
            (end > 0 && after[end..].starts_with('_')).then(|| &after[end..])
        });
        if let (Some(after), true) = (number, symbol.starts_with("_R")) {
            text.push_str("Cs*");
            rest = after;
            continue;
        }
        text.push(first);
        rest = &rest[first.len_utf8()..];
    }
    quoted(&text)
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
                "_ZN14outlive_keeper4pair5begin17h64b641d2d73ff60fE",
                "_ZN14outlive_keeper4pair5begin17h*E",
            ),
            (
                "_ZN4core3ptr9drop$u7b$17h64b641d2d73ff60fE.llvm.123",
                "_ZN4core3ptr9drop?u7b?17h*E*",
            ),
            (
                "_RNvNtNtCsaz6eC2DG7lh_3std2io5stdio6STDOUT",
                "_RNvNtNtCs*_3std2io5stdio6STDOUT",
            ),
            ("_ZN3abc17hello", "_ZN3abc17hello"),
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
