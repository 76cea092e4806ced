//! One verb per file.

pub mod adopt;
pub mod after;
pub mod attach;
pub mod detach;
pub mod doctor;
pub mod inbox;
pub mod label;
pub mod list;
pub mod log;
pub mod place;
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
pub mod usage;
pub mod wait;
pub mod watch;
