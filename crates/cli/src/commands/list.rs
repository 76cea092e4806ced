//! `outlive list`

use super::Secrets;
use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use crate::hints;
use crate::render;
use clap::ValueEnum;
use outlive::api::job::JobList;
use outlive::verbs::list::{self, Filter, StateFilter};

/// List running jobs, then the jobs that ended last
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show only jobs of this session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Show only jobs of this task
    #[arg(long, value_name = "KEY")]
    task: Option<String>,
    /// Show only jobs in this state
    #[arg(long, value_enum, default_value_t = State::All)]
    state: State,
    /// Show at most N ended jobs; `all` shows every one
    #[arg(long, value_name = "N", default_value = "20", value_parser = limit)]
    limit: usize,
    /// Show what running jobs use now: processor time, memory, disk and processes
    #[arg(long)]
    usage: bool,
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
        session: label("the session", args.session.as_deref())?,
        task: label("the task", args.task.as_deref())?,
        state: match args.state {
            State::Running => StateFilter::Running,
            State::Ended => StateFilter::Ended,
            State::All => StateFilter::All,
        },
        limit: args.limit,
        usage: args.usage,
    };
    let context = &context.with_secrets(&args.secrets);
    let listing = list::list(&context.outlive, &filter)?;
    for (id, error) in &listing.unreadable {
        let why = hints::with_hint(error);
        context.say(&format!("outlive: cannot show job {id}: {why}"));
    }
    match context.json {
        true => context.print_json(&JobList { jobs: listing.jobs })?,
        false if listing.jobs.is_empty() => context.say("no jobs"),
        false if args.usage => context.print(&render::usage_table(&listing.jobs))?,
        false => context.print(&render::table(&listing.jobs))?,
    }
    Ok(Exit::Success)
}
