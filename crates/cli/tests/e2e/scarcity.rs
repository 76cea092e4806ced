//! Full disks, no descriptors, no processes, damaged files: a clear error or a repaired state.
