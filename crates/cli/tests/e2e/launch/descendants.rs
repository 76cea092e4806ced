//! A job is no descendant of whoever started it. Some agents end all descendants of a shell or of an MCP server.

use crate::mcp::client::Client;
use outlive_testkit::processes::{begin, is_alive};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

fn children(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default()
}

#[test]
fn a_server_that_lives_on_has_no_children() {
    let world = World::new();
    let mut client = Client::with(&world, &["--session", "s"]);
    let id = client.run("sleep 1000");
    let mut all = String::new();
    for entry in fs::read_dir(format!("/proc/{}/task", client.child.id())).unwrap() {
        let children = entry.unwrap().path().join("children");
        all += &fs::read_to_string(children).unwrap();
    }
    assert_eq!(all, "");
    let pair = world.pair(&id);
    assert!(is_alive(pair.keeper) && pair.standby.is_some_and(is_alive));
    world.ok(&["stop", &id]);
}

#[test]
fn a_launcher_that_waits_has_no_children() {
    let world = World::new();
    let mut launcher =
        begin(world.command(["run", "--id", "job", "--wait", "--shell", "sleep 1000"]));
    until("it runs", || {
        world.live("job").exists() && !world.events("job", "started").is_empty()
    });
    until("it has no children", || children(launcher.id()).is_empty());
    world.ok(&["stop", "job"]);
    launcher.wait().unwrap();
}
