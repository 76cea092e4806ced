//! Whether a job waits for input, learned from the kernel.
