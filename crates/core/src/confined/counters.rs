//! What the control groups of a job have counted.

use super::{Confined, Controls, Group};
use std::fs;
use std::io;

impl Confined {
    /// How many processes of this attempt the kernel has killed because memory ran out. `None` if nothing counts them.
    pub fn oom_kills(&self) -> Option<u64> {
        Some(self.kills_in_all()?.saturating_sub(self.kills_before))
    }

    /// The same for all attempts.
    pub fn kills_in_all(&self) -> Option<u64> {
        let group = self.memory()?;
        let file = match group.controls {
            Controls::All => "memory.events",
            _ => "memory.oom_control",
        };
        value(&group.read(file).ok()?, "oom_kill")
    }

    /// The most memory that the job has used, with cached files.
    pub fn peak_memory(&self) -> Option<u64> {
        let group = self.memory()?;
        group.number(match group.controls {
            Controls::All => "memory.peak",
            _ => "memory.max_usage_in_bytes",
        })
    }

    /// Forgets the most memory that earlier attempts have used. Only version 1 can do that.
    pub fn forget_peak(&self) {
        if let Some(group) = self.memory().filter(|it| it.controls == Controls::Memory) {
            let _ = fs::write(group.directory.join("memory.max_usage_in_bytes"), "0");
        }
    }

    /// The memory that the job uses now, without cached files that the kernel could drop at once.
    pub fn memory_now(&self) -> Option<u64> {
        let group = self.memory()?;
        let (now, inactive) = match group.controls {
            Controls::All => ("memory.current", "inactive_file"),
            _ => ("memory.usage_in_bytes", "total_inactive_file"),
        };
        let cached = value(&group.read("memory.stat").ok()?, inactive)?;
        Some(group.number(now)?.saturating_sub(cached))
    }

    /// Processor time in user mode and in the kernel, in milliseconds.
    pub fn cpu_ms(&self) -> Option<(u64, u64)> {
        let text = self.of_version_2()?.read("cpu.stat").ok()?;
        let ms = |key| value(&text, key).map(|us| us / 1000);
        Some((ms("user_usec")?, ms("system_usec")?))
    }

    /// The bytes that were read from disks and written to them.
    pub fn io_bytes(&self) -> Option<(u64, u64)> {
        let text = self.of_version_2()?.read("io.stat").ok()?;
        let total = |key: &str| -> u64 {
            let words = text.split_ascii_whitespace();
            let values = words.filter_map(|word| word.strip_prefix(key));
            values.filter_map(|value| value.parse::<u64>().ok()).sum()
        };
        Some((total("rbytes="), total("wbytes=")))
    }

    fn of_version_2(&self) -> Option<&Group> {
        self.groups
            .iter()
            .find(|group| group.controls == Controls::All)
    }
}

impl Group {
    fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.directory.join(file))
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.read(file).ok()?.trim().parse().ok()
    }
}

/// The number after this key, in a file with one key on each line.
fn value(text: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find_map(|(name, value)| (name == key).then_some(value))?;
    found.trim().parse().ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use crate::confined::EnforcedBy;

    fn confined(controls: Controls, files: &[(&str, &str)]) -> (tempfile::TempDir, Confined) {
        let world = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(world.path().join(name), text).unwrap();
        }
        let directory = world.path().to_owned();
        let confined = Confined {
            by: EnforcedBy::CgroupV2,
            groups: vec![Group {
                directory,
                controls,
            }],
            kills_before: 0,
        };
        (world, confined)
    }

    #[test]
    fn the_counters_of_version_2_are_read() {
        let files = [
            (
                "memory.events",
                "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 1\n",
            ),
            ("memory.peak", "4096\n"),
            ("memory.current", "3000\n"),
            ("memory.stat", "anon 5\ninactive_file 1000\n"),
            (
                "cpu.stat",
                "usage_usec 9\nuser_usec 7000\nsystem_usec 2000\n",
            ),
            (
                "io.stat",
                "8:0 rbytes=1 wbytes=2 rios=1\n8:16 rbytes=10 wbytes=20\n",
            ),
        ];
        let (_world, confined) = confined(Controls::All, &files);
        assert_eq!(confined.oom_kills(), Some(3));
        assert_eq!(confined.peak_memory(), Some(4096));
        assert_eq!(confined.memory_now(), Some(2000));
        assert_eq!(confined.cpu_ms(), Some((7, 2)));
        assert_eq!(confined.io_bytes(), Some((11, 22)));
    }

    #[test]
    fn the_counters_of_version_1_are_read() {
        let files = [
            (
                "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
            ),
            ("memory.max_usage_in_bytes", "4096\n"),
        ];
        let (_world, confined) = confined(Controls::Memory, &files);
        assert_eq!(confined.oom_kills(), Some(2));
        assert_eq!(confined.peak_memory(), Some(4096));
        assert_eq!(confined.cpu_ms(), None);
    }

    #[test]
    fn what_nothing_counts_is_unknown() {
        let (_world, without_files) = confined(Controls::Memory, &[]);
        assert_eq!(without_files.oom_kills(), None);
        let (_world, of_cpu) = confined(Controls::Cpu, &[("memory.events", "oom_kill 3\n")]);
        assert_eq!(of_cpu.oom_kills(), None);
    }
}
