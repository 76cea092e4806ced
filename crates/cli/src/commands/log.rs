//! `outlive log`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::units::show_size;
use outlive::verbs::log::{self, Log, Part};
use outlive::{Chunk, JobId};
use std::io::{self, Write};

/// A job's output: the last 200 lines, or the part asked for
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id, the beginning of it, or its name
    id: String,
    /// So many of the last lines
    #[arg(long, short = 'n', value_name = "N", default_value_t = 200)]
    lines: u64,
    /// These bytes exactly; without TO, to the end
    #[arg(long, value_name = "FROM[:TO]", value_parser = byte_range, conflicts_with = "lines")]
    bytes: Option<Bytes>,
    /// Then what comes, as it comes, until the job ends
    #[arg(long, short)]
    follow: bool,
    /// What a person would see on its terminal now
    #[arg(long, conflicts_with_all = ["bytes", "lines", "follow", "raw"])]
    screen: bool,
    /// The bytes as they are (plain text is not changed yet either)
    #[arg(long)]
    raw: bool,
}

#[derive(Clone, Copy, Debug)]
struct Bytes {
    from: u64,
    to: Option<u64>,
}

fn byte_range(text: &str) -> Result<Bytes, String> {
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("{text:?} is not a byte offset; write FROM or FROM:TO"))
    };
    let (from, to) = match text.split_once(':') {
        None | Some((_, "")) => (text.trim_end_matches(':'), None),
        Some((from, to)) => (from, Some(number(to)?)),
    };
    let from = number(from)?;
    match to {
        Some(to) if to < from => Err(format!("{text:?} ends before it begins")),
        _ => Ok(Bytes { from, to }),
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    if args.screen {
        return screen(context, &id);
    }
    let part = match args.bytes {
        Some(Bytes { from, to }) => Part::Bytes { from, to },
        None => Part::LastLines(args.lines),
    };
    let log = log::log(&context.outlive, &id, &part)?;
    if log.dropped_bytes() > 0 {
        context.say(&format!(
            "outlive: {} of the output could not be kept and read as zeroes",
            show_size(log.dropped_bytes())
        ));
    }
    if context.json && !args.follow {
        context.print_json(&log.text()?)?;
        return Ok(Exit::Success);
    }
    let mut out = io::stdout().lock();
    let mut emit = |context: &Context, at: u64, bytes: &[u8]| {
        match context.json {
        true => context.print_json(&serde_json::json!({ "id": id, "from_byte": at, "text": String::from_utf8_lossy(bytes) })),
        false => Ok(out.write_all(bytes).and_then(|()| out.flush())?),
    }
    };
    let mut at = log.range().start;
    for chunk in log.chunks() {
        let chunk = chunk?;
        emit(context, at, &chunk)?;
        at += chunk.len() as u64;
    }
    if args.follow {
        follow(context, &log, &mut emit)?;
    }
    Ok(Exit::Success)
}

fn screen(context: &Context, id: &JobId) -> Result<Exit, Failure> {
    let screen = log::screen(&context.outlive, id)?;
    match context.json {
        true => context.print_json(&screen)?,
        false => context.print(&screen.text)?,
    }
    Ok(Exit::Success)
}

fn follow(
    context: &Context,
    log: &Log,
    emit: &mut impl FnMut(&Context, u64, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut follow = log.follow(&context.outlive);
    while let Chunk::Bytes { at, bytes } = follow.next_chunk()? {
        emit(context, at, &bytes)?;
    }
    Ok(())
}
