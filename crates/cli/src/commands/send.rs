//! `outlive send`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::reply::SendReply;
use outlive::keys::Key;
use outlive::verbs::send::{self, MAX_ID, Send};
use outlive::{Error, WriteId};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;

/// Write to the standard input or the terminal of a job
///
/// The job must have been started with --stdin pipe or --pty. The text is written as it is, then Enter, then
/// the keys, then the end of the input. It arrives once, whole and in order, even if a keeper of the job is
/// killed meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[command(override_usage = "outlive send <ID> [TEXT] [OPTIONS]")]
pub struct Args {
    /// The job to write to: its id, the beginning of its id, or its name
    id: String,
    /// Text to send; `-` sends standard input
    ///
    /// Without TEXT, standard input is sent. With --enter, --key or --eof it is sent only if it is a regular file,
    /// because a pipe may never end.
    text: Option<OsString>,
    /// Press Enter after the text
    #[arg(long)]
    enter: bool,
    /// Press keys after that: C-c, Up, F5, M-x, Tab, Esc, …; repeatable
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = key)]
    key: Vec<Key>,
    /// Send the text as a bracketed paste if the program has asked for that
    #[arg(long)]
    paste: bool,
    /// Then end the job's input
    #[arg(long)]
    eof: bool,
    /// Give this write an id. A second send with the same id writes nothing and says so, so a send can be repeated
    /// safely
    #[arg(long, value_name = "ID", value_parser = write_id)]
    write_id: Option<WriteId>,
}

const EXAMPLES: &str = "\
Examples:
  outlive send repl 'print(1+1)' --enter
  outlive send menu --key Down Down Enter
  outlive send filter --eof <data.txt";

fn key(text: &str) -> Result<Key, String> {
    Key::parse(text).map_err(|error| {
        format!("{error}. If it is the job, put it first: `outlive send {text} --key C-c`")
    })
}

fn write_id(text: &str) -> Result<WriteId, String> {
    match text.len() {
        _ if text.contains('#') => Err("a write id must not contain '#'".to_owned()),
        1..=MAX_ID => WriteId::parse(text).map_err(|error| error.to_string()),
        length => Err(format!(
            "a write id has 1 to {MAX_ID} bytes, but this one has {length}"
        )),
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    let is_only_text = args.key.is_empty() && !args.eof && !args.enter;
    let text = match args.text {
        Some(text) if text == "-" => read_all()?,
        Some(text) => text.into_vec(),
        None if is_only_text => read_all()?,
        None => read_file()?,
    };
    let what = Send {
        text: text.into(),
        paste: args.paste,
        enter: args.enter,
        keys: args.key,
        eof: args.eof,
        write_id: args.write_id,
    };
    let sent = send::send(&context.outlive, &id, &what)?;
    for note in &sent.notes {
        context.say(&format!("outlive: note: {note}"));
    }
    if context.json {
        let repeated = sent.repeated;
        context.print_json(&SendReply {
            id,
            sent: true,
            repeated,
        })?;
    }
    Ok(Exit::Success)
}

fn read_all() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(cannot_read)?;
    Ok(bytes)
}

/// Reads standard input if it is a regular file. A pipe is not read, because the shell of an agent may have one that
/// never ends. If such a pipe has data, this is an error, so that no data is dropped silently.
fn read_file() -> Result<Vec<u8>, Failure> {
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let stdin = stdin.map_err(cannot_read)?;
    let kind = stdin.metadata().map_err(cannot_read)?.file_type();
    if kind.is_file() {
        return read_all();
    }
    let is_pipe = kind.is_fifo() || kind.is_socket();
    match is_pipe && outlive::bytes_ready(&stdin).map_err(cannot_read)? > 0 {
        true => Err(Failure::Usage(UNSENT_INPUT)),
        false => Ok(Vec::new()),
    }
}

const UNSENT_INPUT: &str = "standard input has data, but nothing was sent: without TEXT, --enter, --key and --eof do \
     not read a pipe. Give `-` to send that data, or redirect from /dev/null to send only the keys";

fn cannot_read(source: io::Error) -> Error {
    Error::Io {
        what: "cannot read",
        path: "standard input".into(),
        source,
    }
}
