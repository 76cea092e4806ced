//! `outlive prune`

use super::select::Select;
use super::{duration, size};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::reply::PruneReply;
use outlive::units::show_size;
use outlive::verbs::prune;
use outlive::{agree, count};
use std::time::Duration;

/// Remove ended jobs, by default those that ended more than 7 days ago
///
/// Removes each job for which at least one of the other options holds. With --session, --task or --label, only
/// jobs that these select; alone, they remove all of those that have ended. Never removes a job that still has a
/// running process. Keeps a job for up to 30 days if its session has not been told of its end or of another event;
/// --force removes it anyway.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    select: Select,
    /// Remove jobs that ended longer ago than this
    #[arg(long, value_name = "DUR", value_parser = duration)]
    older_than: Option<Duration>,
    /// Remove all but the newest N
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Remove the oldest jobs until the rest takes at most this much space
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Remove all jobs that have ended
    #[arg(long)]
    all: bool,
    /// Also remove jobs whose session has not been told yet, and job directories that cannot be read
    #[arg(long)]
    force: bool,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let asked = prune::Prune {
        select: args.select.selector()?,
        older_than: args.older_than,
        keep: args.keep,
        max_size: args.max_size,
        all: args.all,
        force: args.force,
    };
    let pruned = prune::prune(&context.outlive, &asked)?;
    let untold = pruned.untold.len() as u64;
    if untold > 0 {
        context.say(&format!(
            "outlive: kept {} whose session has not been told of the end yet, or for which somebody waits (--force removes {})",
            count(untold, "job"),
            agree(untold, "it", "them")
        ));
    }
    for id in &pruned.busy {
        context.say(&format!(
            "outlive: kept {id}: its keeper is still running; try again later"
        ));
    }
    for id in &pruned.ringing {
        context.say(&format!(
            "outlive: kept {id}: its doorbell is still being rung; `outlive stop {id}` ends that"
        ));
    }
    for (id, why) in &pruned.failed {
        context.say_error(&format!("outlive: {id} was not removed: {why}"));
    }
    for (path, why) in &pruned.left_behind {
        let path = path.display();
        context.say_error(&format!(
            "outlive: cannot delete {path}, which belonged to a removed job: {why}; delete it by hand"
        ));
    }
    if let Some(why) = &pruned.unfinished {
        context.say_error(&format!("outlive: some remains were not cleaned up: {why}"));
    }
    for event in &pruned.dropped {
        context.say(&format!(
            "outlive: the event {event} was never delivered, and is gone with its job"
        ));
    }
    for (id, why) in &pruned.unreadable {
        let hint = match args.force {
            true => "it may be running",
            false => "--force removes it, unless it may be running",
        };
        context.say(&format!("outlive: kept {id}: {why} ({hint})"));
    }
    let is_whole =
        pruned.failed.is_empty() && pruned.left_behind.is_empty() && pruned.unfinished.is_none();
    match context.json {
        true => context.print_json(&PruneReply::from(pruned))?,
        false => context.print(&format!(
            "removed {}, freed {}",
            count(pruned.removed.len() as u64, "job"),
            show_size(pruned.freed_bytes)
        ))?,
    }
    Ok(match is_whole {
        true => Exit::Success,
        false => Exit::Unknown,
    })
}
