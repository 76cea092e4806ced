//! What is executed: the arguments as given, or a shell with a string; through a login shell if asked.

use super::{Command, Run};
use crate::environment;
use crate::environment::inherited::JobVariables;
use crate::error::Error;
use crate::launch::shell;
use crate::launch::shell::habits::{self, Habit};
use outlive_core::os_text::OsText;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::slice;

/// The arguments to execute, and the command as a person would write it.
///
/// `shell` is the one of the place; without it, it is looked for here.
pub fn of(
    asked: &Run,
    variables: &JobVariables,
    shell: Option<&OsText>,
    notes: &mut Vec<String>,
) -> Result<(Vec<OsText>, String), Error> {
    let login = asked.environment.login.then(|| LoginShell::of(variables));
    match &asked.command {
        Command::Argv(argv) if argv.first().is_none_or(|name| name.as_bytes().is_empty()) => {
            Err(Error::NoCommand)
        }
        Command::Argv(argv) => {
            let words = argv.iter().map(|word| quote(&word.lossy()));
            let command = words.collect::<Vec<_>>().join(" ");
            let run = match login {
                Some(login) => login.executes(argv),
                None => argv.clone(),
            };
            Ok((run, command))
        }
        Command::Shell(script) if script.trim().is_empty() => Err(Error::NoCommand),
        Command::Shell(script) => {
            let run = shell::foreground(script).unwrap_or_else(|| script.clone());
            if run != *script {
                notes.push("the trailing & was left out: the command itself is the job, and runs in the background as every job does".to_owned());
            }
            let argv = match login {
                Some(login) => login.reads(&run, variables),
                None => {
                    let shell = shell.map(|shell| shell.0.clone());
                    let shell = shell.unwrap_or_else(|| usual_shell(variables).into());
                    shell_argv(shell, &["-c"], &run)
                }
            };
            Ok((argv, script.clone()))
        }
    }
}

/// What the command does to outlive its shell, which a job need not do.
pub fn habits(command: &Command) -> Vec<Habit> {
    match command {
        Command::Argv(argv) => habits::in_program(argv.first().map_or(b"", |name| name.as_bytes())),
        Command::Shell(script) => habits::in_script(script),
    }
}

/// A word as it is written for a shell.
pub fn quote(word: &str) -> String {
    // Only a NUL byte cannot be quoted, and that is refused elsewhere.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}

/// The shell that reads a string.
fn usual_shell(variables: &JobVariables) -> &'static str {
    let path = variables.get("PATH");
    let path = path.unwrap_or_else(|| "/usr/local/bin:/bin:/usr/bin".into());
    match environment::find(&path, Path::new("bash")) {
        Some(_) => "bash",
        None => "sh",
    }
}

fn shell_argv(shell: OsString, options: &[&str], script: &str) -> Vec<OsText> {
    let options = options.iter().map(|option| OsText::from(*option));
    // Otherwise the string would look like options.
    let end = script.starts_with(['-', '+']).then(|| OsText::from("--"));
    let shell = [OsText::from(shell)].into_iter();
    let all = shell.chain(options).chain(end);
    all.chain([OsText::from(script)]).collect()
}

/// The user's shell, which reads the profile when it begins.
struct LoginShell {
    path: OsString,
    language: Language,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    /// It reads what bash and sh read.
    Posix,
    Fish,
}

impl LoginShell {
    /// `$SHELL` if it is a shell that we know, else the usual one: another may have other options.
    fn of(variables: &JobVariables) -> LoginShell {
        let own = variables.get("SHELL");
        let own = own.filter(|path| Path::new(path).is_absolute() && Path::new(path).is_file());
        let known = own.and_then(|path| {
            let language = match Path::new(&path).file_name().and_then(OsStr::to_str)? {
                "bash" | "zsh" | "ksh" | "mksh" | "dash" | "ash" | "sh" => Language::Posix,
                "fish" => Language::Fish,
                _ => return None,
            };
            Some(LoginShell { path, language })
        });
        known.unwrap_or_else(|| LoginShell {
            path: usual_shell(variables).into(),
            language: Language::Posix,
        })
    }

    /// Reads the profile and then becomes this program.
    fn executes(self, argv: &[OsText]) -> Vec<OsText> {
        let path = OsText::from(self.path);
        let begin = match self.language {
            // The word after the script is the name of the shell.
            Language::Posix => {
                let words = ["-l", "-c", "exec \"$@\""].map(OsText::from);
                [slice::from_ref(&path), &words[..], slice::from_ref(&path)].concat()
            }
            Language::Fish => {
                let words = ["-l", "-c", "exec $argv"].map(OsText::from);
                [&[path], &words[..]].concat()
            }
        };
        [&begin[..], argv].concat()
    }

    /// Reads the profile and then this string. A shell with another language lets the usual one read it.
    fn reads(self, script: &str, variables: &JobVariables) -> Vec<OsText> {
        match self.language {
            Language::Posix => shell_argv(self.path, &["-l", "-c"], script),
            Language::Fish => {
                let usual = usual_shell(variables).into();
                self.executes(&shell_argv(usual, &["-c"], script))
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::fs;

    fn words(run: Run, shell: &OsStr) -> Vec<String> {
        let set = vec![("SHELL".into(), shell.to_owned())];
        let (argv, _) = of(&run, &JobVariables::setting(set), None, &mut Vec::new()).unwrap();
        argv.iter().map(OsText::lossy).collect()
    }

    #[test]
    fn a_login_shell_reads_the_profile_first() {
        let world = tempfile::tempdir().unwrap();
        let shell = |name: &str| {
            let path = world.path().join(name);
            fs::write(&path, "").unwrap();
            path.into_os_string()
        };
        let (zsh, fish, nu) = (shell("zsh"), shell("fish"), shell("nu"));
        let path = |shell: &OsString| shell.to_str().unwrap().to_owned();
        let string = || Run::shell("-x; make").login();
        assert_eq!(
            words(string(), &zsh),
            [&path(&zsh), "-l", "-c", "--", "-x; make"]
        );
        let own = |shell: &OsStr| words(Run::argv(["make", "all"]).login(), shell);
        let zsh_path = path(&zsh);
        assert_eq!(
            own(&zsh),
            [
                &zsh_path,
                "-l",
                "-c",
                "exec \"$@\"",
                &zsh_path,
                "make",
                "all"
            ]
        );
        assert_eq!(
            own(&fish),
            [&path(&fish), "-l", "-c", "exec $argv", "make", "all"]
        );
        let through_fish = words(Run::shell("make").login(), &fish);
        assert_eq!(through_fish[4..], ["bash", "-c", "make"]);
        assert_eq!(
            words(Run::shell("make").login(), &nu),
            ["bash", "-l", "-c", "make"]
        );
        assert_eq!(words(Run::shell("make"), &zsh), ["bash", "-c", "make"]);
    }
}
