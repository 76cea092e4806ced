//! How a text names the next step.
//!
//! A reader at a shell gets a command that can be pasted. A model that has tools gets the name of a tool and its
//! arguments, because it may have no shell, or one in which `outlive` cannot run.

use std::fmt::Display;

/// Who reads the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reader {
    /// Somebody who can run commands.
    #[default]
    Shell,
    /// A model that has the tools of the MCP server.
    Tools,
}

impl Reader {
    /// Reads the output.
    pub fn log(self, id: &impl Display) -> String {
        match self {
            Reader::Shell => format!("outlive log {id}"),
            Reader::Tools => format!("tool `log` with id {id}"),
        }
    }

    /// Reads the output from a byte on. The tool has no such argument, so it gives the last lines.
    pub fn log_from(self, id: &impl Display, byte: u64) -> String {
        match self {
            Reader::Shell => format!("outlive log {id} --bytes {byte}"),
            Reader::Tools => self.log(id),
        }
    }

    /// Reads the output of one attempt. The tool takes the number, too.
    pub fn log_attempt(self, id: &impl Display, attempt: u32) -> String {
        match self {
            Reader::Shell => format!("outlive log {id} --attempt {attempt}"),
            Reader::Tools => format!("{} and attempt: {attempt}", self.log(id)),
        }
    }

    /// Searches the output.
    pub fn search(self, id: &impl Display) -> String {
        match self {
            Reader::Shell => format!("outlive log {id} --grep PATTERN"),
            Reader::Tools => format!("{} and grep", self.log(id)),
        }
    }

    /// Shows the job.
    pub fn show(self, id: &impl Display) -> String {
        match self {
            Reader::Shell => format!("outlive show {id}"),
            Reader::Tools => format!("tool `show` with id {id}"),
        }
    }

    /// Writes a line to the job.
    pub fn answer(self, id: &impl Display) -> String {
        match self {
            Reader::Shell => format!("outlive send {id} TEXT --enter"),
            Reader::Tools => format!("tool `send` with id {id}, text and enter: true"),
        }
    }

    /// Runs a command line, which is quoted for a shell.
    pub fn shell(self, quoted: &str) -> String {
        match self {
            Reader::Shell => format!("outlive run --shell {quoted}"),
            Reader::Tools => format!("tool `run` with command {quoted}"),
        }
    }

    /// Which variables a job did not get, and how it would.
    pub fn withheld(self, names: &[String]) -> String {
        let list = names.join(", ");
        match self {
            Reader::Shell => format!(
                "withheld from the job, because agents keep their own credentials there: {list}; `--env-pass NAME` passes one on"
            ),
            Reader::Tools => format!(
                "withheld from the job, because they are credentials of agents: {list}. If it needs one, start it with `env_pass: [\"NAME\"]`"
            ),
        }
    }

    /// Stops the job, as the subject of a sentence.
    pub fn stop(self, id: &impl Display) -> String {
        match self {
            Reader::Shell => format!("`outlive stop {id}`"),
            Reader::Tools => "the tool `stop`".to_owned(),
        }
    }
}
