//! The server keeps nothing that matters: it is killed at any time, and the next one goes on.

use super::client::{Answer, Server};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::json;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

#[test]
fn the_next_server_has_the_same_address_and_tokens_and_the_jobs_go_on() {
    let world = World::new();
    let server = Server::start(&world);
    let id = server.ok("run", json!({"command": {"shell": "sleep 600"}}))["id"].clone();
    let mode = std::fs::metadata(world.home().join("serve"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let (address, owner, reader) = (
        server.address.clone(),
        server.owner.clone(),
        server.reader.clone(),
    );
    drop(server);
    let server = Server::start(&world);
    assert_eq!(
        (&server.address, &server.owner, &server.reader),
        (&address, &owner, &reader)
    );
    assert_eq!(server.ok("show", json!({"job": id}))["state"], "running");
}

#[test]
fn a_second_server_of_the_home_gives_the_link_of_the_first() {
    let world = World::new();
    let server = Server::start(&world);
    let again = world.json(&["serve", "--json"]);
    let link = format!("http://{}/#t={}", server.address, server.owner);
    assert_eq!(again["link"], link);
    let ran = Ran::of(&mut world.command(["serve", "--new-tokens"]));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("end it first"), "{ran:?}");
}

#[test]
fn new_tokens_make_the_old_links_worthless() {
    let world = World::new();
    let old = Server::start(&world).owner.clone();
    let server = Server::of(world.command(["serve", "--json", "--new-tokens"]));
    assert_ne!(server.owner, old);
    let mut headers = server.owner();
    headers[1].1 = format!("Bearer {old}");
    assert_eq!(server.ask("POST", "/v1/list", &headers, "").status, 401);
}

#[test]
fn a_port_that_another_program_has_taken_is_replaced() {
    let world = World::new();
    let address = Server::start(&world).address.clone();
    let taken = TcpListener::bind(&address).unwrap();
    let server = Server::start(&world);
    assert_ne!(server.address, address);
    drop(taken);
    assert_eq!(server.ok("list", json!({}))["jobs"], json!([]));
}

#[test]
fn an_answer_that_is_cut_off_is_not_taken_for_a_whole_one() {
    let world = World::new();
    let mut server = Server::start(&world);
    let id = world.shell("head -c 30000000 /dev/zero");
    world.until_over(&id);
    let stream = server.send(
        "GET",
        &format!("/v1/jobs/{id}/output?secrets=show"),
        &server.owner(),
        "",
    );
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    // What was on its way may still arrive, and a reset may come in its place.
    let read = std::panic::catch_unwind(|| Answer::read(stream));
    if let Ok(answer) = read {
        assert_eq!(answer.header("content-length"), Some("30000000"));
        assert!(answer.body.len() < 30_000_000);
    }
}
