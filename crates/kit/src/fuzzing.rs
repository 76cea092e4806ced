//! For the fuzz targets only: the editor of an agent's JSON file.

pub use crate::setup::json::{Bad, Dialect, Node, parse, remove, set};
