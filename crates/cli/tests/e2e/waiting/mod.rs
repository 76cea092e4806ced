//! Waiting and following: they return with the truth, however often keepers are replaced.

mod finding;
mod following;
mod idle;
mod log;
mod wait;
