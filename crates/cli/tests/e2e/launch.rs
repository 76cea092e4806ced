//! Launching: what returns when, and what the job is born into.
