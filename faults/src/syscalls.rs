//! SIGKILL at each system call of launcher, standby and keeper, and of both keepers at once.
//!
//! A process is killed as it enters the call, before the call has any effect. So there is one case before
//! the first call and one between any two calls. The kernel ensures that a call itself is not half done.

use crate::calls::Fault;
use crate::plan::Role;
use crate::row::Row;
use crate::strike;

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "kill: the launcher",
            promise: "the job is exact, or never ran and can be started again",
            run: |context| strike::rows_of(context, Fault::Kill, &[Role::Launcher], 24),
        },
        Row {
            name: "kill: the standby",
            promise: "the job is exact, or (before there is a keeper) not started",
            run: |context| strike::rows_of(context, Fault::Kill, &[Role::Standby], 24),
        },
        Row {
            name: "kill: the keeper",
            promise: "the job is exact",
            run: |context| strike::rows_of(context, Fault::Kill, &[Role::Keeper], 40),
        },
        Row {
            name: "kill: both keepers at once",
            promise: "the job is exact, not started, or reported as lost; never more than it was",
            run: |context| strike::rows_of(context, Fault::KillBoth, &[Role::Keeper], 20),
        },
    ]
}
