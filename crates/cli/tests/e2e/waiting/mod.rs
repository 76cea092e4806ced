//! Waiting and following: both are exact, however often keepers are replaced.

mod finding;
mod follower;
mod following;
mod following_text;
mod idle;
mod log;
mod wait;
