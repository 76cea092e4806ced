//! Terminal multiplexers: a job is a command in one of their terminals.

use super::{Contender, Entry, Output, Waiting, output_of, program, quoted, waiting};
use crate::BenchError;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub const DTACH: Entry = Entry {
    name: "dtach",
    make: |_, dir| {
        let program = program("dtach")?;
        Ok(Box::new(Dtach {
            program,
            dir,
            started: 0,
        }))
    },
};

struct Dtach {
    program: PathBuf,
    dir: PathBuf,
    started: usize,
}

impl Contender for Dtach {
    fn name(&self) -> &'static str {
        DTACH.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.started += 1;
        let socket = self.dir.join(self.started.to_string());
        silent(Command::new(&self.program).arg("-n").arg(socket).args(argv))?;
        Ok(self.started.to_string())
    }
}

pub const SCREEN: Entry = Entry {
    name: "screen",
    make: |_, dir| {
        let program = program("screen")?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))
            .map_err(|error| error.to_string())?;
        Ok(Box::new(Screen {
            program,
            dir,
            started: 0,
        }))
    },
};

struct Screen {
    program: PathBuf,
    dir: PathBuf,
    started: usize,
}

impl Screen {
    fn start_with(&mut self, options: &[&str], argv: &[&str]) -> Result<String, BenchError> {
        self.started += 1;
        let name = format!("j{}", self.started);
        let mut command = Command::new(&self.program);
        command.env("SCREENDIR", &self.dir).args(options);
        silent(command.args(["-dmS", &name]).args(argv))?;
        Ok(name)
    }
}

impl Contender for Screen {
    fn name(&self) -> &'static str {
        SCREEN.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.start_with(&[], argv)
    }

    fn start_captured(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        let log = self.dir.join("log");
        let log = log.to_str().ok_or("a path that is no text")?.to_owned();
        self.start_with(&["-L", "-Logfile", &log], argv)
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }
}

pub const TMUX: Entry = Entry {
    name: "tmux",
    make: |_, dir| {
        let program = program("tmux")?;
        let settings = "set -g exit-empty off\nset-hook -g session-closed 'wait-for -S ended'\n";
        fs::write(dir.join("conf"), settings).map_err(|error| error.to_string())?;
        let tmux = Tmux { program, dir };
        let conf = tmux.dir.join("conf");
        silent(tmux.command(&[]).arg("-f").arg(conf).arg("start-server"))?;
        Ok(Box::new(tmux))
    },
};

struct Tmux {
    program: PathBuf,
    dir: PathBuf,
}

impl Tmux {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_remove("TMUX");
        command.arg("-S").arg(self.dir.join("s")).args(args);
        command
    }
}

impl Contender for Tmux {
    fn name(&self) -> &'static str {
        TMUX.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        let new = ["new-session", "-d", "-P", "-F", "#{pane_id}", "--"];
        output_of(&mut self.command(&[&new, argv].concat()))
    }

    fn start_captured(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        let pane = self.start(argv)?;
        let log = self.dir.join("log");
        let cat = format!("cat > {}", quoted(&log.to_string_lossy()));
        output_of(&mut self.command(&["pipe-pane", "-t", &pane, &cat]))?;
        Ok(pane)
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }

    fn wait(&mut self, _id: &str) -> Result<Waiting, BenchError> {
        waiting(&mut self.command(&["wait-for", "ended"]))
    }

    fn list(&mut self) -> Result<(), BenchError> {
        output_of(&mut self.command(&["list-sessions"])).map(drop)
    }
}

/// Runs a command that leaves a process behind, which must not hold one of our pipes.
fn silent(command: &mut Command) -> Result<(), BenchError> {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} {status}", command.get_program().display())),
    }
}
