//! `outlive attach`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use outlive::terminal::{Happening, Terminal, Typing};
use outlive::verbs::attach::Attach;
use outlive::verbs::show;
use outlive::{Chunk, Input, missing_line};
use std::io::{self, Write};

/// A terminal on the job; Ctrl-] leaves it running
///
/// On a job without a terminal it shows the output and sends lines.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id, the beginning of it, or its name
    id: String,
    /// Only look: what is typed goes nowhere, and the job's terminal keeps its size
    #[arg(long)]
    read_only: bool,
}

/// Ctrl-]
const LEAVE: u8 = 0x1d;
/// A program's screen is left, its colours and its hidden cursor too.
const RESTORE: &[u8] = b"\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[0m\r\n";

/// Why it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Left,
    Ended,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    let job = show::show(&context.outlive, &id)?;
    let typing = if job.pty { Typing::Keys } else { Typing::Lines };
    let mut terminal = Terminal::open(typing)?;
    let size = terminal.size().filter(|_| !args.read_only);
    let (mut attach, first) = Attach::open(&context.outlive, &id, size)?;
    write(&first)?;
    let over = session(&mut attach, &mut terminal, args.read_only);
    if job.pty {
        write(RESTORE)?;
    }
    drop(terminal);
    match over? {
        Over::Left => context.say(&format!("outlive: left {id}, which goes on")),
        Over::Ended => context.say(&format!(
            "outlive: {}",
            render::line(&show::show(&context.outlive, &id)?)
        )),
    }
    Ok(Exit::Success)
}

fn session(
    attach: &mut Attach<'_>,
    terminal: &mut Terminal,
    read_only: bool,
) -> Result<Over, Failure> {
    loop {
        while let Some(chunk) = attach.output()? {
            match chunk {
                Chunk::Bytes { bytes, .. } => write(&bytes)?,
                Chunk::Missing(range) => write(missing_line(&range).as_bytes())?,
                Chunk::Ended | Chunk::OutOfTime => return Ok(Over::Ended),
            }
        }
        let Some(bell) = attach.bell() else { continue };
        for happening in terminal.wait(bell)? {
            match happening {
                Happening::Typed(bytes) => {
                    let leave = bytes.iter().position(|byte| *byte == LEAVE);
                    let typed = bytes[..leave.unwrap_or(bytes.len())].to_vec();
                    if !read_only && !typed.is_empty() && attach.input != Input::Null {
                        attach.type_in(typed)?;
                    }
                    if leave.is_some() {
                        return Ok(Over::Left);
                    }
                }
                Happening::Resized if !read_only => {
                    if let Some(size) = terminal
                        .size()
                        .filter(|_| matches!(attach.input, Input::Pty(_)))
                    {
                        attach.resize(size)?;
                    }
                }
                Happening::Leave => return Ok(Over::Left),
                Happening::Resized | Happening::TypingEnded | Happening::Other => {}
            }
        }
    }
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}
