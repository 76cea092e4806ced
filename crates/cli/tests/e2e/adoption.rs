//! Both keepers killed: the job runs on, and the next verb adopts it.
