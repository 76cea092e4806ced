//! Selecting jobs without naming them: the options that `list`, `wait`, `stop`, `signal` and `prune` share.

use crate::context::{Context, label};
use crate::exit::Failure;
use outlive::verbs::list;
use outlive::{JobId, LabelFilter, Selector};
use std::collections::HashSet;

/// Which jobs. With several options, all must hold.
#[derive(Debug, Default, clap::Args)]
pub struct Select {
    /// Select the jobs of this session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Select the jobs of this task
    #[arg(long, value_name = "KEY")]
    task: Option<String>,
    /// Select the jobs with this label, or with this value for it; repeatable
    #[arg(long, value_name = "K[=V]", value_parser = LabelFilter::parse)]
    label: Vec<LabelFilter>,
    /// Select the jobs of this place, as it was named at their start; `local` is here
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
}

impl Select {
    /// What the options select; every job if none was given.
    pub fn selector(self) -> Result<Selector, Failure> {
        Ok(Selector {
            session: label("the session", self.session.as_deref())?,
            task: label("the task", self.task.as_deref())?,
            labels: self.label,
            place: self.place,
        })
    }

    fn is_given(&self) -> bool {
        let marks = self.session.is_some() || self.task.is_some() || !self.label.is_empty();
        marks || self.place.is_some()
    }

    /// The jobs with these ids or names, or those that run and are selected. `None` if neither was given.
    pub fn jobs(self, context: &Context, ids: &[String]) -> Result<Option<Vec<JobId>>, Failure> {
        const BOTH: &str =
            "give jobs, or select them with --session, --task, --label and --place, not both";
        match (self.is_given(), ids) {
            (true, []) => {
                let select = self.selector()?;
                Ok(Some(list::running(&context.outlive, &select)?))
            }
            (true, _) => Err(Failure::Usage(BOTH)),
            (false, []) => Ok(None),
            (false, ids) => Ok(Some(each_once(context.find_all(ids)?))),
        }
    }
}

/// The same with `--all`, for verbs that do something to jobs. Nothing is selected unless it was asked for.
#[derive(Debug, Default, clap::Args)]
pub struct SelectOrAll {
    #[command(flatten)]
    select: Select,
    /// Select all running jobs, of every session
    #[arg(long, conflicts_with_all = ["session", "task", "label", "place"])]
    all: bool,
}

/// Jobs, and how they were found.
#[derive(Debug)]
pub enum Found {
    Named(Vec<JobId>),
    /// By options. There may be none.
    Selected(Vec<JobId>),
}

impl SelectOrAll {
    /// Whether jobs are selected by options.
    pub fn is_given(&self) -> bool {
        self.all || self.select.is_given()
    }

    /// The jobs with these ids or names, or those that are selected.
    pub fn jobs(self, context: &Context, ids: &[String]) -> Result<Found, Failure> {
        const NEITHER: &str =
            "name the jobs, or select them with --session, --task, --label, --place or --all";
        const BOTH: &str = "give jobs or --all, not both";
        if self.all {
            return match ids {
                [] => {
                    let every = Selector::default();
                    Ok(Found::Selected(list::running(&context.outlive, &every)?))
                }
                _ => Err(Failure::Usage(BOTH)),
            };
        }
        let is_given = self.select.is_given();
        match (self.select.jobs(context, ids)?, is_given) {
            (Some(ids), true) => Ok(Found::Selected(ids)),
            (Some(ids), false) => Ok(Found::Named(ids)),
            (None, _) => Err(Failure::Usage(NEITHER)),
        }
    }
}

impl Found {
    /// The jobs. Says if the options have selected none.
    pub fn ids(self, context: &Context) -> Vec<JobId> {
        if matches!(&self, Found::Selected(ids) if ids.is_empty()) {
            context.say("outlive: no running job is selected");
        }
        self.into_ids()
    }

    pub fn into_ids(self) -> Vec<JobId> {
        match self {
            Found::Named(ids) | Found::Selected(ids) => ids,
        }
    }
}

/// A job that was named twice is meant once.
fn each_once(mut ids: Vec<JobId>) -> Vec<JobId> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}
