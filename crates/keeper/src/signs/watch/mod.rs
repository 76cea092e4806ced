//! Watching the output for patterns.
//!
//! ```text
//! bytes ─▶ scan ─▶ hits ─▶ limit ─▶ what is told
//!          │  └─ strip: escapes out
//!          └─ patterns: all in one search
//!               └─ sieve: lines in which nothing can match, passed over
//! ```
//!
//! Everything here is pure: bytes and moments come in, hits and events come out. A keeper journals the
//! [`Place`] and the [`limit::State`] with what it tells, and its heir goes on from them.
//!
//! | module | owns |
//! |---|---|
//! | [`patterns`] | the patterns made ready, so that many lines are searched at once |
//! | `matcher` | one of them, with the memory that looking for it takes |
//! | `sieve` | lines passed over at several places at once |
//! | [`strip`] | text without escape sequences |
//! | [`scan`] | lines in chunks cut anywhere; where to go on |
//! | [`limit`] | how often somebody is told, and when a watch turns itself off |
//!
//! Nothing is compiled before [`Patterns::compile`] is called, so a job without a watch pays nothing.

pub mod limit;
mod matcher;
pub mod patterns;
pub mod scan;
mod sieve;
pub mod strip;

pub use limit::Limit;
pub use patterns::{BadPattern, Patterns};
pub use scan::{Hit, Place, Scanner};
