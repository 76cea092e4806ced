//! What this machine offers, and what follows.
