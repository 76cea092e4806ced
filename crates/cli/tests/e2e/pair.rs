//! SIGKILL of either of the pair at any step loses nothing.
