//! `wait` and `log --follow` lose nothing and repeat nothing, even if keepers are killed often.

mod finding;
mod follower;
mod following;
mod following_text;
mod idle;
mod log;
mod wait;
