//! `outlive watch`

use super::size;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use outlive::api::job::JobList;
use outlive::verbs::watch;
use outlive::{ChangeWatch, Notify, Pattern};

/// Change what a running job is watched for, and which ends it reports
///
/// What is not mentioned stays as it is. The change survives the death of any process of Outlive. A watch that
/// turned itself off, or reached its limit, begins again when a pattern is given. With nothing to change, the
/// job's watch is shown.
///
/// The events go to the session of the job, as with `run --watch`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The job: its id, the beginning of its id, or its name
    id: String,
    /// Report lines that contain this text, too
    #[arg(value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    texts: Vec<String>,
    /// Report lines that match this regular expression, too; repeatable
    #[arg(long, value_name = "RE", value_parser = NonEmptyStringValueParser::new())]
    regex: Vec<String>,
    /// Do not report lines that contain TEXT; repeatable
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    not: Vec<String>,
    /// Do not report lines that match this regular expression; repeatable
    #[arg(long, value_name = "RE", value_parser = NonEmptyStringValueParser::new())]
    not_regex: Vec<String>,
    /// Drop the patterns with this text, of whatever kind; repeatable
    #[arg(long, value_name = "TEXT")]
    drop: Vec<String>,
    /// Drop all patterns that were given before
    #[arg(long)]
    drop_all: bool,
    /// Stop watching after N more matches; 0 means never
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Which kind of end to report to the session
    #[arg(long, value_enum)]
    notify: Option<NotifyArg>,
    /// Look for the given patterns also in the output that is kept, or in its last SIZE; what is found is one event
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, value_parser = size)]
    look_back: Option<Option<u64>>,
}

const EXAMPLES: &str = "\
Examples:
  outlive watch build ERROR --look-back       lines with ERROR, also those that were printed before
  outlive watch build --drop ERROR            no more
  outlive watch build --drop-all --regex '^test .* FAILED'
  outlive watch build --notify failure        its success need not be reported";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NotifyArg {
    /// Report every end
    End,
    /// Report the end unless the job succeeded
    Failure,
    /// Do not report the end
    Never,
}

impl Args {
    fn request(self) -> ChangeWatch {
        let texts = self.texts.into_iter().map(Pattern::Text);
        let regexes = self.regex.into_iter().map(Pattern::Regex);
        let not_texts = self.not.into_iter().map(Pattern::NotText);
        let not_regexes = self.not_regex.into_iter().map(Pattern::NotRegex);
        let add = texts.chain(regexes).chain(not_texts).chain(not_regexes);
        ChangeWatch {
            add: add.collect(),
            drop: self.drop,
            drop_all: self.drop_all,
            limit: self.limit,
            notify: self.notify.map(|notify| match notify {
                NotifyArg::End => Notify::End,
                NotifyArg::Failure => Notify::Failure,
                NotifyArg::Never => Notify::Never,
            }),
            look_back: self.look_back.map(|size| size.unwrap_or(u64::MAX)),
        }
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    let job = watch::watch(&context.outlive, &id, &args.request())?;
    match context.json {
        true => context.print_json(&JobList { jobs: vec![job] })?,
        false => context.print(&render::watch(&job))?,
    }
    Ok(Exit::Success)
}
