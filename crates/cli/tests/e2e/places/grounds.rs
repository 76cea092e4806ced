//! What the place is built on: directories that nothing can be executed from, read-only and full disks.

use super::{assert_exact, configure, counted, told};
use outlive_testkit::places::{CmdSh, far_home};
use outlive_testkit::processes::KILL;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A script that becomes the shell of a place in a mount namespace of its own, which these lines prepare.
fn prepared(world: &World, lines: &str, variables: &str) -> String {
    let script = world.path("prepare");
    let home = world.path("there");
    fs::create_dir_all(&home).unwrap();
    let text = format!(
        "{lines}\nexec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME={} {variables} sh\n",
        home.display()
    );
    fs::write(&script, text).unwrap();
    format!("cmd:unshare --mount sh {}", script.display())
}

const NOTHING_CAN_BE_EXECUTED: &str = "\
for dir in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o noexec none $dir; done
mkdir /tmp/home; HOME=/tmp/home";

#[test]
fn a_place_where_nothing_can_be_executed_is_refused_with_the_reason() {
    needs!(Root);
    let world = World::new();
    let lines = format!("{NOTHING_CAN_BE_EXECUTED}\n");
    let at = prepared(&world, &lines, "HOME=/tmp/home");
    configure(&world, &format!("at = \"{at}\"\nreach = \"5s\""));
    let ran = world.outlive(&["run", "--place", "far", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("exec"), "{ran:?}");
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
}

#[test]
fn a_directory_of_the_configuration_is_used_where_the_usual_ones_are_noexec() {
    needs!(Root);
    let world = World::new();
    let (programs, home) = (world.path("programs"), world.path("home-there"));
    fs::create_dir(&programs).unwrap();
    fs::create_dir(&home).unwrap();
    // They are seen under other names there, because what is mounted hides them.
    let lines = format!(
        "mkdir -p /mnt/programs /mnt/home || mount -t tmpfs none /mnt && mkdir -p /mnt/programs /mnt/home\n\
         mount --bind {} /mnt/programs; mount --bind {} /mnt/home\n{NOTHING_CAN_BE_EXECUTED}",
        programs.display(),
        home.display()
    );
    let at = prepared(
        &world,
        &format!("mount -t tmpfs none /mnt\n{lines}"),
        "HOME=/tmp/home",
    );
    let settings = "far_dir = \"/mnt/programs\"\nhome = \"/mnt/home\"\nreach = \"20s\"";
    configure(&world, &format!("at = \"{at}\"\n{settings}"));
    let id = world.ok(&["run", "--place", "far", "--shell", "echo here; exit 6"]);
    assert_eq!(world.outlive(&["wait", &id]).code, 6);
    assert_eq!(world.ok(&["log", &id]), "here");
    assert!(
        programs.read_dir().unwrap().next().is_some(),
        "the program is there"
    );
}

#[test]
fn a_read_only_place_is_refused_with_the_reason() {
    needs!(Root);
    let world = World::new();
    let lines = "for dir in $(awk '{print $2}' /proc/mounts); do \
                 case $dir in /proc*|/sys*|/dev) ;; *) mount -o remount,bind,ro \"$dir\" ;; esac; done 2>/dev/null";
    let at = prepared(&world, lines, "");
    configure(&world, &format!("at = \"{at}\"\nreach = \"5s\""));
    let ran = world.outlive(&["run", "--place", "far", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("far"), "{ran:?}");
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
}

/// A small filesystem that holds the home of a place.
struct FarDisk<'a> {
    world: &'a World,
    at: PathBuf,
}

impl<'a> FarDisk<'a> {
    fn of(world: &'a World) -> FarDisk<'a> {
        let at = far_home(&world.path_there(""));
        fs::create_dir_all(&at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m,mode=0700", "none"]);
        let ran = Ran::of(mount.arg(&at));
        assert_eq!(ran.code, 0, "{ran:?}");
        FarDisk { world, at }
    }

    fn fill(&self) {
        let full = Command::new("dd")
            .args(["if=/dev/zero", "bs=4096"])
            .arg(format!("of={}", self.at.join("filler").display()))
            .output()
            .unwrap();
        assert!(!full.status.success());
    }

    fn free(&self) {
        fs::remove_file(self.at.join("filler")).unwrap();
    }
}

impl Drop for FarDisk<'_> {
    fn drop(&mut self) {
        for courier in self.world.couriers() {
            courier.signal(KILL);
        }
        for process in self
            .world
            .place()
            .processes(Path::new(&self.world.path_there("")))
        {
            process.signal(KILL);
        }
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

#[test]
fn a_full_disk_there_refuses_new_jobs_and_keeps_the_ends_of_old_ones() {
    needs!(Root);
    let world = World::at(Arc::new(CmdSh::default()));
    let disk = FarDisk::of(&world);
    let script = counted(&world, "old", "seq 1 100; exec sleep 60");
    world.ok(&["run", "--id", "old", "--session", "s", "--shell", &script]);
    disk.fill();
    let ran = world.outlive(&["run", "--id", "new", "--session", "t", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("space"), "{ran:?}");
    let shown = world.outlive(&["show", "new", "--json"]);
    if shown.code == 0 {
        let job: serde_json::Value = serde_json::from_slice(&shown.bytes).unwrap();
        assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    }
    world.ok(&["stop", "old"]);
    let job = world.show("old");
    assert_eq!(job["ended_by"], "stop", "{job}");
    assert_eq!(told(&world, "s"), ["old ended"]);
    disk.free();
    let script = counted(&world, "next", "seq 1 100; exit 5");
    world.ok(&["run", "--id", "next", "--session", "s", "--shell", &script]);
    assert_exact(&world, "next", 5, &numbers(100));
}
