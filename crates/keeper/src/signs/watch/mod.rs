//! Watching the output for patterns.
//!
//! ```text
//! bytes ─▶ scan ─▶ hits ─▶ limit ─▶ what is told
//!          │  └─ strip: escapes out
//!          └─ patterns: all in one search
//! ```
//!
//! Everything here is pure: bytes and times go in, hits and events come out. A keeper journals the [`Place`] and the
//! [`limit::State`] with each report, and its successor continues from them.
//!
//! | module | owns |
//! |---|---|
//! | [`patterns`] | compiled patterns that search many lines at once |
//! | `matcher` | one expression, with the memory that a search needs |
//! | [`strip`] | text without escape sequences |
//! | [`scan`] | finding matching lines in chunks that may be cut anywhere |
//! | [`limit`] | how often matches are reported, and when a watch turns itself off |
//!
//! Nothing is compiled before [`Patterns::compile`] is called, so a job without a watch pays nothing.

pub mod limit;
mod matcher;
pub mod patterns;
pub mod scan;
pub mod strip;

pub use limit::Limit;
pub use patterns::{BadPattern, Patterns};
pub use scan::{Hit, Place, Scanner};
