//! Over HTTP: a token, the right host, no web pages of elsewhere; and the same tools.

use super::client::{ends_in, stateless};
use crate::world::{Ran, World};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and what came as JSON, in one event or as it is.
struct Answer {
    status: u16,
    body: Value,
}

impl Server {
    fn start(world: &World) -> Server {
        let mut child = world
            .command(["mcp", "--http", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = words.next().unwrap().unwrap();
        let token = words.next().unwrap().unwrap();
        let (_, url) = url.rsplit_once("http://").unwrap();
        Server {
            child,
            address: url.trim_end_matches("/mcp").to_owned(),
            token: token.rsplit_once(' ').unwrap().1.to_owned(),
        }
    }

    /// One request, with these headers instead of those a client sends.
    fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let method = message["method"].as_str().unwrap();
        let name = message["params"]["name"].as_str().unwrap_or_default();
        let mut all = vec![
            ("Host", self.address.as_str()),
            ("Authorization", &bearer),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
            ("Mcp-Name", name),
            ("Outlive-Session", "s"),
        ];
        for (key, value) in headers {
            all.retain(|(known, _)| known != key);
            all.push((key, value));
        }
        all.retain(|(_, value)| !value.is_empty());
        let body = message.to_string();
        // The old version has no chunks: the end of the connection ends the answer.
        let mut request = "POST /mcp HTTP/1.0\r\n".to_owned();
        for (key, value) in all {
            request.push_str(&format!("{key}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.filter_map(|data| serde_json::from_str(data).ok());
        let event = messages.rfind(|message: &Value| message.get("id").is_some());
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            body: event
                .or_else(|| serde_json::from_str(body).ok())
                .unwrap_or(Value::Null),
        }
    }

    fn tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments, "_meta": stateless()});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = self.post(&call, &[]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["result"]["structuredContent"].clone()
    }
}

#[test]
fn the_tools_work_over_http_and_an_end_is_told_once() {
    let world = World::new();
    let server = Server::start(&world);
    let ran = server.tool("run", json!({"command": "exit 3", "wait_seconds": 20}));
    assert_eq!(ran["job"]["exit_code"], 3);
    assert_eq!(ran["job"]["session"], "s");
    let gate = world.path("gate");
    let command = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
    let ran = server.tool("run", json!({"command": command}));
    let id = ran["job"]["id"].as_str().unwrap();
    std::fs::write(&gate, "").unwrap();
    world.until_over(id);
    assert_eq!(ends_in(&server.tool("jobs", json!({}))), [id]);
    assert_eq!(ends_in(&server.tool("jobs", json!({}))), [""; 0]);
    let told = std::fs::read_to_string(world.job_dir(id).join("told")).unwrap();
    assert!(told.contains("told"), "{told}");
}

#[test]
fn clients_that_initialize_are_served_over_http() {
    let world = World::new();
    let server = Server::start(&world);
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    });
    let legacy = [
        ("MCP-Protocol-Version", "2025-06-18"),
        ("Mcp-Method", ""),
        ("Mcp-Name", ""),
    ];
    let answer = server.post(&initialize, &legacy);
    assert_eq!(answer.body["result"]["protocolVersion"], "2025-06-18");
    let params = json!({"name": "jobs", "arguments": {}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let answer = server.post(&call, &legacy);
    let jobs = &answer.body["result"]["structuredContent"]["jobs"];
    assert_eq!(jobs, &json!([]), "{}", answer.body);
}

#[test]
fn who_has_no_token_names_another_host_or_is_a_page_of_elsewhere_is_refused() {
    let world = World::new();
    let server = Server::start(&world);
    let params = json!({"name": "run", "arguments": {"command": "true"}, "_meta": stateless()});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for (header, status) in [
        (("Authorization", ""), 401),
        (("Authorization", "Bearer wrong"), 401),
        (("Host", "evil.example:80"), 403),
        (("Origin", "https://evil.example"), 403),
        (("Origin", "http://localhost.evil.example"), 403),
        (("Origin", "null"), 403),
    ] {
        let answer = server.post(&call, &[header]);
        assert_eq!(answer.status, status, "{header:?}: {}", answer.body);
    }
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
    let page = format!("http://{}", server.address);
    assert_eq!(server.post(&call, &[("Origin", &page)]).status, 200);
}

#[test]
fn an_address_others_reach_and_a_token_others_read_are_refused() {
    let world = World::new();
    let refused = |args: &[&str]| {
        let ran = Ran::of(&mut world.command([&["mcp"], args].concat()));
        assert_eq!(ran.code, 125, "{ran:?}");
        ran.stderr
    };
    assert!(refused(&["--http", "0.0.0.0:0"]).contains("--allow-remote"));
    let token = world.path("token");
    std::fs::write(&token, "secret\n").unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let token = token.to_str().unwrap();
    let said = refused(&["--http", "127.0.0.1:0", "--token-file", token]);
    assert!(said.contains("chmod 600"), "{said}");
}
