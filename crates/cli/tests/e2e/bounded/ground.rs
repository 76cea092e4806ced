//! The filesystems on which the tests of bounded outputs run.

use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::trace::strace;
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A filesystem, and whether holes can be punched there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Where the tests run.
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

/// A world on such a ground.
pub struct Grounded {
    pub world: World,
    ground: Ground,
    mounted: Option<PathBuf>,
}

impl Ground {
    pub fn has_holes(self) -> bool {
        matches!(self, Ground::Here | Ground::Tmpfs)
    }

    /// `size` is what a filesystem in memory holds.
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
    /// A kind of filesystem that really has no holes, and does not count blocks either.
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

    /// Runs `outlive` so that it, and all it leaves behind, can punch no holes where there are none.
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
        // The tracer lives as long as the job does.
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
