//! Recognises what shells print at their start when they have no terminal.
//!
//! Only the first lines can be such noise, up to the first line that is something else. They are held
//! back rather than dropped: if nothing follows, they are the job's real output, as with `tput cols`.

use super::line::Shown;

/// More than a shell and its start-up files print, and little to hold back.
const MAX_LINES: u64 = 16;

/// What a shell prints after its name: how the message begins and ends.
const SHELL_SAYS: [(&str, &str); 5] = [
    (
        "cannot set terminal process group (",
        "): Inappropriate ioctl for device",
    ),
    ("cannot set terminal process group (", "): Not a tty"),
    ("no job control in ", ""),
    ("initialize_job_control: no job control in background: ", ""),
    ("can't access tty; job control turned off", ""),
];

const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// What programs in start-up files print.
const OTHERS_SAY: [(&str, &str); 5] = [
    ("stdin: is not a tty", ""),
    ("mesg: ttyname failed: ", ""),
    ("mesg: cannot open ", ""),
    ("tput: No value for $TERM and no -T specified", ""),
    ("TERM environment variable not set.", ""),
];

#[derive(Debug, Default)]
pub(super) struct Startup {
    over: bool,
    lines: u64,
    withheld: String,
}

impl Startup {
    /// Whether this line is noise and is held back. All lines before it were noise.
    pub(super) fn withholds(&mut self, line: &Shown<'_>, end: &str) -> bool {
        self.over = self.over
            || self.lines == MAX_LINES
            || line.shortened_from.is_some()
            || !is_noise(line.text);
        if self.over {
            self.withheld.clear();
            return false;
        }
        self.lines += 1;
        self.withheld.push_str(line.text);
        self.withheld.push_str(end);
        true
    }

    /// Whether this unfinished line would be held back too.
    pub(super) fn would_withhold(&self, unfinished: &str) -> bool {
        !self.over && self.lines < MAX_LINES && is_noise(unfinished)
    }

    /// Other text has been shown, so the lines held back were noise.
    pub(super) fn drop_withheld(&mut self) {
        self.over = true;
        self.withheld = String::new();
    }

    /// How many lines of noise came before the shown text.
    pub(super) fn dropped_lines(&self) -> u64 {
        match self.over {
            true => self.lines,
            false => 0,
        }
    }

    /// The lines held back, if nothing came after them.
    pub(super) fn withheld(&self) -> &str {
        &self.withheld
    }
}

fn is_noise(line: &str) -> bool {
    says(&OTHERS_SAY, line) || said_by_shell(line).is_some_and(|words| says(&SHELL_SAYS, words))
}

fn says(known: &[(&str, &str)], line: &str) -> bool {
    known
        .iter()
        .any(|(first, last)| line.starts_with(first) && line.ends_with(last))
}

/// The words after `bash: `, `-bash: `, `/bin/sh: 0: ` or `bash: line 1: `.
fn said_by_shell(line: &str) -> Option<&str> {
    let (name, words) = line.split_once(": ")?;
    let name = name.rsplit('/').next()?.trim_start_matches('-');
    if !SHELLS.contains(&name) {
        return None;
    }
    let prefix = words.split_once(": ").filter(|(prefix, _)| {
        let number = prefix.strip_prefix("line ").unwrap_or(prefix);
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    Some(prefix.map_or(words, |(_, words)| words))
}
