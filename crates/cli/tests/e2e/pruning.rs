//! `prune` removes what it may, and nothing else.
