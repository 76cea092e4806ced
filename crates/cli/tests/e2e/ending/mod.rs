//! The end of a job is exact, and recorded once, whatever happens at the same time.

mod leftovers;
mod once;
mod record;
mod reopened;
mod synced;

use outlive_testkit::world::World;
use serde_json::Value;
use std::path::Path;

/// The `ended` event of the journal, which must be the only one.
fn only_end(world: &World, id: &str) -> Value {
    let mut ends = world.events(id, "ended");
    assert_eq!(ends.len(), 1, "{ends:?}");
    ends.remove(0)
}

fn linked(world: &World, id: &str) -> bool {
    is_there(&world.live(id))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
