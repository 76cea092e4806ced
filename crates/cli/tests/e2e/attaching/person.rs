//! A simulated person at a terminal.

use outlive_sys::{process, tree};
use outlive_testkit::environment::give_environment;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::with_go;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a person waits for something to appear.
const PATIENCE: Duration = Duration::from_secs(15);
const PROMPT: &str = "person$";

/// A person in front of a shell on a terminal of 30 rows and 100 columns, run by a tmux server that ends when this is
/// dropped.
pub struct Person {
    server: String,
    /// The directory of the server's socket, which is removed with the world.
    directory: PathBuf,
}

impl Person {
    pub fn sits_down(world: &World) -> Person {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let person = Person {
            server: format!("person-{number}"),
            directory: world.path(""),
        };
        let mut tmux = person.tmux(&["set", "-g", "status", "off", ";"]);
        tmux.args(["new-session", "-d", "-x", "100", "-y", "30"]);
        tmux.args(["bash", "--norc", "--noprofile", "-i"]);
        give_environment(&with_go(world, &[]), &mut tmux);
        let bin = Path::new(outlive_testkit::programs::outlive())
            .parent()
            .unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        tmux.env("PATH", path).env("PS1", format!("{PROMPT} "));
        tmux.env("LC_ALL", "C.UTF-8").env("HISTFILE", "/dev/null");
        let ran = Ran::of(&mut tmux);
        assert_eq!(ran.code, 0, "{ran:?}");
        person.until_sees(PROMPT);
        person
    }

    /// A `tmux` command for this person's server.
    fn tmux(&self, args: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-L", &self.server, "-f", "/dev/null"]);
        tmux.args(args).env_remove("TMUX");
        tmux.env("TMUX_TMPDIR", &self.directory);
        tmux
    }

    pub fn asks(&self, args: &[&str]) -> String {
        let ran = Ran::of(&mut self.tmux(args));
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.stdout
    }

    pub fn types(&self, text: &str) {
        self.asks(&["send-keys", "-l", text]);
    }

    pub fn presses(&self, key: &str) {
        self.asks(&["send-keys", key]);
    }

    pub fn enters(&self, line: &str) {
        self.types(line);
        self.presses("Enter");
    }

    /// The rows of the terminal without the blank ones at the end.
    pub fn sees(&self) -> String {
        self.asks(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    pub fn until_sees(&self, text: &str) {
        let start = Instant::now();
        let mut seen = self.sees();
        while !seen.contains(text) {
            assert!(
                start.elapsed() < PATIENCE,
                "never seen: {text:?}; but:\n{seen}"
            );
            thread::sleep(Duration::from_millis(2));
            seen = self.sees();
        }
    }

    /// A format variable of tmux that describes the terminal.
    pub fn terminal(&self, word: &str) -> String {
        let format = format!("#{{{word}}}");
        self.asks(&["display-message", "-p", &format])
            .trim_end()
            .to_owned()
    }

    /// Attaches to a job, and waits until this text appears.
    pub fn attaches(&self, options: &str, id: &str, shows: &str) {
        self.enters(&format!(
            "clear; outlive attach {options} {id}; echo code=$?"
        ));
        until("the client runs", || self.client().is_some());
        self.until_sees(shows);
    }

    /// The pid of the attached client.
    pub fn client(&self) -> Option<i32> {
        let shell: i32 = self.terminal("pane_pid").parse().unwrap();
        tree::all().unwrap().into_iter().find(|pid| {
            process::stat(*pid).is_some_and(|stat| stat.parent == shell)
                && fs::read_to_string(format!("/proc/{pid}/comm"))
                    .is_ok_and(|name| name.trim() == "outlive")
        })
    }

    /// Leaves the job, and waits for the message and the shell.
    pub fn leaves(&self, id: &str) {
        self.presses("C-]");
        self.until_sees(&format!("left {id}"));
        until("the client is gone", || self.client().is_none());
    }

    /// Checks that the terminal works for a shell: lines can be edited, echo is on, the cursor is visible.
    pub fn has_a_sane_terminal(&self) {
        let modes = "-e icanon -e echo -e isig -e opost -e icrnl";
        let count = format!("stty -a | tr ' ;' '\\n\\n' | grep -cx {modes}");
        self.enters(&format!("clear; echo modes=$({count})"));
        self.until_sees("modes=5");
        let last_row = self.terminal("pane_height").parse::<u16>().unwrap() - 1;
        for (word, value) in [
            ("cursor_flag", "1"),
            ("alternate_on", "0"),
            ("keypad_cursor_flag", "0"),
            ("keypad_flag", "0"),
            ("mouse_any_flag", "0"),
            ("wrap_flag", "1"),
            ("origin_flag", "0"),
            ("insert_flag", "0"),
            ("scroll_region_upper", "0"),
            ("scroll_region_lower", &last_row.to_string()),
        ] {
            assert_eq!(self.terminal(word), value, "{word}");
        }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}
