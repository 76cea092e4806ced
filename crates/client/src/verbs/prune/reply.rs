//! What a pruning came to, as programs get it.

use super::Pruned;
use outlive_api::reply::PruneReply;
use outlive_core::JobId;

impl From<Pruned> for PruneReply {
    fn from(pruned: Pruned) -> PruneReply {
        let paths = pruned.left_behind.iter();
        PruneReply {
            removed: pruned.removed,
            removed_posts: pruned.removed_posts,
            freed_bytes: pruned.freed_bytes,
            untold: pruned.untold,
            busy: pruned.busy.into_iter().chain(pruned.ringing).collect(),
            failed: ids(&pruned.failed),
            left_behind: paths.map(|(path, _)| path.clone().into()).collect(),
            dropped: pruned.dropped,
            unreadable: ids(&pruned.unreadable),
        }
    }
}

fn ids(jobs: &[(JobId, String)]) -> Vec<JobId> {
    jobs.iter().map(|(id, _)| id.clone()).collect()
}
