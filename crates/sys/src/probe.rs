//! What this machine offers.
