//! `outlive list`

use super::select::Select;
use super::{Secrets, duration};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::hints;
use crate::render;
use clap::ValueEnum;
use outlive::api::job::{JobList, JobView, JobViews};
use outlive::verbs::list::{self, Filter, StateFilter};
use outlive::verbs::show::{self, Show};
use std::time::Duration;

/// List running jobs, then the jobs that ended last
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    select: Select,
    /// Show only jobs in this state
    #[arg(long, value_enum, default_value_t = State::All)]
    state: State,
    /// Show at most N ended jobs; `all` shows every one
    #[arg(long, value_name = "N", default_value = "20", value_parser = limit)]
    limit: usize,
    /// Show every job: the same as --limit all
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Show only jobs that ended longer ago than this, and running ones that were started longer ago
    #[arg(long, value_name = "DUR", value_parser = duration)]
    older_than: Option<Duration>,
    /// Show the last lines of output of each job, too [default: 5]
    #[arg(long, value_name = "LINES", num_args = 0..=1, require_equals = true)]
    preview: Option<Option<u64>>,
    /// Show what running jobs use now: processor time, memory, disk and processes
    #[arg(long)]
    usage: bool,
    /// Wait until each place has told how its jobs are. Without this, places have 0.3 s to answer, and what is older is
    /// shown with its age
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    secrets: Secrets,
}

/// For clap: the number of ended jobs to show.
fn limit(text: &str) -> Result<usize, &'static str> {
    match text {
        "all" => Ok(usize::MAX),
        number => number.parse().map_err(|_| "give a number, or `all`"),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    Running,
    Ended,
    All,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let filter = Filter {
        select: args.select.selector()?,
        state: match args.state {
            State::Running => StateFilter::Running,
            State::Ended => StateFilter::Ended,
            State::All => StateFilter::All,
        },
        limit: match args.all {
            true => usize::MAX,
            false => args.limit,
        },
        older_than: args.older_than,
        usage: args.usage,
        fresh: args.fresh,
    };
    let context = &context.with_secrets(&args.secrets);
    let listing = list::list(&context.outlive, &filter)?;
    for (id, error) in &listing.unreadable {
        let why = hints::with_hint(error);
        context.say(&format!("outlive: cannot show job {id}: {why}"));
    }
    if let Some(lines) = args.preview {
        let asked = Show {
            preview_lines: lines.unwrap_or(PREVIEW_LINES),
        };
        return print_views(context, show::views(&context.outlive, listing.jobs, asked)?);
    }
    match context.json {
        true => context.print_json(&JobList { jobs: listing.jobs })?,
        false if listing.jobs.is_empty() => context.say("no jobs"),
        false if args.usage => context.print(&render::usage_table(&listing.jobs))?,
        false => context.print(&render::table(&listing.jobs))?,
    }
    Ok(Exit::Success)
}

/// How many lines of output a job in a list has, unless asked otherwise.
const PREVIEW_LINES: u64 = 5;

fn print_views(context: &Context, jobs: Vec<JobView>) -> Result<Exit, Failure> {
    match context.json {
        true => context.print_json(&JobViews { jobs })?,
        false if jobs.is_empty() => context.say("no jobs"),
        false => context.print(&render::table_with_previews(&jobs))?,
    }
    Ok(Exit::Success)
}
