//! The text of events about places.

use outlive_api::event_data;
use outlive_core::next_step::Reader;
use outlive_core::post::Post;
use outlive_core::quote::{self, MAX_WORD};
use outlive_core::words::count;
use outlive_core::{JobId, Timestamp};

/// So many jobs are named.
const MAX_NAMED: usize = 5;

/// A place is not reached.
pub fn unreachable(post: &Post, reader: Reader) -> String {
    let Ok(data) = serde_json::from_value::<event_data::Unreachable>(post.data.clone()) else {
        return "A place where jobs of this session run is not reached.".to_owned();
    };
    let place = quote::word(&data.place, MAX_WORD);
    format!(
        "{place} has not been reached since {} ({}). {} there; nothing is known of what became of {} since. You will be told when it is reached again.{}",
        data.since,
        quote::line(&data.reason),
        ran(&data.jobs, "runs", "run"),
        them(&data.jobs),
        look(&data.jobs, reader),
    )
}

/// A place is reached again.
pub fn reached(post: &Post, reader: Reader) -> String {
    let Ok(data) = serde_json::from_value::<event_data::Reached>(post.data.clone()) else {
        return "A place where jobs of this session ran is reached again.".to_owned();
    };
    let place = quote::word(&data.place, MAX_WORD);
    let (since, again): (Timestamp, Timestamp) = (data.since, post.at.timestamp());
    format!(
        "{place} is reached again. It was not reached from {since} to {again}. {} there; if {} ended meanwhile, you are told that, too.{}",
        ran(&data.jobs, "ran", "ran"),
        it(&data.jobs),
        look(&data.jobs, reader),
    )
}

fn ran(jobs: &[JobId], one: &str, several: &str) -> String {
    match jobs {
        [job] => format!("Job {job} {one}"),
        jobs => {
            let named: Vec<String> = jobs
                .iter()
                .take(MAX_NAMED)
                .map(ToString::to_string)
                .collect();
            let more = match jobs.len() > MAX_NAMED {
                true => ", …",
                false => "",
            };
            let all = count(jobs.len() as u64, "job");
            format!("{all} ({}{more}) {several}", named.join(", "))
        }
    }
}

fn them(jobs: &[JobId]) -> &'static str {
    match jobs {
        [_] => "it",
        _ => "them",
    }
}

fn it(jobs: &[JobId]) -> &'static str {
    match jobs {
        [_] => "it",
        _ => "one of them",
    }
}

fn look(jobs: &[JobId], reader: Reader) -> String {
    match jobs {
        [job, ..] => format!("\nLook: {}", reader.show(job)),
        [] => String::new(),
    }
}
