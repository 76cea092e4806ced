//! Waiting and following are exact, even if keepers are replaced often.

mod finding;
mod follower;
mod following;
mod following_text;
mod idle;
mod log;
mod wait;
