//! The list of jobs, and what waits in inboxes.

use super::Cut;
use super::flow::Flow;
use super::message::{OfJobs, OfSessions};
use crate::events::Inboxes;
use crate::hub::{News, Watcher};
use crate::server::{Desk, on_a_thread};
use crate::visit::Visit;
use outlive::JobId;
use outlive::listening::{self, Change, Changes, Scope};
use outlive_api::rpc::JobChange;
use std::sync::Arc;

/// So many changes are one part, so that a long list comes at once.
const AT_ONCE: usize = 100;

pub async fn follow(
    desk: &Arc<Desk>,
    visit: Visit,
    asked: OfJobs,
    mut flow: Flow,
) -> Result<(), Cut> {
    let watcher = desk.hub.watcher();
    watcher.want_home();
    let outlive = visit.outlive.clone();
    let mut changes = Changes::new(&outlive, asked.select, asked.ended);
    changes = on_a_thread(move || {
        changes.begin()?;
        Ok(changes)
    })
    .await?;
    loop {
        listen(&watcher, &mut changes, []);
        loop {
            let mut part = Vec::new();
            while part.len() < AT_ONCE
                && let Some(change) = changes.next_change()
            {
                part.push(told(change));
            }
            if part.is_empty() {
                break;
            }
            flow.room().await?;
            flow.send(&part).await?;
        }
        let News { jobs, rung } = watcher.news().await;
        flow.room().await?;
        let outlive = visit.outlive.clone();
        let heard = jobs.clone();
        changes = on_a_thread(move || {
            for id in &heard {
                // A job that cannot be read is left as it was.
                if let Ok((_, state)) = listening::meet(&outlive, id) {
                    changes.heard(id, &state)?;
                }
            }
            if let Some(rung) = rung {
                changes.rung(&rung)?;
            }
            Ok(changes)
        })
        .await?;
        listen(&watcher, &mut changes, jobs);
    }
}

/// Wants news of the jobs that are new, and again of those that had some.
fn listen(watcher: &Watcher, changes: &mut Changes, again: impl IntoIterator<Item = JobId>) {
    for id in changes.new_jobs().into_iter().chain(again) {
        if let Some(wanted) = changes.wants(&id) {
            watcher.want(&id, wanted);
        }
    }
}

fn told(change: Change) -> JobChange {
    match change {
        Change::Job(job) => JobChange::Job { job },
        Change::Gone(gone) => JobChange::Gone { gone },
        Change::Current => JobChange::Current { current: true },
    }
}

pub async fn events(
    desk: &Arc<Desk>,
    visit: Visit,
    asked: OfSessions,
    mut flow: Flow,
) -> Result<(), Cut> {
    let scope = asked.sessions.map_or(Scope::All, Scope::Sessions);
    let mut inboxes = Inboxes::open(desk, &visit, scope).await?;
    loop {
        let (rest, events) = inboxes.next().await?;
        inboxes = rest;
        for events in events.chunks(AT_ONCE) {
            flow.room().await?;
            flow.send(&events).await?;
        }
    }
}
