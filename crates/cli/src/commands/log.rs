//! `outlive log`

mod printing;

use super::{Secrets, duration, size};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use outlive::units::show_size;
use outlive::verbs::log::{self, Log, Part};
use outlive::view::{self, Live};
use outlive::{Chunk, Cursor, JobId, Line, Look, Piece, Reading};
use printing::{Form, Printer, write};
use regex::bytes::Regex;
use std::io;
use std::time::Duration;

/// A job's output: the last 200 lines, or the part asked for
///
/// Costs what it prints and a little scan, on outputs of any size. It is shown as text: colours and
/// other escape sequences are left out, progress that overwrites itself is shown as it ended, very long
/// lines lack their middle. Where something was not kept, a line says how much. With --follow a line is
/// printed when it is finished, and one that is not, such as a question, once it has been still.
/// Whoever has read the whole output of an ended job has been told of its end.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id, the beginning of it, or its name
    id: String,
    /// So many lines: the last ones, or from --offset on; with --grep, so many matches [default: 200]
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<u64>,
    /// From this line on, counted from 1
    #[arg(long, value_name = "LINE", conflicts_with_all = ["bytes", "cursor", "since"])]
    offset: Option<u64>,
    /// These bytes exactly; without TO, to the end
    #[arg(long, value_name = "FROM[:TO]", value_parser = byte_range, conflicts_with_all = ["cursor", "since", "lines", "redact"])]
    bytes: Option<Bytes>,
    /// What is new since an earlier `log --json`, whose next_cursor this is
    #[arg(long, value_name = "TOKEN", value_parser = Cursor::parse, conflicts_with_all = ["since", "lines"])]
    cursor: Option<Cursor>,
    /// Show output from the last DUR
    #[arg(long, value_name = "DUR", value_parser = duration)]
    since: Option<Duration>,
    /// Only lines that match this regular expression (of the whole output, if no part is asked for)
    #[arg(long, value_name = "RE", value_parser = Regex::new, conflicts_with_all = ["follow", "bytes"])]
    grep: Option<Regex>,
    /// Say before each line when it came, to the second
    #[arg(long, conflicts_with = "follow")]
    timestamps: bool,
    /// Then what comes, as it comes, until the job ends
    #[arg(long, short)]
    follow: bool,
    /// What a person would see on its terminal now
    #[arg(long, conflicts_with_all = ["bytes", "lines", "offset", "cursor", "since", "grep", "timestamps", "follow", "raw"])]
    screen: bool,
    /// The bytes as they are (as with --bytes), and nothing for what was not kept
    #[arg(long, conflicts_with = "redact")]
    raw: bool,
    /// At most so much text: its beginning and its end, with a line saying how much lies between
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["raw", "bytes", "follow", "grep", "timestamps"])]
    budget: Option<u64>,
    /// Only look: reading all of it does not count as being told of the end
    #[arg(long)]
    peek: bool,
    #[command(flatten)]
    secrets: Secrets,
}

const DEFAULT_LINES: u64 = 200;

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

impl Args {
    fn part(&self) -> Part {
        let lines = self.lines.unwrap_or(DEFAULT_LINES);
        match (&self.bytes, self.cursor, self.since, self.offset) {
            (Some(Bytes { from, to }), ..) => Part::Bytes {
                from: *from,
                to: *to,
            },
            (None, Some(cursor), ..) => Part::After(cursor),
            (None, None, Some(age), _) => Part::Since {
                age,
                // With --grep it is matches that are counted.
                lines: self.lines.filter(|_| self.grep.is_none()),
            },
            (None, None, None, Some(from)) if self.grep.is_some() => Part::Lines {
                from,
                count: u64::MAX,
            },
            (None, None, None, Some(from)) => Part::Lines { from, count: lines },
            (None, None, None, None) if self.grep.is_some() => Part::Bytes { from: 0, to: None },
            (None, None, None, None) => Part::LastLines(lines),
        }
    }
}

/// What one command prints at most, unless asked otherwise; it is held in memory.
const MOST_TEXT: usize = 64 * 1024 * 1024;
/// Longer lines are for --raw.
const LONGEST_LINE: usize = 16 * 1024;

impl Args {
    /// Whether the bytes are wanted as they are.
    fn is_exact(&self) -> bool {
        self.raw || self.bytes.is_some()
    }

    fn form(&self, log: &Log) -> io::Result<Form> {
        if self.is_exact() {
            return Ok(match self.raw {
                true => Form::Raw,
                false => Form::Exact,
            });
        }
        let live = Live::new(LONGEST_LINE, log.range().start);
        Ok(Form::Plain(Box::new(match self.secrets.redact {
            true => live.redacted(&log.before()?),
            false => live,
        })))
    }

    fn reading(&self) -> Reading {
        match (self.raw, self.secrets.redact) {
            (true, _) => Reading::Raw,
            (false, true) => Reading::Redacted,
            (false, false) => Reading::Plain,
        }
    }

    fn look(&self) -> Look {
        match (self.is_exact(), self.budget) {
            (true, _) => Look::Raw,
            (false, Some(budget)) => Look::Plain(view::Options {
                budget: budget as usize,
                ..view::Options::default()
            }),
            (false, None) => Look::Plain(view::Options {
                budget: MOST_TEXT,
                line_limit: LONGEST_LINE,
            }),
        }
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    if args.screen {
        return screen(context, &id, &args.secrets);
    }
    let log = log::log(&context.outlive, &id, &args.part())?;
    let mut log = match args.secrets.redact {
        true => log.from_line_start()?,
        false => log,
    };
    if log.dropped_bytes() > 0 {
        context.say(&format!(
            "outlive: {} of the output were not kept",
            show_size(log.dropped_bytes())
        ));
    }
    match &args.grep {
        Some(pattern) => {
            let most = args.lines.unwrap_or(DEFAULT_LINES) as usize;
            print_lines(
                context,
                &args,
                &log,
                log.matching(pattern, most, args.reading())?
                    .into_iter()
                    .map(Ok),
            )?;
        }
        None if args.timestamps => print_lines(context, &args, &log, log.lines(args.reading())?)?,
        None if args.follow || (args.is_exact() && !context.json) => {
            print(context, &args, &mut log)?
        }
        None => print_text(context, &args, &log)?,
    }
    let whole = args.grep.is_none() && args.budget.is_none();
    if let (true, Some(job)) = (whole, log.end(&context.outlive, args.follow)?) {
        if job.session.is_some() {
            context.say(&format!("outlive: {}", render::line(&job)));
        }
        if !args.peek {
            context.noted(log.heard(&context.outlive));
        }
    }
    Ok(Exit::Success)
}

fn screen(context: &Context, id: &JobId, secrets: &Secrets) -> Result<Exit, Failure> {
    let screen = match secrets.redact {
        true => log::redacted_screen(&context.outlive, id)?,
        false => log::screen(&context.outlive, id)?,
    };
    match context.json {
        true => context.print_json(&screen)?,
        false => context.print(&screen.text)?,
    }
    Ok(Exit::Success)
}

fn print_text(context: &Context, args: &Args, log: &Log) -> Result<(), Failure> {
    let text = match args.secrets.redact {
        true => log.redacted_text(args.look())?,
        false => log.text(args.look())?,
    };
    if let Some(from) = text.omitted_from_line {
        let (id, count) = (&text.id, text.omitted_lines);
        context.say(&format!(
            "outlive: {count} lines were left out; `outlive log {id} --offset {from} --lines {count}` shows them"
        ));
    }
    match context.json {
        true => context.print_json(&text),
        false => write(text.text.as_bytes()),
    }
}

/// Prints lines with what was asked about each.
fn print_lines(
    context: &Context,
    args: &Args,
    log: &Log,
    lines: impl Iterator<Item = io::Result<Line>>,
) -> Result<(), Failure> {
    for line in lines {
        let line = line?;
        let bytes = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        if context.json {
            context.print_json(&serde_json::json!({
                "line": line.number,
                "from_byte": line.offset,
                "at": log.time_of(&line),
                "text": String::from_utf8_lossy(bytes),
            }))?;
            continue;
        }
        let time = match args.timestamps {
            true => log.time_of(&line).unwrap_or_else(|| "-".to_owned()) + " ",
            false => String::new(),
        };
        write(&[time.as_bytes(), bytes, b"\n"].concat())?;
    }
    Ok(())
}

/// Prints a part, and what comes after it if that was asked for.
fn print(context: &Context, args: &Args, log: &mut Log) -> Result<(), Failure> {
    let mut printer = Printer::new(context, args.form(log)?);
    for piece in log.pieces() {
        match piece? {
            Piece::Bytes { at, bytes } => printer.bytes(at, &bytes)?,
            Piece::Missing(range) => printer.missing(range)?,
        }
    }
    if !args.follow {
        return printer.finish();
    }
    let mut follow = log.follow(&context.outlive)?;
    loop {
        match follow.next_within(printer.patience())? {
            Some(Chunk::Bytes { at, bytes }) => printer.bytes(at, &bytes)?,
            Some(Chunk::Missing(range)) => printer.missing(range)?,
            Some(Chunk::Ended | Chunk::OutOfTime) => return printer.finish(),
            None => printer.still()?,
        }
    }
}
