//! `outlive log`

mod printing;

use super::{Secrets, duration, size};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::{json, render};
use outlive::api::log::LogLine;
use outlive::api::request::{self, LogForm};
use outlive::defaults;
use outlive::units::show_size;
use outlive::verbs::log::{self, Log, Part};
use outlive::view;
use outlive::{
    Chunk, Cursor, JobId, Line, LinePattern, Look, Piece, Reading, Stream, agree, count,
};
use printing::{Form, Printer, write};
use std::io;
use std::time::Duration;

/// Print the output of a job: the last 200 lines, or the part that you ask for
///
/// The output is shown as text: colours and other escape sequences are removed, a progress bar is shown
/// as it ended, and a very long line may lack its middle. --raw prints every byte as it is.
///
/// If some of the output was not kept, stderr says how much, and a line in the text says where. With --grep or
/// --timestamps there is no such line. The lines before and after the gap may be incomplete, so these two options
/// do not print them.
///
/// With --follow, a line is printed when it is complete. An incomplete line, such as a question, is printed
/// when the job has written nothing more for a moment.
///
/// If the job's own session reads its whole output after it has ended, the inbox does not report that end
/// again. With --peek, --grep, --budget, --stdout or --stderr the inbox still reports it.
///
/// The time that `log` takes depends on what it prints, not on the size of the output, except with --grep.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The job to read: its id, the beginning of its id, or its name
    id: String,
    /// Show the last N lines; with --offset, N lines from there on [default: 200; with --since, all]. With --grep,
    /// show the last N matches [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<u64>,
    /// Start at this line, counted from 1
    #[arg(long, value_name = "LINE", conflicts_with_all = ["bytes", "cursor", "since"])]
    offset: Option<u64>,
    /// Show exactly the bytes from FROM up to TO, without TO itself, counted from 0 [default for TO: the end]
    #[arg(long, value_name = "FROM[:TO]", value_parser = byte_range, conflicts_with_all = ["cursor", "since", "lines", "redact"])]
    bytes: Option<Bytes>,
    /// Show what is new since an earlier `log --json`: TOKEN is its next_cursor
    #[arg(long, value_name = "TOKEN", value_parser = Cursor::parse, conflicts_with_all = ["since", "lines"])]
    cursor: Option<Cursor>,
    /// Show output from the last DUR, to within about a second
    #[arg(long, value_name = "DUR", value_parser = duration)]
    since: Option<Duration>,
    /// Show what attempt N of a job with `run --restart` wrote [default: the whole output]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["bytes", "cursor", "since", "offset", "follow", "screen"])]
    attempt: Option<u32>,
    /// Show only what the job wrote to its standard output (see `run --streams`). Lines, bytes and cursors count as in
    /// the whole output
    #[arg(long, conflicts_with_all = ["stderr", "screen"])]
    stdout: bool,
    /// Show only what the job wrote to its standard error
    #[arg(long, conflicts_with = "screen")]
    stderr: bool,
    /// Show only lines that match this regular expression. Searches the whole output as it is shown as text, or the
    /// part that --offset, --cursor or --since selects
    #[arg(long, value_name = "RE", value_parser = LinePattern::new, conflicts_with_all = ["follow", "bytes"])]
    grep: Option<LinePattern>,
    /// Show before each line when it was written, to within about a second; `-` if that is not known yet
    #[arg(long, conflicts_with = "follow")]
    timestamps: bool,
    /// Then print new output as it comes, until the job ends
    #[arg(long, short)]
    follow: bool,
    /// Show the screen of the job's terminal as it is now
    #[arg(long, conflicts_with_all = ["bytes", "lines", "offset", "cursor", "since", "grep", "timestamps", "follow", "raw"])]
    screen: bool,
    /// Print the bytes as they are, and nothing in place of output that was not kept
    #[arg(long, conflicts_with = "redact")]
    raw: bool,
    /// Show at most this much text: the beginning and the end, or only the end if no more fits, and a line that
    /// says how much was left out
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with_all = ["raw", "bytes", "follow", "grep", "timestamps"])]
    budget: Option<u64>,
    /// Only look: the inbox still reports the end of the job
    #[arg(long)]
    peek: bool,
    #[command(flatten)]
    secrets: Secrets,
}

const EXAMPLES: &str = "\
Examples:
  outlive log build                        the last 200 lines
  outlive log build --follow               and then new lines until the job ends
  outlive log build --grep 'error|FAILED'  the lines that match
  outlive log build --offset 1 -n 50       the first 50 lines
  outlive log build --since 5m             what it wrote in the last 5 minutes";

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
        if let Some(number) = self.attempt {
            let lines = self.lines.filter(|_| self.grep.is_none());
            return Part::Attempt { number, lines };
        }
        let lines = self.lines.unwrap_or(defaults::LOG_LINES);
        match (&self.bytes, self.cursor, self.since, self.offset) {
            (Some(Bytes { from, to }), ..) => Part::Bytes {
                from: *from,
                to: *to,
            },
            (None, Some(cursor), ..) => Part::After(cursor),
            (None, None, Some(age), _) => Part::Since {
                age,
                // With --grep, --lines counts matches.
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

impl Args {
    /// Whether no option selects a part of the output.
    fn is_default_part(&self) -> bool {
        self.lines.is_none() && matches!(self.part(), Part::LastLines(_))
    }

    /// Whether the exact bytes are printed.
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
        Ok(Form::Plain(Box::new(log.live(defaults::MAX_LOG_LINE)?)))
    }

    /// What the verb is asked.
    fn request(&self, context: &Context) -> request::Log {
        let is_listed = self.grep.is_some() || self.timestamps;
        let is_streamed = self.follow || (self.is_exact() && !context.json);
        let form = match (self.screen, is_listed, is_streamed) {
            (true, ..) => LogForm::Screen,
            (_, true, _) => LogForm::Lines {
                raw: self.raw,
                matching: self.grep.as_ref().map(|grep| grep.source().to_owned()),
                last: self.lines.filter(|_| self.grep.is_some()),
            },
            (.., true) => LogForm::Pieces {
                raw: self.is_exact(),
                follow: self.follow,
            },
            _ => LogForm::Page {
                raw: self.is_exact(),
                budget: self.budget,
            },
        };
        request::Log {
            part: self.part(),
            form,
            stream: match (self.stdout, self.stderr) {
                (true, _) => Some(Stream::Stdout),
                (_, true) => Some(Stream::Stderr),
                (false, false) => None,
            },
        }
    }
}

fn reading(raw: bool) -> Reading {
    match raw {
        true => Reading::Raw,
        false => Reading::Plain,
    }
}

fn look(raw: bool, budget: Option<u64>) -> Look {
    match (raw, budget) {
        (true, _) => Look::Raw,
        (false, Some(budget)) => Look::Plain(view::Options {
            budget: budget as usize,
            ..view::Options::default()
        }),
        (false, None) => Look::Plain(view::Options {
            budget: defaults::MAX_LOG_TEXT,
            line_limit: defaults::MAX_LOG_LINE,
        }),
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let context = &context
        .with_secrets(&args.secrets)
        .only_looking_if(args.peek);
    let id = context.find(&args.id)?;
    let request::Log { part, form, stream } = args.request(context);
    if form == LogForm::Screen {
        return screen(context, &id);
    }
    let mut log = log::log_of(&context.outlive, &id, &part, stream)?;
    if let Some(why) = log.not_captured() {
        context.say(&format!("outlive: {why}"));
    }
    if context.json {
        log = log.telling_streams()?;
    }
    if log.dropped_bytes() > 0 {
        context.say(&format!(
            "outlive: {} of the output was not kept",
            show_size(log.dropped_bytes())
        ));
    }
    match (form, &args.grep) {
        (LogForm::Lines { raw, last, .. }, Some(pattern)) => {
            print_matches(context, &args, &log, pattern, reading(raw), last)?;
        }
        (LogForm::Lines { raw, .. }, None) => {
            for line in log.lines(reading(raw))? {
                print_lines(context, &args, &log, &[line?])?;
            }
        }
        (LogForm::Pieces { .. }, _) => {
            say_what_is_before(context, &args, &log);
            print(context, &args, &mut log)?;
        }
        (LogForm::Page { raw, budget }, _) => {
            print_text(context, &args, &log, look(raw, budget))?;
        }
        (LogForm::Screen, _) => {}
    }
    let whole = args.grep.is_none() && args.budget.is_none();
    if let (true, Some(job)) = (whole, log.end(&context.outlive, args.follow)?) {
        if job.session.is_some() {
            context.say(&format!("outlive: {}", render::line(&job)));
        }
        context.noted(log.receipt(&context.outlive).told());
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

/// Exact bytes are often redirected to a file, so a part must not be taken for the whole.
fn say_what_is_before(context: &Context, args: &Args, log: &Log) {
    if args.raw && args.is_default_part() && log.range().start > 0 {
        context.say(&format!(
            "outlive: showing the last {} lines; --bytes 0 shows all bytes",
            defaults::LOG_LINES
        ));
    }
}

fn print_text(context: &Context, args: &Args, log: &Log, look: Look) -> Result<(), Failure> {
    let text = log.text(look)?;
    if !context.json && args.is_default_part() && text.position.from_line > 1 {
        context.say(&format!(
            "outlive: showing the last {} of {}; --lines N shows more",
            text.position.to_line + 1 - text.position.from_line,
            count(text.position.total_lines, "line")
        ));
    }
    if let Some(from) = text.omitted.from_line {
        let (id, omitted) = (&text.id, text.omitted.lines);
        context.say(&format!(
            "outlive: {} {} left out; `outlive log {id} --offset {from} --lines {omitted}` shows {}",
            count(omitted, "line"),
            agree(omitted, "was", "were"),
            agree(omitted, "it", "them")
        ));
    }
    match context.json {
        true => context.print_json(&text),
        false => write(text.text.as_bytes()),
    }
}

/// Prints each match as soon as it is found. With --lines, prints only the last matches.
fn print_matches(
    context: &Context,
    args: &Args,
    log: &Log,
    pattern: &LinePattern,
    reading: Reading,
    last: Option<u64>,
) -> Result<(), Failure> {
    if let Some(most) = last {
        let last = log.matching(pattern, most as usize, reading)?;
        return print_lines(context, args, log, &last);
    }
    for found in log.search(pattern, reading)? {
        print_lines(context, args, log, &found?)?;
    }
    Ok(())
}

/// Prints lines in one write, as JSON or with timestamps if that was asked for.
fn print_lines(context: &Context, args: &Args, log: &Log, lines: &[Line]) -> Result<(), Failure> {
    let mut printed = Vec::new();
    for line in lines {
        let bytes = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        if context.json {
            let line = json::line(&LogLine {
                line: line.number,
                from_byte: line.offset,
                at: log.time_of(line),
                stream: log.stream_at(line.offset),
                text: String::from_utf8_lossy(bytes).into_owned(),
            })?;
            printed.extend(line.into_bytes());
            continue;
        }
        if args.timestamps {
            let time = log.time_of(line);
            let time = time.map_or_else(|| "-".to_owned(), |time| time.to_string());
            printed.extend(time.into_bytes());
            printed.push(b' ');
        }
        printed.extend(bytes);
        printed.push(b'\n');
    }
    write(&printed)
}

/// Prints the selected part, and with --follow the new output after it.
fn print(context: &Context, args: &Args, log: &mut Log) -> Result<(), Failure> {
    let mut printer = Printer::new(context, args.form(log)?);
    let pieces: Box<dyn Iterator<Item = io::Result<Piece>>> = match printer.live() {
        Some(live) => Box::new(log.pieces_for(live)),
        None => Box::new(log.pieces()?),
    };
    for piece in pieces {
        match piece? {
            Piece::Bytes { at, bytes, stream } => printer.bytes(at, &bytes, stream)?,
            Piece::Missing(range) => printer.missing(range)?,
        }
    }
    if !args.follow {
        return printer.finish();
    }
    let mut follow = match printer.live() {
        Some(live) => log.follow_for(&context.outlive, live)?,
        None => log.follow(&context.outlive)?,
    };
    loop {
        match follow.next_within(printer.patience())? {
            Some(Chunk::Bytes { at, bytes, stream }) => printer.bytes(at, &bytes, stream)?,
            Some(Chunk::Missing(range)) => printer.missing(range)?,
            Some(Chunk::Ended | Chunk::OutOfTime) => return printer.finish(),
            None => printer.still()?,
        }
    }
}
