//! `outlive rpc`: every verb over one pipe, by a process that may be killed at any time.

mod client;
mod flow;
mod following;
mod killed;
mod malformed;
mod many;
mod placed;
mod telling;
mod transcript;
mod verbs;
