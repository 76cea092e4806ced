//! One verb, one file.

pub mod attach;
pub mod detach;
pub mod doctor;
pub mod list;
pub mod log;
pub mod prune;
pub mod resize;
pub mod run;
pub mod send;
pub mod show;
pub mod signal;
pub mod stop;
pub mod wait;
