//! `outlive post`

use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use clap::ValueEnum;
use outlive::JobId;
use outlive::api::reply::PostReply;
use outlive::inbox::EventKind;
use outlive::verbs::post::{self, Posted};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Put finished work from elsewhere (a delegation) into a session's inbox
///
/// The file holds one JSON object with everything that the session should be told. Known keys are `goal`,
/// `context`, `role`, `status` (`done`, `failed`, or a word of your own), `summary`, `result` or `output`,
/// `error`, and `duration_ms` or `duration_seconds`.
///
/// For a batch, `results` holds one such object per task, in order or numbered by `task_index` (0, 1, …), and
/// `goals` says what each task had to do. Other keys are shown as they are. A number whose key ends in
/// `_ms` or `_seconds` is shown as a duration, and one whose key ends in `_at` as a date and time.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Post to this session [default: $OUTLIVE_SESSION, else the agent's own session]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Task that the work belongs to
    #[arg(long, value_name = "KEY")]
    task: Option<String>,
    /// What kind of event this is
    #[arg(long, value_enum, default_value_t = KindArg::Delegation)]
    kind: KindArg,
    /// Choose the id. A second post with the same id changes nothing, so a post can be repeated safely
    #[arg(long)]
    id: Option<String>,
    /// File with the JSON object, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindArg {
    Delegation,
}

/// Large enough for a report. A longer result belongs in a file that the post names.
const MAX_POST_BYTES: u64 = 4 * 1024 * 1024;

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let session = context.session(args.session.as_deref())?;
    let asked = post::NewPost {
        session: session.ok_or(outlive::Error::NoSession)?,
        task: label("the task", args.task.as_deref())?,
        kind: match args.kind {
            KindArg::Delegation => EventKind::Delegation,
        },
        data: read(&args.file)?,
        id: args
            .id
            .as_deref()
            .map(JobId::parse)
            .transpose()
            .map_err(outlive::Error::from)?,
    };
    let (event, posted) = post::post(&context.outlive, asked)?;
    if posted == Posted::Already {
        context.say("outlive: this was posted before; nothing was changed");
    }
    match context.json {
        true => context.print_json(&PostReply {
            event,
            posted: posted == Posted::Now,
        })?,
        false => context.print(&event.to_string())?,
    }
    Ok(Exit::Success)
}

fn read(path: &Path) -> Result<Value, Failure> {
    let bad = |reason: String| outlive::Error::BadPost {
        path: path.to_owned(),
        reason,
    };
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin()
            .lock()
            .take(MAX_POST_BYTES + 1)
            .read_to_end(&mut bytes),
        false => std::fs::File::open(path)
            .and_then(|file| file.take(MAX_POST_BYTES + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|error| bad(error.to_string()))?;
    if bytes.len() as u64 > MAX_POST_BYTES {
        return Err(bad(format!(
            "it is larger than {MAX_POST_BYTES} bytes; post a summary"
        ))
        .into());
    }
    match serde_json::from_slice(&bytes) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(bad("it is not a JSON object".to_owned()).into()),
        Err(error) => Err(bad(format!("it is not JSON: {error}")).into()),
    }
}
