//! Where tests can stop or kill a launcher.

use outlive_sys::hook;

/// A step a launcher has reached.
#[derive(Clone, Copy, Debug)]
pub enum Hook {
    DirectoryMade,
    Linked,
    Named,
    KeeperSpawned,
}

pub fn reach(hook: Hook) {
    if cfg!(debug_assertions) {
        hook::reach("launcher", &format!("{hook:?}"));
    }
}
