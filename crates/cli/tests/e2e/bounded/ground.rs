//! The filesystems on which the bounded outputs are tested.

use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::trace::strace;
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A filesystem, and whether it can punch holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// The filesystem on which the tests run.
    Here,
    Tmpfs,
    HereWithoutHoles,
    TmpfsWithoutHoles,
}

pub const ALL: [Ground; 4] = [
    Ground::Here,
    Ground::Tmpfs,
    Ground::HereWithoutHoles,
    Ground::TmpfsWithoutHoles,
];

/// A world on such a filesystem.
pub struct Grounded {
    pub world: World,
    ground: Ground,
    mounted: Option<PathBuf>,
}

impl Ground {
    pub fn has_holes(self) -> bool {
        matches!(self, Ground::Here | Ground::Tmpfs)
    }

    /// A world on this filesystem. `size` is the size of a filesystem in memory.
    pub fn world(self, size: &str) -> Grounded {
        let world = World::new();
        let home = world.home();
        let in_memory = matches!(self, Ground::Tmpfs | Ground::TmpfsWithoutHoles);
        if in_memory {
            fs::create_dir(&home).unwrap();
            mount("tmpfs", &format!("size={size},mode=0700"), &home);
        }
        Grounded {
            world,
            ground: self,
            mounted: in_memory.then_some(home),
        }
    }
}

fn mount(kind: &str, options: &str, at: &Path) {
    let mounted = Command::new("mount")
        .args(["-t", kind, "-o", options, "none"])
        .arg(at)
        .status();
    assert!(mounted.unwrap().success());
}

impl Grounded {
    /// A world on a filesystem that really cannot punch holes. It does not count blocks either.
    pub fn on_ramfs() -> Grounded {
        let world = World::new();
        fs::create_dir(world.home()).unwrap();
        mount("ramfs", "mode=0700", &world.home());
        Grounded {
            mounted: Some(world.home()),
            world,
            ground: Ground::TmpfsWithoutHoles,
        }
    }

    /// Starts a shell job.
    pub fn start(&self, id: &str, max: &str, script: &str) {
        self.begin(&["run", "--id", id, "--max-output", max, "--shell", script]);
    }

    /// Runs `outlive`. If the filesystem is to have no holes, `fallocate` fails for all processes that it starts.
    pub fn begin(&self, args: &[&str]) {
        let mut command = self.world.command(args);
        if !self.ground.has_holes() {
            let options = [
                "-f",
                "--seccomp-bpf",
                "-e",
                "trace=fallocate",
                "-e",
                "inject=fallocate:error=EOPNOTSUPP",
            ];
            command = strace(&command, Path::new("/dev/null"), &options);
        }
        // The tracer runs as long as the job, so the test does not wait for it here.
        let (reader, writer) = std::io::pipe().unwrap();
        let mut child = command
            .stdout(writer.try_clone().unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        drop((command, writer));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(reader), &mut line).unwrap();
        assert!(!line.is_empty(), "{args:?} failed");
        std::thread::spawn(move || child.wait());
    }
}

impl Drop for Grounded {
    fn drop(&mut self) {
        for pid in self.world.processes() {
            kill(pid, KILL);
        }
        if let Some(home) = &self.mounted {
            let _ = Command::new("umount").arg("-l").arg(home).status();
        }
    }
}
