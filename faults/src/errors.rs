//! An error in place of each system call that can fail so, in launcher, standby and keeper.

use crate::calls::Fault;
use crate::plan::ROLES;
use crate::row::Row;
use crate::strike;

const PROMISE: &str = "exact, or said: not started, or output incomplete";

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "error: ENOSPC",
            promise: PROMISE,
            run: |context| strike::rows_of(context, Fault::NoSpace, &ROLES, 16),
        },
        Row {
            name: "error: EIO",
            promise: PROMISE,
            run: |context| strike::rows_of(context, Fault::Broken, &ROLES, 16),
        },
        Row {
            name: "error: EMFILE",
            promise: PROMISE,
            run: |context| strike::rows_of(context, Fault::NoDescriptor, &ROLES, 12),
        },
        Row {
            name: "error: EAGAIN",
            promise: PROMISE,
            run: |context| strike::rows_of(context, Fault::TryAgain, &ROLES, 6),
        },
        Row {
            name: "error: EINTR",
            promise: "exact, as without a signal",
            run: |context| strike::rows_of(context, Fault::Interrupted, &ROLES, 16),
        },
    ]
}
