//! `stop`, `signal` and `--timeout`: the whole tree.
