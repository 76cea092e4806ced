//! The one WebSocket of a page.

use super::client::Server;
use super::socket::{Received, Socket, open};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Follows an output from this byte on until it has so many, or all. Returns what came.
fn bytes(socket: &mut Socket, sub: u32, most: usize) -> Vec<u8> {
    let (mut read, mut sent) = (Vec::new(), 0);
    while read.len() < most {
        match socket.next() {
            Some(Received::Output(number, at, bytes)) if number == sub => {
                if !read.is_empty() {
                    assert!(at > 0, "offsets grow");
                }
                sent += bytes.len() as u64;
                read.extend(bytes);
                socket.taken(sub, sent);
            }
            Some(Received::Json(json)) if json["end"] == true => break,
            other => panic!("{other:?}"),
        }
    }
    read
}

fn changed(socket: &mut Socket, sub: u32, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let part = socket.part(sub);
        let changes = part["part"].as_array().unwrap_or_else(|| panic!("{part}"));
        if let Some(change) = changes.iter().find(|change| is_it(change)) {
            return change.clone();
        }
    }
}

#[test]
fn the_list_of_jobs_is_followed_from_start_to_removal() {
    let world = World::new();
    let server = Server::start(&world);
    world.ok(&["run", "--id", "before", "--", "sleep", "600"]);
    let mut socket = Socket::of_owner(&server, "");
    socket.follow(1, json!({"jobs": {"ended": 10}}));
    changed(&mut socket, 1, |change| change["job"]["id"] == "before");
    let gate = world.path("gate");
    let script = format!(
        "until [ -e {} ]; do sleep 0.02; done; exit 3",
        gate.display()
    );
    world.ok(&["run", "--id", "later", "--shell", &script]);
    let job = changed(&mut socket, 1, |change| change["job"]["id"] == "later");
    assert!(job["job"]["outcome"].is_null());
    std::fs::write(&gate, "").unwrap();
    let job = changed(&mut socket, 1, |change| !change["job"]["outcome"].is_null());
    assert_eq!(
        (&job["job"]["id"], &job["job"]["exit_code"]),
        (&json!("later"), &json!(3))
    );
    world.ok(&["prune", "--all", "--force"]);
    changed(&mut socket, 1, |change| change["gone"] == "later");
}

#[test]
fn output_goes_on_from_a_byte_after_the_server_was_killed() {
    let world = World::new();
    let mut server = Server::start(&world);
    let gate = world.path("gate");
    let script = format!(
        "head -c 3000000 /dev/urandom; until [ -e {} ]; do sleep 0.02; done; head -c 3000000 /dev/urandom",
        gate.display()
    );
    let id = world.shell(&script);
    let mut socket = Socket::of_owner(&server, "?secrets=show");
    socket.follow(7, json!({"output": {"job": id}}));
    let mut read = bytes(&mut socket, 7, 1_000_000);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    drop(socket);
    std::fs::write(&gate, "").unwrap();
    let server = Server::start(&world);
    let mut socket = Socket::of_owner(&server, "?secrets=show");
    socket.follow(7, json!({"output": {"job": id, "from": read.len()}}));
    read.extend(bytes(&mut socket, 7, usize::MAX));
    let output = std::fs::read(world.job_dir(&id).join("output")).unwrap();
    assert_eq!(read.len(), output.len());
    assert!(read == output);
}

fn memory_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_page_that_takes_nothing_neither_fills_the_memory_nor_slows_the_job() {
    let world = World::new();
    let server = Server::start(&world);
    let mut sockets: Vec<Socket> = (0..8)
        .map(|_| Socket::of_owner(&server, "?secrets=show"))
        .collect();
    let id = world.ok(&[
        "run",
        "--pty=40x150",
        "--",
        "sh",
        "-c",
        "head -c 60000000 /dev/urandom | base64",
    ]);
    for socket in &mut sockets {
        socket.follow(1, json!({"output": {"job": id}}));
        socket.follow(2, json!({"screen": {"job": id}}));
        socket.follow(3, json!({"tail": {"job": id, "lines": 200}}));
        socket.follow(4, json!({"jobs": {}}));
    }
    world.until_over(&id);
    let used = memory_kb(&server);
    assert!(used < 60_000, "{used} kB for 80 MB of output and 8 pages");
    // What is under way is a window of each subscription, and nothing more.
    for socket in &mut sockets {
        let mut under_way = 0;
        let first = bytes_under_way(socket, &mut under_way);
        assert!(first <= 256 * 1024 + 64 * 1024, "{first}");
    }
}

/// How many bytes of the first subscription came although none was taken.
fn bytes_under_way(socket: &mut Socket, count: &mut usize) -> usize {
    socket.send(json!({"do": "type", "job": "nobody", "id": "last", "text": "x"}));
    loop {
        match socket.next() {
            Some(Received::Output(1, _, bytes)) => *count += bytes.len(),
            Some(Received::Json(json)) if json["id"] == "last" => return *count,
            Some(_) => {}
            None => panic!("the connection has ended"),
        }
    }
}

/// The text of the rows in an update.
fn rows(update: &Value) -> Vec<(u64, String)> {
    let rows = update["part"]["lines"].as_array().unwrap().iter();
    rows.map(|row| {
        let cells = row[1].as_array().unwrap().iter();
        let text: String = cells.map(|cells| cells["t"].as_str().unwrap()).collect();
        (row[0].as_u64().unwrap(), text)
    })
    .collect()
}

fn until_shown(socket: &mut Socket, sub: u32, text: &str) -> Value {
    loop {
        let update = socket.part(sub);
        if rows(&update).iter().any(|(_, row)| row.contains(text)) {
            return update;
        }
    }
}

#[test]
fn two_pages_share_a_terminal_and_what_is_typed_arrives_once() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.ok(&[
        "run",
        "--pty=6x30",
        "--",
        "sh",
        "-c",
        "printf 'ready\\n'; cat",
    ]);
    let mut one = Socket::of_owner(&server, "");
    let mut two = Socket::of_owner(&server, "");
    for socket in [&mut one, &mut two] {
        socket.follow(1, json!({"screen": {"job": id}}));
        until_shown(socket, 1, "ready");
    }
    let typed = json!({"do": "type", "job": id, "id": "w1", "text": "hello\r"});
    one.send(typed.clone());
    assert_eq!(one.answer("w1")["end"], true);
    // A page that was cut off before the answer sends it again.
    two.send(typed);
    assert_eq!(two.answer("w1")["end"], true);
    for socket in [&mut one, &mut two] {
        until_shown(socket, 1, "hello");
    }
    one.send(json!({"do": "type", "job": id, "id": "w2", "text": "\u{4}"}));
    one.answer("w2");
    world.until_over(&id);
    assert_eq!(world.ok(&["log", &id, "--raw"]), "ready\r\nhello\r\nhello");
    let update = |rows: u16| json!({"do": "type", "job": id, "id": format!("r{rows}"), "size": {"rows": rows, "cols": 30}});
    one.send(update(9));
    assert_eq!(one.answer("r9")["error"]["code"], "refused", "it has ended");
}

#[test]
fn a_resize_reaches_every_page_and_only_changed_rows_are_sent() {
    let world = World::new();
    let server = Server::start(&world);
    let script = "printf 'first\\nsecond\\n'; read x; printf 'third'; read y";
    let id = world.ok(&["run", "--pty=6x30", "--shell", script]);
    let mut socket = Socket::of_owner(&server, "");
    socket.follow(1, json!({"screen": {"job": id}}));
    until_shown(&mut socket, 1, "second");
    socket.send(json!({"do": "type", "job": id, "id": "a", "text": "\r"}));
    let update = until_shown(&mut socket, 1, "third");
    let changed: Vec<u64> = rows(&update).iter().map(|(number, _)| *number).collect();
    assert!(!changed.contains(&0) && !changed.contains(&1), "{update}");
    let size = json!({"rows": 9, "cols": 40});
    socket.send(json!({"do": "type", "job": id, "id": "b", "size": size}));
    loop {
        let update = socket.part(1);
        if update["part"]["rows"] == 9 {
            assert_eq!(update["part"]["cols"], 40);
            assert_eq!(rows(&update).len(), 9, "everything is drawn again");
            break;
        }
    }
}

#[test]
fn the_last_lines_come_as_they_are_written() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.ok(&[
        "run",
        "--stdin",
        "pipe",
        "--shell",
        "seq 1 1000; while read line; do echo \"got $line\"; done",
    ]);
    let mut socket = Socket::of_owner(&server, "");
    until("it has written", || {
        server.ok("log", json!({"job": id}))["total_lines"] == 1000
    });
    socket.follow(1, json!({"tail": {"job": id, "lines": 5}}));
    let part = socket.part(1)["part"].clone();
    let numbers = |part: &Value| {
        let lines = part["lines"].as_array().unwrap().iter();
        lines
            .map(|line| line["line"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (numbers(&part), &part["total_lines"]),
        (vec![996, 997, 998, 999, 1000], &json!(1000))
    );
    world.ok(&["send", &id, "this", "--enter"]);
    let part = socket.part(1)["part"].clone();
    assert_eq!(numbers(&part), [1000, 1001]);
    assert_eq!(part["lines"][1]["parts"][0]["t"], "got this");
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(socket.part(1)["part"]["ended"], true);
    assert_eq!(socket.part(1)["end"], true);
}

#[test]
fn samples_say_what_changes_all_the_time() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.ok(&["run", "--stdin", "pipe", "--shell", "echo question; read x"]);
    let mut socket = Socket::of_owner(&server, "");
    socket.follow(1, json!({"samples": {"jobs": [id], "usage": true}}));
    loop {
        let part = socket.part(1)["part"].clone();
        let sample = &part["jobs"][0];
        if sample["awaiting_input"] == true && sample["bytes"] == 9 {
            assert!(
                sample["usage"]["memory_bytes"].as_u64().unwrap() > 0,
                "{sample}"
            );
            break;
        }
    }
}

#[test]
fn events_are_followed_and_a_page_that_ends_a_subscription_hears_no_more() {
    let world = World::new();
    let server = Server::start(&world);
    let mut socket = Socket::of_owner(&server, "");
    socket.follow(1, json!({"events": {}}));
    world.ok(&["run", "--session", "s", "--id", "x", "--", "true"]);
    let part = socket.part(1);
    assert_eq!(
        (&part["part"][0]["job"], &part["part"][0]["kind"]),
        (&json!("x"), &json!("ended"))
    );
    assert_eq!(
        world.json(&["inbox", "--session", "s", "--peek", "--json"])["events"][0]["job"],
        "x"
    );
    socket.send(json!({"do": "end", "sub": 1}));
    socket.follow(1, json!({"events": {"sessions": ["other"]}}));
    world.ok(&["post", "--session", "other", write(&world, "{}").as_str()]);
    assert_eq!(socket.part(1)["part"][0]["session"], "other");
}

fn write(world: &World, text: &str) -> String {
    let path = world.path("post.json");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_foreign_page_gets_no_socket_and_a_reader_types_nothing() {
    let world = World::new();
    let server = Server::start(&world);
    let status =
        |headers: Vec<(&'static str, String)>, query: &str| match open(&server, query, &headers) {
            Ok(_) => 101,
            Err(answer) => answer.status,
        };
    assert_eq!(status(server.page(), ""), 101);
    let without = |name: &str| {
        let mut headers = server.page();
        headers.retain(|(key, _)| *key != name);
        headers
    };
    assert_eq!(status(without("Origin"), ""), 403);
    assert_eq!(status(without("Cookie"), ""), 401);
    let foreign = [
        without("Origin"),
        vec![("Origin", "http://evil.example".to_owned())],
    ]
    .concat();
    assert_eq!(status(foreign, ""), 403);
    assert_eq!(status(server.reader(), "?secrets=show"), 403);
    let id = world.ok(&["run", "--pty", "--", "cat"]);
    let mut socket =
        open(&server, "", &server.reader()).unwrap_or_else(|answer| panic!("{}", answer.head));
    socket.send(json!({"do": "type", "job": id, "id": "w", "text": "x"}));
    assert_eq!(socket.answer("w")["error"]["code"], "forbidden");
    socket.follow(1, json!({"output": {"job": id}}));
    assert_eq!(
        socket.part(1)["error"]["code"],
        "bad_input",
        "it is text that it may see"
    );
    socket.follow(2, json!({"screen": {"job": id}}));
    assert_eq!(socket.part(2)["part"]["rows"], 30);
}
