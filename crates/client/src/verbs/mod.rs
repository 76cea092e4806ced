//! One verb per file.

pub mod attach;
pub mod detach;
pub mod doctor;
pub mod inbox;
pub mod label;
pub mod list;
pub mod log;
pub mod post;
pub mod prune;
mod prune_posts;
pub mod resize;
pub mod run;
pub mod send;
pub mod session;
pub mod show;
pub mod signal;
pub mod stop;
pub mod wait;
pub mod watch;
