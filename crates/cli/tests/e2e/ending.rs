//! The end: recorded once, exactly, whatever races.
