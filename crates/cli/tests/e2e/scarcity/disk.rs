//! Small filesystems for the home of a test.

use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A small filesystem that is mounted as the world's home.
pub struct Disk<'a> {
    world: &'a World,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Tmpfs,
    Ext4,
}

const PAGE: u64 = 4096;

fn must(program: &str, args: &[&str]) {
    let ran = Ran::of(Command::new(program).args(args).stdin(Stdio::null()));
    assert_eq!(ran.code, 0, "{program} {args:?}: {ran:?}");
}

impl<'a> Disk<'a> {
    fn new(world: &'a World, kind: Kind) -> Disk<'a> {
        match kind {
            Kind::Tmpfs => Disk::tmpfs(world, "size=2m"),
            Kind::Ext4 => Disk::ext4(world),
        }
    }

    pub fn tmpfs(world: &'a World, options: &str) -> Disk<'a> {
        fs::create_dir(world.home()).unwrap();
        let options = format!("{options},mode=0700");
        let home = world.home();
        must(
            "mount",
            &[
                "-t",
                "tmpfs",
                "-o",
                &options,
                "none",
                home.to_str().unwrap(),
            ],
        );
        Disk { world }
    }

    fn ext4(world: &'a World) -> Disk<'a> {
        let image = world.path("image");
        File::create(&image).unwrap().set_len(4 << 20).unwrap();
        let (image, home) = (image.to_str().unwrap(), world.home());
        must("mkfs.ext4", &["-q", "-F", "-m", "0", image]);
        fs::create_dir(&home).unwrap();
        must("mount", &["-o", "loop", image, home.to_str().unwrap()]);
        Disk { world }
    }

    fn filler(&self) -> PathBuf {
        self.world.home().join("filler")
    }

    /// Fills the filesystem completely.
    pub fn fill(&self) {
        let mut filler = OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.filler())
            .unwrap();
        let zeros = vec![0; 64 * 1024];
        for size in [64 * 1024, 1024, 1] {
            while filler.write_all(&zeros[..size]).is_ok() {}
        }
        let full = filler.write_all(b"x").unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }

    pub fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    pub fn free_pages(&self, count: u64) {
        let filler = OpenOptions::new().write(true).open(self.filler()).unwrap();
        let size = filler.metadata().unwrap().len();
        filler.set_len(size - count * PAGE).unwrap();
    }
}

/// Runs a check on a small filesystem of each kind.
pub fn on_each_kind(check: impl Fn(&World, &Disk, Kind)) {
    for kind in [Kind::Tmpfs, Kind::Ext4] {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        check(&world, &disk, kind);
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        for pid in self.world.processes() {
            kill(pid, KILL);
        }
        let home = self.world.home();
        let _ = Command::new("umount").arg("-l").arg(home).status();
    }
}
