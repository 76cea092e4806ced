//! Notices what people and models add to a command so that it outlives its shell: `nohup`, `setsid`, `disown`, an
//! `&` in the middle. A job needs none of it, and some of it hides the end of the command.
//!
//! The command runs as given. Only what is certain is reported: if the lexer did not understand all of a string,
//! nothing is.

use super::MAX_SCRIPT_BYTES;
use super::lexer::Lexer;
use outlive_core::next_step::Reader;
use outlive_core::{Input, JobId};

/// Something that a job does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    Nohup,
    Setsid,
    Disown,
    /// An `&` before the end, and nothing in the string waits for what it starts, or ends it.
    Background,
}

/// Which commands of interest a string has. A bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Commands(u8);

const NOHUP: u8 = 1;
const SETSID: u8 = 2;
const DISOWN: u8 = 4;
/// Something that deals with background processes: the string knows what it does.
const CARES: u8 = 8;

/// No path of these programs is longer.
const MAX_NAME_BYTES: usize = 128;

impl Commands {
    /// Takes note of the first word of a simple command.
    pub(super) fn note(&mut self, word: &[u8]) {
        // A word can contain others, so reading each whole would take the square of the time.
        if word.len() > MAX_NAME_BYTES {
            return;
        }
        let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or(word);
        self.0 |= match name {
            b"nohup" => NOHUP,
            b"setsid" => SETSID,
            b"disown" => DISOWN,
            b"wait" | b"fg" | b"kill" | b"pkill" | b"killall" | b"trap" | b"jobs" => CARES,
            _ => 0,
        };
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    fn detaching(self) -> impl Iterator<Item = Habit> {
        let all = [
            (NOHUP, Habit::Nohup),
            (SETSID, Habit::Setsid),
            (DISOWN, Habit::Disown),
        ];
        let found = all.into_iter().filter(move |(bit, _)| self.has(*bit));
        found.map(|(_, habit)| habit)
    }
}

/// What a string for a shell contains.
pub fn in_script(script: &str) -> Vec<Habit> {
    let words = ["&", "nohup", "setsid", "disown"];
    let is_plain = !words.iter().any(|word| script.contains(word));
    // A last backslash has nothing to escape, and shells differ on what it means.
    if is_plain || script.ends_with('\\') || script.len() > MAX_SCRIPT_BYTES {
        return Vec::new();
    }
    let Some(read) = Lexer::new(script).read() else {
        return Vec::new();
    };
    let inner = read.backgrounded - usize::from(read.trailing_ampersand.is_some());
    let cares = read.commands.has(CARES) || script.contains("$!") || script.contains("${!");
    let background = (inner > 0 && !cares).then_some(Habit::Background);
    read.commands.detaching().chain(background).collect()
}

/// What the program of a command line is.
pub fn in_program(name: &[u8]) -> Vec<Habit> {
    let mut commands = Commands::default();
    commands.note(name);
    // A program of this name does nothing: it is a word of shells.
    commands
        .detaching()
        .filter(|habit| *habit != Habit::Disown)
        .collect()
}

impl Habit {
    /// That it is not needed, and what becomes of what it starts.
    pub fn note(self, job: &JobId, input: Input, reader: Reader) -> String {
        let stop = reader.stop(job);
        match self {
            Habit::Nohup if matches!(input, Input::Pty(_)) => {
                "`nohup` is not needed: no hangup reaches a job. On a terminal it writes the output to the file nohup.out, so the job's own output lacks it".to_owned()
            }
            Habit::Nohup => "`nohup` is not needed: no hangup reaches a job".to_owned(),
            Habit::Setsid => format!(
                "`setsid` is not needed: a job has a session of its own. What it starts may go on after the job's end, and its exit code is not known then; {stop} ends it"
            ),
            Habit::Disown => format!(
                "`disown` is not needed: no hangup reaches a job. What it lets go still belongs to the job, and {stop} ends it"
            ),
            Habit::Background => format!(
                "what the `&` in the middle starts may go on after the job's end: its output is still kept, but its exit code is not known; {stop} ends it. If that is the command you wait for, start it as a job of its own, without `&`"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Habit::{Background, Disown, Nohup, Setsid};

    #[test]
    fn what_is_certain_is_noticed() {
        for (script, expected) in [
            ("nohup server > log 2>&1 &", &[Nohup][..]),
            ("cd app && nohup npm start", &[Nohup]),
            ("/usr/bin/nohup x; setsid y", &[Nohup, Setsid]),
            ("(setsid sleep 300 &)", &[Setsid, Background]),
            ("server & disown", &[Disown, Background]),
            ("if a; then nohup b; fi", &[Nohup]),
            ("x | nohup y", &[Nohup]),
            ("echo $(nohup y)", &[Nohup]),
            ("server & sleep 1; curl localhost", &[Background]),
            ("a & b &", &[Background]),
            ("a &\nb", &[Background]),
            ("{ a & } 2>&1 | tee log", &[Background]),
        ] {
            assert_eq!(in_script(script), expected, "{script:?}");
        }
    }

    #[test]
    fn what_is_not_certain_is_not_noticed() {
        for script in [
            "server &",
            "echo nohup",
            "echo 'nohup x'",
            "grep setsid file",
            "\"nohup\" x",
            "nohupx",
            "cat <<E\nnohup x &\nE",
            "# nohup x",
            "man nohup; which setsid",
            "a & wait",
            "a & b & wait",
            "a & pid=$!; b; stop $pid",
            "a & trap 'x' EXIT; b",
            "a & b; kill %1",
            "a && b",
            "a 2>&1",
            "a &> log",
            "x=$(a & b)",
            // Not understood as a whole.
            "nohup (",
            "coproc x; nohup y",
            "nohup x & fi",
            "nohup x \\",
        ] {
            assert_eq!(in_script(script), [], "{script:?}");
        }
    }

    #[test]
    fn a_program_of_that_name_is_noticed() {
        assert_eq!(in_program(b"/usr/bin/nohup"), [Nohup]);
        assert_eq!(in_program(b"setsid"), [Setsid]);
        for other in [&b"disown"[..], b"nohup2", b"make", b""] {
            assert_eq!(in_program(other), []);
        }
    }
}
