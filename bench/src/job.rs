//! The jobs of the harness: `outlive-bench job …`.
//!
//! A job waits at a gate (a FIFO) until the harness releases it. It records the important moments
//! itself, so that the harness's own time is not measured.

use crate::BenchError;
use crate::clock::now_ns;
use crate::processes::until;
use outlive_testkit::gate::{Gate, wait_at};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn gate(path: PathBuf) -> Result<Gate, BenchError> {
    Gate::at(path).map_err(|error| error.to_string())
}

/// The text that a writing job produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Zeros, written by `head -c`.
    Head,
    /// Lines of 110 bytes.
    Lines,
    /// Lines of two bytes.
    ShortLines,
    /// One line without an end.
    Endless,
}

impl Text {
    pub const ALL: [Text; 4] = [Text::Head, Text::Lines, Text::ShortLines, Text::Endless];

    pub fn name(self) -> &'static str {
        match self {
            Text::Head => "head",
            Text::Lines => "lines",
            Text::ShortLines => "short-lines",
            Text::Endless => "endless",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Text::Head => "zeros by `head -c`",
            Text::Lines => "lines of 110 bytes",
            Text::ShortLines => "lines of two bytes",
            Text::Endless => "one line without an end",
        }
    }

    fn write(self, bytes: u64) -> std::io::Result<()> {
        let line = "2026-11-15 08:00:00 INFO server::handler request served ";
        match self {
            Text::Head => {
                let mut head = Command::new("head");
                let status = head
                    .args(["-c", &bytes.to_string(), "/dev/zero"])
                    .status()?;
                match status.success() {
                    true => Ok(()),
                    false => Err(std::io::Error::other("head failed")),
                }
            }
            Text::Lines => repeat(&format!("{line:x<109}\n"), bytes),
            Text::ShortLines => repeat("y\n", bytes),
            Text::Endless => repeat("x", bytes),
        }
    }
}

/// Writes like a program that uses its C library: in pieces of 4 KiB, regardless of line ends.
fn repeat(piece: &str, bytes: u64) -> std::io::Result<()> {
    const BUFFER: usize = 4096;
    // A whole number of pieces and of buffers, so that the buffer can be repeated.
    let text = piece.repeat(BUFFER);
    // Without the standard library's buffer, which writes up to the end of a line and then the rest.
    let mut out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut left = bytes;
    for buffer in text.as_bytes().chunks(BUFFER).cycle() {
        if left == 0 {
            return Ok(());
        }
        let now = left.min(buffer.len() as u64);
        out.write_all(&buffer[..now as usize])?;
        left -= now;
    }
    Ok(())
}

/// A job that writes this much after it is released, reports how long that took, and stays until a
/// second release.
pub struct Writer {
    pub begin: Gate,
    pub end: Gate,
    done: PathBuf,
    text: Text,
    bytes: u64,
}

impl Writer {
    pub fn new(directory: &Path, text: Text, bytes: u64) -> Result<Writer, BenchError> {
        Ok(Writer {
            begin: gate(directory.join("begin"))?,
            end: gate(directory.join("end"))?,
            done: directory.join("done"),
            text,
            bytes,
        })
    }

    pub fn argv(&self, me: &Path) -> Vec<String> {
        let words = [
            &me.to_string_lossy(),
            "job",
            "write",
            self.text.name(),
            &self.bytes.to_string(),
            &self.begin.path().to_string_lossy(),
            &self.done.to_string_lossy(),
            &self.end.path().to_string_lossy(),
        ];
        words.map(str::to_owned).to_vec()
    }

    /// The seconds it took; available after it has written everything.
    pub fn seconds(&self) -> Result<f64, BenchError> {
        until("the job has written all", || self.done.exists())?;
        let text = fs::read_to_string(&self.done).map_err(|error| error.to_string())?;
        let nanoseconds: u64 = text.parse().map_err(|_| format!("it wrote {text:?}"))?;
        Ok(nanoseconds as f64 / 1e9)
    }
}

/// A job that ends when it is released, and reports when.
pub struct Ender {
    pub gate: Gate,
    stamp: PathBuf,
}

impl Ender {
    pub fn new(directory: &Path) -> Result<Ender, BenchError> {
        Ok(Ender {
            gate: gate(directory.join("gate"))?,
            stamp: directory.join("stamp"),
        })
    }

    pub fn argv(&self, me: &Path) -> Vec<String> {
        let me = me.to_string_lossy();
        let stamp = self.stamp.to_string_lossy();
        [
            &me,
            "job",
            "end",
            &self.gate.path().to_string_lossy(),
            &stamp,
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// When it ended.
    pub fn ended_ns(&self) -> Result<u64, BenchError> {
        let text = fs::read_to_string(&self.stamp).map_err(|error| error.to_string())?;
        text.parse().map_err(|_| format!("it wrote {text:?}"))
    }
}

pub fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["write", text, bytes, begin, done, end] => write(text, bytes, begin, done, end),
        ["end", gate, stamp] => end(gate, stamp),
        ["tick"] => tick(),
        _ => return ExitCode::from(2),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn write(text: &str, bytes: &str, begin: &str, done: &str, end: &str) -> std::io::Result<()> {
    let text = Text::ALL.into_iter().find(|one| one.name() == text);
    let (Some(text), Ok(bytes)) = (text, bytes.parse()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    wait_at(begin.as_ref())?;
    let start = now_ns();
    text.write(bytes)?;
    let took = now_ns() - start;
    // The file gets its name only when it is complete.
    let draft = format!("{done}.draft");
    fs::write(&draft, took.to_string())?;
    fs::rename(draft, done)?;
    wait_at(end.as_ref())
}

/// Prints the time, again and again, until nobody reads it.
fn tick() -> std::io::Result<()> {
    let mut out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    loop {
        out.write_all(format!("{}\n", now_ns()).as_bytes())?;
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn end(gate: &str, stamp: &str) -> std::io::Result<()> {
    let mut stamp = File::create(stamp)?;
    wait_at(gate.as_ref())?;
    stamp.write_all(now_ns().to_string().as_bytes())?;
    // Do nothing more here: the rest is the kernel's work.
    std::process::exit(0);
}
