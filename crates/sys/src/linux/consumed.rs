//! What a process has used, as `/proc` reports it.

use std::fs;

/// What one process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Processor time, with that of the children that it has waited for.
    pub user_ms: u64,
    pub system_ms: u64,
    pub rss_bytes: u64,
    pub peak_rss_bytes: u64,
    /// Bytes that disks had to read and write for it. `None` if this process may not see that.
    pub io: Option<(u64, u64)>,
}

/// The unit in which the kernel reports processor time to programs: hundredths of a second.
const MS_PER_TICK: u64 = 10;

/// What this process has used. `None` if it is gone.
pub fn consumed(pid: i32) -> Option<Consumed> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok();
    let (user_ms, system_ms) = times(&stat)?;
    let kilobytes = |key| value(&status, key).map_or(0, |kilobytes| kilobytes * 1024);
    Some(Consumed {
        user_ms,
        system_ms,
        rss_bytes: kilobytes("VmRSS:"),
        peak_rss_bytes: kilobytes("VmHWM:"),
        io: io.and_then(|io| Some((value(&io, "read_bytes:")?, value(&io, "write_bytes:")?))),
    })
}

/// Fields 14 to 17 of `/proc/<pid>/stat`, which follow the name in parentheses.
fn times(stat: &[u8]) -> Option<(u64, u64)> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(14 - 3);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let (user, system, of_children) = (ticks()?, ticks()?, (ticks()?, ticks()?));
    Some((
        (user + of_children.0) * MS_PER_TICK,
        (system + of_children.1) * MS_PER_TICK,
    ))
}

/// The first number on the line that begins with this key.
fn value(text: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(key))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_waited_children_count() {
        let line = b"7 (a ) b) S 1 7 7 0 -1 0 0 0 0 0 10 20 3 4 20 0 1 0 99 0 0\n";
        assert_eq!(times(line), Some((130, 240)));
    }

    #[test]
    fn this_process_has_memory() {
        let own = consumed(crate::linux::own::pid()).unwrap_or_default();
        assert!(
            own.rss_bytes > 0 && own.peak_rss_bytes >= own.rss_bytes / 2,
            "{own:?}"
        );
    }
}
