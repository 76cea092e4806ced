//! `outlive send`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::WriteId;
use outlive::keys::Key;
use outlive::verbs::send::{self, MAX_ID, Send};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;

/// Write to a job's input: the text as it is, then keys, then its end
///
/// For jobs started with --stdin pipe or --pty. Arrives once, whole and in order, also when the job's
/// keeper is replaced meanwhile.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id, the beginning of it, or its name
    id: String,
    /// What to write [default: what this process reads, unless keys or --eof are all that is sent]
    text: Option<OsString>,
    /// Press Enter after it
    #[arg(long)]
    enter: bool,
    /// Press keys after it: C-c, Up, F5, M-x, Tab, Esc, …; repeatable
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = Key::parse)]
    key: Vec<Key>,
    /// Paste it: a program that asked to be told is
    #[arg(long)]
    paste: bool,
    /// Then end the input
    #[arg(long)]
    eof: bool,
    /// A second send with this id writes nothing and says so, so a send can be repeated safely
    #[arg(long, value_name = "ID", value_parser = write_id)]
    write_id: Option<WriteId>,
}

fn write_id(text: &str) -> Result<WriteId, String> {
    match text.len() {
        _ if text.contains('#') => Err("a write id holds no '#'".to_owned()),
        1..=MAX_ID => WriteId::parse(text).map_err(|error| error.to_string()),
        length => Err(format!(
            "a write id has 1 to {MAX_ID} bytes, this one has {length}"
        )),
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    let nothing_else = args.key.is_empty() && !args.eof && !args.enter;
    let text = match args.text {
        Some(text) => text.into_vec(),
        None if nothing_else => read_all()?,
        None => Vec::new(),
    };
    let what = Send {
        text,
        paste: args.paste,
        enter: args.enter,
        keys: args.key,
        eof: args.eof,
        id: args.write_id,
    };
    let sent = send::send(&context.outlive, &id, &what)?;
    for note in &sent.notes {
        context.say(&format!("outlive: note: {note}"));
    }
    if context.json {
        let repeated = sent.repeated;
        context.print_json(&serde_json::json!({ "id": id, "sent": true, "repeated": repeated }))?;
    }
    Ok(Exit::Success)
}

fn read_all() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
