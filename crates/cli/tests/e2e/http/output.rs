//! Output as it is: ranges, what was not kept, and following.

use super::client::{Answer, Server};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::io::Read;

fn with_range(server: &Server, id: &str, range: &str) -> Answer {
    let headers = [&server.owner()[..], &[("Range", range.to_owned())]].concat();
    server.ask(
        "GET",
        &format!("/v1/jobs/{id}/output?secrets=show"),
        &headers,
        "",
    )
}

#[test]
fn a_range_has_exactly_those_bytes() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.shell("head -c 300000 /dev/urandom");
    world.until_over(&id);
    let bytes = std::fs::read(world.job_dir(&id).join("output")).unwrap();
    let whole = server.get(&format!("/v1/jobs/{id}/output?secrets=show"));
    assert_eq!(whole.header("content-length"), Some("300000"));
    assert!(whole.body == bytes);
    for (range, expected) in [
        ("0-0", 0..1),
        ("100-99999", 100..100_000),
        ("299999-", 299_999..300_000),
        ("-7", 299_993..300_000),
    ] {
        let answer = with_range(&server, &id, &format!("bytes={range}"));
        assert_eq!(answer.status, 206);
        let named = format!("bytes {}-{}/300000", expected.start, expected.end - 1);
        assert_eq!(answer.header("content-range"), Some(&*named));
        assert!(answer.body == bytes[expected], "{range}");
    }
    assert_eq!(with_range(&server, &id, "bytes=300000-").status, 416);
    let from = server.get(&format!("/v1/jobs/{id}/output?secrets=show&from=299000"));
    assert!(from.body == bytes[299_000..]);
    let saved = server.get(&format!("/v1/jobs/{id}/output?secrets=show&download"));
    let named = format!("attachment; filename=\"{id}.log\"");
    assert_eq!(saved.header("content-disposition"), Some(&*named));
}

#[test]
fn what_was_not_kept_is_said_and_never_made_up() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.ok(&["run", "--max-output", "1M", "--shell", "seq 1 2000000"]);
    world.until_over(&id);
    let path = format!("/v1/jobs/{id}/output?secrets=show");
    let whole = server.get(&path);
    let dropped = whole.header("outlive-dropped").unwrap();
    let (from, to) = dropped.split_once('-').unwrap();
    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
    let all: String = (1..=2_000_000).map(|n| format!("{n}\n")).collect();
    let kept = [&all.as_bytes()[..from], &all.as_bytes()[to..]].concat();
    assert!(whole.body == kept);
    assert_eq!(
        whole.header("content-length"),
        Some(&*kept.len().to_string())
    );
    let before = with_range(&server, &id, &format!("bytes={}-{}", from - 5, to + 5));
    assert_eq!(before.body, &all.as_bytes()[from - 5..from]);
    assert_eq!(
        with_range(&server, &id, &format!("bytes={from}-")).status,
        416
    );
    let after = with_range(&server, &id, &format!("bytes={to}-{}", to + 9));
    assert_eq!(after.body, &all.as_bytes()[to..to + 10]);
    let text = server.get(&format!("/v1/jobs/{id}/output")).text();
    assert!(
        text.contains("of output were not kept here"),
        "the text says so in its place"
    );
}

#[test]
fn output_is_followed_to_the_end_of_the_job() {
    let world = World::new();
    let server = Server::start(&world);
    let gate = world.path("gate");
    for query in ["?secrets=show&follow", "?follow"] {
        let _ = std::fs::remove_file(&gate);
        let id = world.shell(&format!(
            "echo one; until [ -e {} ]; do sleep 0.02; done; printf two",
            gate.display()
        ));
        let mut stream = server.send(
            "GET",
            &format!("/v1/jobs/{id}/output{query}"),
            &server.owner(),
            "",
        );
        let mut read = Vec::new();
        until("the first line has come", || {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).unwrap();
            read.extend_from_slice(&buffer[..count]);
            read.ends_with(b"\r\n\r\none\n")
        });
        std::fs::write(&gate, "").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "two");
    }
}
