//! Jobs whose standard input is a pipe: `send` arrives once, whole and in order.
