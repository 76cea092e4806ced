//! What arrives and is no message is answered, and what takes no part does not keep others from being served.

use super::client::{Client, stateless};
use super::http::Server;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// A request that is longer than a message may be, with its id where this client writes it.
fn too_long(begin: &str, end: &str) -> String {
    let text = "x".repeat(20 << 20);
    let params =
        format!(r#""params":{{"name":"run","arguments":{{"command":"{text}","id":"no"}}}}"#);
    format!(r#"{{{begin}"jsonrpc":"2.0","method":"tools/call",{params}{end}}}"#)
}

/// Checks a reply to what was no message: its code, and its id, which is not left out.
fn assert_refused(reply: &Value, code: i32, id: &Value) {
    assert_eq!(reply["error"]["code"], code, "{reply}");
    assert_eq!(reply.get("id"), Some(id), "{reply}");
    assert_eq!(reply["jsonrpc"], "2.0", "{reply}");
}

#[test]
fn a_request_that_is_too_long_is_refused_under_its_id_and_the_server_goes_on() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for (begin, end, id) in [
        (r#""id":77,"#, "", json!(77)),
        ("", r#","id":"last""#, json!("last")),
        ("", "", json!(null)),
        (r#""id":{},"#, "", json!(null)),
    ] {
        client.write_line(&too_long(begin, end));
        assert_eq!(client.ok("jobs", json!({}))["jobs"], json!([]));
        // It is read on a thread of its own, so it may be answered a moment later.
        while client.others.is_empty() {
            client.ok("jobs", json!({}));
        }
        let [reply] = &client.others[..] else {
            panic!("{:?}", client.others);
        };
        assert_refused(reply, -32600, &id);
        let words = reply["error"]["message"].as_str().unwrap();
        assert!(words.contains("longer than 16 MiB"), "{words}");
        client.others.clear();
    }
    assert_eq!(client.close(), 0);
}

#[test]
fn a_call_of_a_tool_with_wrong_parameters_says_what_is_wrong() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for params in [
        json!({}),
        json!({"name": 5}),
        json!({"name": "jobs", "arguments": [1]}),
    ] {
        client.write_line(
            &json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": params})
                .to_string(),
        );
        let reply = client.next();
        assert_refused(&reply, -32602, &json!(50));
        assert!(reply.to_string().contains("`name`, a text"), "{reply}");
    }
    client.write_line(r#"{"jsonrpc":"2.0","id":51,"method":"tools/nonsense"}"#);
    assert_refused(&client.next(), -32601, &json!(51));
}

#[test]
fn what_is_no_request_is_refused_with_an_id_or_null() {
    let world = World::new();
    let mut client = Client::silent(&world, &["--session", "s"]);
    for (line, code, id) in [
        ("not JSON", -32700, json!(null)),
        (r#"{"id":3,"#, -32700, json!(null)),
        ("[]", -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, -32600, json!(4)),
        (
            r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#,
            -32600,
            json!("x"),
        ),
    ] {
        client.write_line(line);
        assert_refused(&client.next(), code, &id);
    }
    // These wait for no answer.
    client.write_line(r#"{"jsonrpc":"2.0","method":"$/unknown","params":7}"#);
    client.write_line(r#"{"jsonrpc":"2.0","id":9,"error":7}"#);
    client.initialize("2025-06-18");
    client.ok("jobs", json!({}));
    assert_eq!(client.others, [Value::Null; 0]);
    assert_eq!(client.close(), 0);
}

#[test]
fn a_server_whose_input_ends_has_answered_all_of_it() {
    let world = World::new();
    let mut server = world.command(["mcp"]);
    server.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    server
        .stdin
        .take()
        .unwrap()
        .write_all(b"nonsense\n")
        .unwrap();
    let ran = Ran::end_of(server);
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_refused(&reply, -32700, &json!(null));
}

#[test]
fn what_is_no_request_is_refused_over_http() {
    let world = World::new();
    let server = Server::start(&world);
    let plain = [("Mcp-Method", "tools/call"), ("Mcp-Name", "run")];
    for (body, status, code, id) in [
        ("not JSON".to_owned(), 400, -32700, json!(null)),
        (r#"{"id":3,"#.to_owned(), 400, -32700, json!(null)),
        ("[]".to_owned(), 400, -32600, json!(null)),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":7}"#.to_owned(),
            400,
            -32600,
            json!(4),
        ),
        (too_long(r#""id":5,"#, ""), 413, -32600, json!(5)),
        (too_long("", r#","id":6"#), 413, -32600, json!(6)),
    ] {
        let answer = server.post_text(&body, &plain);
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_refused(&answer.body, code, &id);
    }
    let kind = [&plain[..], &[("Content-Type", "text/plain")]].concat();
    assert_eq!(server.post_text("{}", &kind).status, 415);
    assert_eq!(server.tool("jobs", json!({}))["jobs"], json!([]));
}

/// Over HTTP a message may be as long as over standard input and output.
#[test]
fn a_long_request_is_served_over_both_transports() {
    let world = World::new();
    let long = json!({"text": "x".repeat(6 << 20)});
    let params = json!({"name": "none", "arguments": long, "_meta": stateless()});
    let over_stdio = Client::of(&world, "s").request("tools/call", params.clone());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let over_http = Server::start(&world).post(&call, &[]).body;
    for answer in [over_stdio, over_http] {
        let words = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(words.contains("no tool"), "{answer}");
    }
}

#[test]
fn the_scheme_of_the_authorization_may_be_written_in_any_case() {
    let world = World::new();
    let server = Server::start(&world);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": stateless()}});
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let given = format!("{scheme} {}", server.token);
        let answer = server.post(&list, &[("Authorization", &given)]);
        assert_eq!(answer.status, 200, "{scheme}: {}", answer.body);
    }
    for given in ["basic ", "bearer", ""] {
        let given = format!("{given}{}", server.token);
        assert_eq!(server.post(&list, &[("Authorization", &given)]).status, 401);
    }
}

/// Connects and sends a part of a request, without the token.
fn stranger(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    // The server may have closed it already.
    let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    stream
}

/// Waits until the server has closed the connection, which it never served.
fn until_closed(mut stream: TcpStream) {
    let mut answer = Vec::new();
    // What the server has not read makes this a reset.
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 2"));
}

#[test]
fn connections_without_the_token_do_not_block_those_with_it() {
    let world = World::new();
    let mut limited = Command::new("sh");
    let outlive = world.command(["mcp", "--http", "127.0.0.1:0"]);
    limited.args(["-c", "ulimit -n 128; exec \"$@\"", "sh"]);
    limited.arg(outlive.get_program()).args(outlive.get_args());
    world.give_environment(&mut limited);
    let server = Server::of(limited);
    let strangers: Vec<TcpStream> = (0..400).map(|_| stranger(&server)).collect();
    for _ in 0..3 {
        let ran = server.tool("run", json!({"command": "exit 3", "wait_seconds": 20}));
        assert_eq!(ran["job"]["exit_code"], 3);
    }
    until_closed(strangers.into_iter().next().unwrap());
}

#[test]
fn a_connection_that_never_asks_is_closed_and_one_that_has_shown_the_token_is_not() {
    let world = World::new();
    let server = Server::start(&world);
    let kept = TcpStream::connect(&server.address).unwrap();
    let mut answers = BufReader::new(kept.try_clone().unwrap()).lines();
    let request = format!(
        "PUT /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, server.token
    );
    let mut ask = || {
        (&kept).write_all(request.as_bytes()).unwrap();
        let mut lines = answers.by_ref().map(Result::unwrap);
        lines.find(|line| line.contains("HTTP/1.1 405")).unwrap();
    };
    ask();
    let silent = TcpStream::connect(&server.address).unwrap();
    until_closed(stranger(&server));
    until_closed(silent);
    ask();
}
