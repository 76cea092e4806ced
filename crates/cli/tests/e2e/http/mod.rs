//! `outlive serve`: every verb over HTTP, for whoever has a token.

mod client;
mod guard;
mod looking;
mod output;
mod restart;
mod verbs;
mod window;
