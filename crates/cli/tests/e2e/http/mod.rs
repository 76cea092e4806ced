//! `outlive serve`: every verb over HTTP, for whoever has a token.

mod client;
mod events;
mod guard;
mod looking;
mod output;
mod restart;
mod socket;
mod stream;
mod verbs;
mod window;
