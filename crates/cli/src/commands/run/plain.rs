//! `outlive run` as it is mostly called, understood without the parser.
//!
//! To describe the options of `run` to the parser takes longer than to make the job's directory. What is
//! not plain, or wrong, is left to the parser; what is plain means the same to both, which a test holds
//! them to.

use super::{Args, Options};
use crate::args::{Cli, Command, Global};
use crate::commands::duration;
use crate::lazily::Lazily;
use std::ffi::OsString;

/// The command line without the program's own name; `None` where the parser is to look at it.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Option<Cli> {
    let mut words = words.into_iter();
    if words.next()? != "run" {
        return None;
    }
    let mut global = Global::default();
    let mut options = Options::default();
    let command: Vec<OsString> = loop {
        let word = words.next()?;
        match word.to_str()? {
            "--" => break words.collect(),
            "--json" => once(&mut global.json)?,
            "--quiet" => once(&mut global.quiet)?,
            "--home" => set(&mut global.home, value(&mut words)?.into())?,
            "--name" => set(&mut options.name, value(&mut words)?)?,
            "--session" => set(&mut options.session, value(&mut words)?)?,
            "--task" => set(&mut options.task, value(&mut words)?)?,
            "--cwd" => set(&mut options.cwd, value(&mut words)?.into())?,
            "--timeout" => set(&mut options.timeout, duration(&value(&mut words)?).ok()?)?,
            other if other.is_empty() || other.starts_with('-') => return None,
            _ => break [word].into_iter().chain(words).collect(),
        }
    };
    if command_is_odd(&command) {
        return None;
    }
    let args = Args {
        options,
        command,
        ..Args::default()
    };
    Some(Cli {
        global,
        command: Command::Run(Box::new(Lazily(args))),
    })
}

/// Whether the parser has a say in where it begins.
fn command_is_odd(command: &[OsString]) -> bool {
    command.is_empty() || command.iter().any(|word| word == "--")
}

fn value(words: &mut impl Iterator<Item = OsString>) -> Option<String> {
    let value = words.next()?.into_string().ok()?;
    (!value.is_empty() && !value.starts_with('-')).then_some(value)
}

/// What is given twice is an error, and the parser's to tell.
fn set<T>(option: &mut Option<T>, value: T) -> Option<()> {
    option.replace(value).is_none().then_some(())
}

fn once(flag: &mut bool) -> Option<()> {
    (!std::mem::replace(flag, true)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn parser(words: &[OsString]) -> Option<String> {
        let whole = [OsString::from("outlive")]
            .into_iter()
            .chain(words.to_vec());
        args::parse_whole(whole).ok().map(|cli| format!("{cli:?}"))
    }

    #[test]
    fn a_launch_is_mostly_plain() {
        for text in [
            "run true",
            "run -- make -j 4",
            "run --json --session s --name build -- make",
            "run --home /h --cwd /c --task t --timeout 30m --quiet sleep 1",
        ] {
            assert!(parse(words(text)).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_odd_or_wrong_is_left_to_the_parser() {
        for text in [
            "list",
            "run",
            "run --",
            "run --shell x",
            "run --name=x true",
            "run --name x --name y true",
            "run --name --json true",
            "run --timeout soon true",
            "run a -- b",
        ] {
            assert!(parse(words(text)).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_plain_means_the_same_to_the_parser(
            words in prop::collection::vec(prop::sample::select(vec![
                "--", "--json", "--quiet", "--home", "--name", "--session", "--task", "--cwd",
                "--timeout", "--shell", "--wait", "-h", "-", "", "5s", "a", "a b", "=", "x=y", "run",
            ]), 0..7),
        ) {
            let words: Vec<OsString> = ["run"].into_iter().chain(words).map(OsString::from).collect();
            if let Some(cli) = parse(words.clone()) {
                prop_assert_eq!(Some(format!("{cli:?}")), parser(&words));
            }
        }
    }
}
