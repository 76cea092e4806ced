//! What the kernel's log says about processes that it killed because memory ran out.

use crate::linux::clock;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

/// The number of the first PID namespace. The log names the processes by their pids there.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// Longer than any record.
const RECORD: usize = 8192;
/// The kernel counts start times in hundredths of a second.
const US_PER_TICK: u64 = 10_000;
/// The log's clock and the one of start times are read at slightly different moments.
const SLACK_US: u64 = 1_000_000;

/// Whether the kernel's log says that it killed this process because memory ran out. `started` is in clock ticks since
/// boot. `None` if the log cannot be read, or names processes in another namespace.
///
/// The kernel writes the record before the process can become a zombie. An old record may have been overwritten, and
/// is then not found.
pub fn killed_for_memory(pid: i32, started: u64) -> Option<bool> {
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    if namespace.to_str() != Some(FIRST_NAMESPACE) {
        return None;
    }
    let log = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/kmsg")
        .ok()?;
    // The log's clock stands still during suspend.
    let earliest = (started * US_PER_TICK).saturating_sub(clock::suspended_us() + SLACK_US);
    search(log, pid, earliest)
}

fn search(mut log: impl Read, pid: i32, earliest_us: u64) -> Option<bool> {
    let mut record = vec![0; RECORD];
    let mut found = false;
    loop {
        match log.read(&mut record) {
            Ok(0) => return Some(found),
            Ok(length) => found |= names(&record[..length], pid, earliest_us),
            Err(error) => match error.raw_os_error() {
                // Records were overwritten while they were read. Reading goes on with the oldest that is left.
                Some(libc::EPIPE | libc::EINTR) => {}
                _ if error.kind() == io::ErrorKind::WouldBlock => return Some(found),
                _ => return found.then_some(true),
            },
        }
    }
}

/// Whether a record says that this process was killed: `3,812,459312,-;Out of memory: Killed process 7 (tail) total-vm:…`.
/// The name of the process follows the pid, so it cannot pretend to be another one. User programs can write records as
/// well, but not as the kernel, which is facility 0.
fn names(record: &[u8], pid: i32, earliest_us: u64) -> bool {
    let text = String::from_utf8_lossy(record);
    let Some((head, message)) = text.split_once(';') else {
        return false;
    };
    let mut head = head.split(',');
    let priority: Option<u32> = head.next().and_then(|text| text.parse().ok());
    let at: Option<u64> = head.nth(1).and_then(|text| text.parse().ok());
    let is_kernel = priority.is_some_and(|priority| priority >> 3 == 0);
    let cause = message
        .strip_prefix("Out of memory")
        .or_else(|| message.strip_prefix("Memory cgroup out of memory"));
    let killed = match cause {
        Some(rest) => rest.split_once(": Killed process ").map(|(_, rest)| rest),
        // Linux before 5.3 writes the cause in a record before.
        None => message.strip_prefix("Killed process "),
    };
    let is_it = killed.is_some_and(|rest| rest.starts_with(&format!("{pid} (")));
    is_kernel && is_it && at.is_some_and(|at| at >= earliest_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_record_of_the_kernel_about_this_process_counts() {
        let of = |line: &str| names(line.as_bytes(), 4242, 1000);
        assert!(of(
            "3,8,2000,-;Out of memory: Killed process 4242 (tail) total-vm:1kB\n"
        ));
        assert!(of(
            "3,8,2000,-;Memory cgroup out of memory: Killed process 4242 (x) total\n"
        ));
        assert!(of(
            "3,8,2000,-;Out of memory (oom_kill_allocating_task): Killed process 4242 (x) t\n"
        ));
        assert!(of("3,8,2000,-;Killed process 4242 (tail) total-vm:1kB\n"));
        for other in [
            "3,8,2000,-;Out of memory: Killed process 42421 (tail) total-vm:1kB\n",
            "3,8,2000,-;Out of memory: Killed process 1 (Killed process 4242) total-vm:1kB\n",
            "3,8,999,-;Out of memory: Killed process 4242 (of an earlier boot of the pid)\n",
            "12,8,2000,-;Out of memory: Killed process 4242 (by a user)\n",
            "3,8,2000,-;Killed process 4242\n",
            "3,8,2000,-;x Killed process 4242 (x)\n",
            "",
        ] {
            assert!(!of(other), "{other}");
        }
    }
}
