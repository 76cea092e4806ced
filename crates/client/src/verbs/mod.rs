//! One verb, one file.

pub mod detach;
pub mod doctor;
pub mod list;
pub mod log;
pub mod prune;
pub mod run;
pub mod show;
pub mod signal;
pub mod stop;
pub mod wait;
