//! `watch`: changes what a running job is watched for, and which ends it reports.

use super::{Hints, Verb, run};
use crate::answer::recognisable;
use crate::call::Call;
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::verbs::watch;
use outlive::{ChangeWatch, Job, Notify, Watch as Watched};
use outlive_api::brief::Detail;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Watch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The job: id or name
    id: String,
    /// Also report lines that contain one of these texts
    #[serde(default)]
    watch: Vec<String>,
    /// Also report lines that match one of these regular expressions
    #[serde(default)]
    watch_regex: Vec<String>,
    /// Do not report lines that contain one of these texts
    #[serde(default)]
    watch_not: Vec<String>,
    /// Drop these patterns; `*` drops all
    #[serde(default)]
    drop: Vec<String>,
    /// Stop reporting after this many more lines; 0: never
    watch_limit: Option<u64>,
    /// Look for the new patterns in earlier output too
    #[serde(default)]
    look_back: bool,
    /// Which ends to report
    notify: Option<Notify>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    job: Job,
    /// What is watched for now
    #[serde(skip_serializing_if = "Option::is_none")]
    watch: Option<Watched>,
}

/// The word that drops every pattern.
const ALL: &str = "*";

impl Verb for Watch {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "watch";
    const TITLE: &'static str = "Change what a job reports";
    const DESCRIPTION: &'static str = "\
Change what a running job reports: output lines, and which ends. What you leave out stays as it was started.";
    const HINTS: Hints = Hints::Adds;
    const DETAIL: Detail = Detail::Line;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let id = call.find(&args.id)?;
        let asked = ChangeWatch {
            add: run::watched(args.watch, args.watch_regex, args.watch_not),
            drop_all: args.drop.iter().any(|text| text == ALL),
            drop: args.drop,
            limit: args.watch_limit,
            notify: args.notify,
            look_back: args.look_back.then_some(u64::MAX),
        };
        let job = watch::watch(&call.outlive, &id, &asked)?;
        let watch = job.details.watch.clone();
        let text = format!("{}\n{}", words::line(&job), said(watch.as_ref()));
        let job = recognisable(call, &job);
        Ok(Reply::new(text, Answer { job, watch }))
    }
}

fn said(watch: Option<&Watched>) -> String {
    let patterns = watch.iter().flat_map(|watch| &watch.patterns);
    let sources: Vec<String> = patterns
        .map(|pattern| match pattern.is_inverted() {
            true => format!("not {:?}", pattern.source()),
            false => format!("{:?}", pattern.source()),
        })
        .collect();
    match sources.is_empty() {
        true => "No output lines are reported.".to_owned(),
        false => format!("Lines are reported by: {}", sources.join(", ")),
    }
}
