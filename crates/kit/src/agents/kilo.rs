//! Kilo: a relative of opencode. It reads the same entry and the same plugin, under its own names.

use super::opencode;
use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::piece::Piece;
use std::path::PathBuf;

pub struct Kilo;

impl Profile for Kilo {
    fn name(&self) -> &'static str {
        "kilo"
    }

    fn program(&self) -> &'static str {
        "kilo"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.config.join("kilo")
    }

    fn project_directory(&self) -> &'static str {
        ".kilo"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        opencode::files(site, "kilo.json")
    }

    fn shells_know_session(&self) -> bool {
        true
    }

    fn only_waits(&self) -> bool {
        true
    }
}
