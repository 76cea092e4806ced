//! There is one courier of a place.

use super::{Client, address, begin_courier, directory, world};
use outlive_testkit::ran::Ran;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

#[test]
fn of_couriers_that_are_started_at_once_one_stays() {
    let world = world();
    let address = address(&world);
    let said: Vec<Ran> = thread::scope(|scope| {
        let begin = || Ran::of(&mut world.command(["courier", "--", &address]));
        let all: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for ran in said {
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "+"), "{ran:?}");
    }
    assert_eq!(world.couriers().len(), 1);
}

#[test]
fn its_socket_is_private_and_it_leaves_when_it_is_told_to() {
    let world = world();
    begin_courier(&world, "");
    let socket = directory(&world).join("courier");
    let mode = socket.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let first = world.couriers();
    let mut client = Client::asking(&world, &json!("leave"));
    assert_eq!(client.line(), Some(json!("leaving")));
    assert_eq!(client.line(), None);
    // The next one has the lock as soon as this one is gone.
    begin_courier(&world, "");
    assert!(!first[0].is_alive());
    assert_eq!(world.couriers().len(), 1);
}

/// The modes keep other users out. If somebody changes them, the courier still serves its own user only.
#[test]
fn another_user_is_not_served_whatever_the_modes_are() {
    needs!(Root);
    needs!(Python);
    let world = world();
    begin_courier(&world, "");
    let directory = directory(&world);
    let open = |path: &std::path::Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    };
    let mut above = directory.as_path();
    while above.starts_with(world.path("")) {
        open(above);
        above = above.parent().unwrap();
    }
    open(&directory.join("courier"));
    let ask = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('courier')\n\
               try:\n s.sendall(b'\"listen\"\\n')\n print(s.recv(100))\nexcept OSError:\n print(b'')";
    let asked_as = |user: u32| {
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", ask]).current_dir(&directory).uid(user);
        Ran::of(&mut command)
    };
    assert_eq!(asked_as(0).text(), "b'\"opened\"\\n'");
    assert_eq!(asked_as(65534).text(), "b''");
    assert_eq!(world.couriers().len(), 1);
}

#[test]
fn the_courier_of_a_job_that_runs_another_survives_its_stop() {
    let world = world();
    // It runs here, and starts a job there.
    let inner = format!(
        "OUTLIVE_PLACE='{}' outlive run --id inner -- sleep 60; exec sleep 60",
        address(&world)
    );
    let mut outer = world.command(["run", "--id", "outer", "--shell", &inner]);
    let path = format!(
        "{}:{}",
        outlive_testkit::programs::directory().display(),
        std::env::var("PATH").unwrap()
    );
    let ran = Ran::of(outer.env("OUTLIVE_PLACE", "local").env("PATH", path));
    assert_eq!(ran.code, 0, "{ran:?}");
    outlive_testkit::waiting::until("the inner one runs", || {
        world.outlive(&["show", "inner"]).code == 0
    });
    let couriers = world.couriers();
    assert_eq!(couriers.len(), 1);
    world.ok(&["stop", "outer"]);
    assert!(couriers[0].is_alive());
    assert_eq!(world.show("inner")["state"], "running");
    world.ok(&["stop", "inner"]);
}
