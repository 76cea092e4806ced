//! `outlive attach`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use outlive::api::request;
use outlive::terminal::{Happening, Terminal, Typing};
use outlive::verbs::attach::Attach;
use outlive::verbs::{log, show};
use outlive::{Chunk, Error, Input, missing_line};
use std::io::{self, Write};

/// Connect your terminal to a job; Ctrl-] leaves the job running
///
/// Several terminals can be attached to one job. For a job without a terminal, `attach` shows the output and
/// sends what you type line by line. Ctrl-D at the start of a line ends the input of a job that was started
/// with --stdin pipe; its output is still shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job to attach to: its id, the beginning of its id, or its name
    id: String,
    /// Only look: send nothing to the job, and leave the size of its terminal as it is
    #[arg(long)]
    read_only: bool,
}

/// Ctrl-]
const LEAVE: u8 = 0x1d;
/// Resets what a program may have changed in the terminal: modes, scroll region, character set, cursor, mouse,
/// colours. This moves the cursor to a corner.
const RESTORE: &[u8] =
    b"\x1b[?6l\x1b[r\x1b[?7h\x1b[4l\x1b>\x1b(B\x0f\x1b[?25h\x1b[?1l\x1b[?2004l\x1b[?1000l\
\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?2026l\x1b[0 q\x1b[0m";
/// Leaves the alternate screen and restores the cursor position.
const NORMAL_SCREEN: &[u8] = b"\x1b[?1049l";

/// Why the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Left,
    Ended,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    let job = show::show(&context.outlive, &id)?;
    let typing = match job.pty {
        true => Typing::Keys,
        false => Typing::Lines { leave: LEAVE },
    };
    let mut terminal = Terminal::open(typing)?;
    let size = terminal.size().filter(|_| !args.read_only);
    let (mut attach, first) = Attach::open(&context.outlive, &id, request::Attach { size })?;
    write(&first)?;
    let over = session(context, &mut attach, &mut terminal, args.read_only);
    if job.pty {
        let screen = log::screen(&context.outlive, &id)?;
        let cursor = format!("\x1b[{};{}H", screen.cursor.row + 1, screen.cursor.col + 1);
        write(RESTORE)?;
        write(match screen.alternate {
            true => NORMAL_SCREEN,
            false => cursor.as_bytes(),
        })?;
        write(b"\r\n")?;
    }
    drop(terminal);
    match over? {
        Over::Left => context.say(&format!("outlive: left {id}; the job continues")),
        Over::Ended => context.say(&format!(
            "outlive: {}",
            render::line(&show::show(&context.outlive, &id)?)
        )),
    }
    Ok(Exit::Success)
}

fn session(
    context: &Context,
    attach: &mut Attach<'_>,
    terminal: &mut Terminal,
    read_only: bool,
) -> Result<Over, Failure> {
    loop {
        // Check for typed keys after each part of the output, so that keys work during a flood.
        let happenings = match attach.output()? {
            Some(Chunk::Bytes { bytes, .. }) => {
                write(&bytes)?;
                terminal.peek()?
            }
            Some(Chunk::Missing(range)) => {
                write(missing_line(&range).as_bytes())?;
                terminal.peek()?
            }
            Some(Chunk::Ended | Chunk::OutOfTime) => return Ok(Over::Ended),
            None => match attach.bell() {
                Some(bell) => terminal.wait(bell)?,
                None => terminal.peek()?,
            },
        };
        for happening in happenings {
            if let Some(over) = heed(context, attach, terminal, read_only, happening)? {
                return Ok(over);
            }
        }
    }
}

fn heed(
    context: &Context,
    attach: &mut Attach<'_>,
    terminal: &Terminal,
    read_only: bool,
    happening: Happening,
) -> Result<Option<Over>, Failure> {
    let terminal_job = matches!(attach.input, Input::Pty(_));
    match happening {
        Happening::Typed(bytes) => {
            let leave = bytes.iter().position(|byte| *byte == LEAVE);
            let typed = bytes[..leave.unwrap_or(bytes.len())].to_vec();
            if !read_only && !typed.is_empty() && attach.input != Input::Null {
                still_watching(attach.type_in(typed))?;
            }
            Ok(leave.map(|_| Over::Left))
        }
        Happening::Resized if !read_only && terminal_job => {
            if let Some(size) = terminal.size() {
                still_watching(attach.resize(size))?;
            }
            Ok(None)
        }
        Happening::EndTyped => {
            if !read_only && attach.input == Input::Pipe {
                still_watching(attach.end_input())?;
                context.say("outlive: the input of the job has ended; Ctrl-] leaves");
            }
            Ok(None)
        }
        Happening::Leave => Ok(Some(Over::Left)),
        Happening::Resized | Happening::TypingEnded | Happening::OtherReady => Ok(None),
    }
}

/// Ignores a refusal: a job that takes no input, or has ended, can still be watched to its end.
fn still_watching(result: Result<(), Error>) -> Result<(), Failure> {
    match result {
        Err(Error::Refused { .. } | Error::RefusedByKeeper { .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}
