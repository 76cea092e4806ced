//! Disks that have no inodes left.

use super::disk::Disk;
use super::{assert_clear_error, assert_ended_exactly, assert_settled};
use outlive_testkit::checks::until_output;
use outlive_testkit::processes::{CONT, kill};
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;

/// Creates files until no more can be created.
fn use_up_inodes(world: &World) -> Vec<PathBuf> {
    let mut made = Vec::new();
    loop {
        let path = world.home().join(format!("inode-{}", made.len()));
        if File::create(&path).is_err() {
            return made;
        }
        made.push(path);
    }
}

#[test]
fn an_outcome_is_recorded_where_no_file_can_be_made_any_more() {
    needs!(Ext4Tools, Root);
    let world = World::new();
    let _disk = Disk::tmpfs(&world, "size=2m,nr_inodes=64");
    let script = format!("echo out; {}; exit 6", loop_until(&world.path("go")));
    let id = world.shell(&script);
    until_output(&world, &id, "out\n");
    let made = use_up_inodes(&world);
    assert!(!made.is_empty());
    assert_clear_error(&world.outlive(&["run", "--", "true"]));
    File::create(world.path("go")).unwrap();
    assert_ended_exactly(&world, &id, 6, "itself");
    assert_eq!(world.output(&id), b"out\n");
    for path in made {
        fs::remove_file(path).unwrap();
    }
    assert_settled(&world, &id, 6);
}

#[test]
fn a_job_started_just_before_the_last_file_was_used_up_still_ends_exactly() {
    needs!(Ext4Tools, Root);
    let world = World::new();
    let _disk = Disk::tmpfs(&world, "size=2m,nr_inodes=64");
    let script = format!("{}; exit 6", loop_until(&world.path("go")));
    let mut launcher = world
        .command(["run", "--id", "x", "--shell", &script])
        .env("OUTLIVE_HOOKS", "keeper:Started=stop")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("it has started", || {
        world.job_dir("x").join("journal").exists() && world.events("x", "started").len() == 1
    });
    let keeper = world.until_keeper_stops("x");
    use_up_inodes(&world);
    // The launcher's environment has the hook, which would also stop every keeper that it starts.
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    kill(keeper, CONT);
    File::create(world.path("go")).unwrap();
    assert_ended_exactly(&world, "x", 6, "itself");
}
