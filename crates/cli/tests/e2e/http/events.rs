//! Events as they come, for scripts.

use super::client::Server;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines};
use std::net::TcpStream;

struct Stream(Lines<BufReader<TcpStream>>);

impl Stream {
    fn open(server: &Server, query: &str) -> Stream {
        let stream = server.send("GET", &format!("/v1/events{query}"), &server.owner(), "");
        let mut lines = BufReader::new(stream).lines();
        let first = lines
            .find(|line| line.as_ref().unwrap().starts_with(':'))
            .unwrap();
        assert_eq!(first.unwrap(), ": connected");
        Stream(lines)
    }

    fn next(&mut self) -> Value {
        let data = self
            .0
            .find_map(|line| line.unwrap().strip_prefix("data: ").map(str::to_owned));
        serde_json::from_str(&data.unwrap()).unwrap()
    }
}

#[test]
fn events_come_once_per_connection_and_wait_until_they_are_acked() {
    let world = World::new();
    let server = Server::start(&world);
    let run = |session: &str, id: &str| {
        world.ok(&["run", "--session", session, "--id", id, "--", "true"])
    };
    run("a", "before");
    world.until_over("before");
    let mut all = Stream::open(&server, "");
    let mut of_b = Stream::open(&server, "?session=b");
    assert_eq!(all.next()["job"], "before");
    run("b", "one");
    let event = all.next();
    assert_eq!(
        (&event["job"], &event["kind"], &event["attempt"]),
        (&json!("one"), &json!("ended"), &json!(0))
    );
    assert_eq!(of_b.next(), event);
    run("a", "two");
    run("b", "three");
    assert_eq!(of_b.next()["job"], "three");
    let mut next = [all.next()["job"].clone(), all.next()["job"].clone()];
    next.sort_by_key(Value::to_string);
    assert_eq!(next, ["three", "two"]);
    server.ok("inbox/ack", json!({"jobs": ["before", "two", "three"]}));
    assert_eq!(
        Stream::open(&server, "").next(),
        event,
        "the others were acked"
    );
}

#[test]
fn many_that_wait_take_no_thread_each() {
    let world = World::new();
    let server = Server::start(&world);
    for number in 0..20 {
        world.ok(&[
            "run",
            "--session",
            &format!("s{number}"),
            "--",
            "sleep",
            "600",
        ]);
    }
    let threads = || {
        let tasks = format!("/proc/{}/task", server.child.id());
        std::fs::read_dir(tasks).unwrap().count()
    };
    let mut streams: Vec<Stream> = (0..40).map(|_| Stream::open(&server, "")).collect();
    // Threads that have done their work stay for ten seconds.
    outlive_testkit::waiting::until("few threads are left", || threads() < 12);
    server.ok("post", json!({"session": "s1", "data": {}}));
    for stream in &mut streams {
        assert_eq!(stream.next()["kind"], "delegation");
    }
}
