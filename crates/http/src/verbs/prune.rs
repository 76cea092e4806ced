//! `prune`

use super::{Call, Needs, Verb};
use crate::failure::Refused;
use outlive::JobId;
use outlive::verbs::prune;
use outlive_api::reply::PruneReply;

pub struct Prune;

impl Verb for Prune {
    type Request = outlive_api::request::Prune;
    type Reply = PruneReply;
    const NAME: &'static str = "prune";
    const ABOUT: &'static str = "Remove ended jobs.";
    const NEEDS: Needs = Needs::Owner;

    fn call(call: &Call, asked: Self::Request) -> Result<PruneReply, Refused> {
        let pruned = prune::prune(&call.visit.outlive, &asked)?;
        let paths = pruned.left_behind.iter();
        Ok(PruneReply {
            left_behind: paths.map(|(path, _)| path.clone().into()).collect(),
            removed: pruned.removed,
            removed_posts: pruned.removed_posts,
            freed_bytes: pruned.freed_bytes,
            untold: pruned.untold,
            busy: pruned.busy.into_iter().chain(pruned.ringing).collect(),
            failed: ids(&pruned.failed),
            dropped: pruned.dropped,
            unreadable: ids(&pruned.unreadable),
        })
    }
}

fn ids(jobs: &[(JobId, String)]) -> Vec<JobId> {
    jobs.iter().map(|(id, _)| id.clone()).collect()
}
