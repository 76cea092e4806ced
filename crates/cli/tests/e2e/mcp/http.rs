//! MCP over HTTP: the token, the allowed hosts and origins, and the same tools.

use super::client::{ends_in, stateless};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

pub struct Server {
    child: Child,
    pub address: String,
    pub token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status, the session ID of the transport, and the JSON body, which may come as an event.
pub struct Answer {
    pub status: u16,
    session: String,
    pub body: Value,
}

impl Server {
    pub fn start(world: &World) -> Server {
        Server::of(world.command(["mcp", "--http", "127.0.0.1:0"]))
    }

    /// Starts a server with this command.
    pub fn of(mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
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

    /// Sends one request. These headers replace the usual ones.
    pub fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut stream = self.send("POST", message, headers);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        Answer::of(&answer)
    }

    /// Sends a body that need not be a message.
    pub fn post_text(&self, body: &str, headers: &[(&str, &str)]) -> Answer {
        let mut stream = self.write("POST", &Value::Null, body, headers);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        Answer::of(&answer)
    }

    fn send(&self, verb: &str, message: &Value, headers: &[(&str, &str)]) -> TcpStream {
        self.write(verb, message, &message.to_string(), headers)
    }

    fn write(
        &self,
        verb: &str,
        message: &Value,
        body: &str,
        headers: &[(&str, &str)],
    ) -> TcpStream {
        let bearer = format!("Bearer {}", self.token);
        let method = message["method"].as_str().unwrap_or_default();
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
        // HTTP/1.0 has no chunks, so the end of the connection ends the answer.
        let mut request = format!("{verb} /mcp HTTP/1.0\r\n");
        for (key, value) in all {
            request.push_str(&format!("{key}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub fn tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments, "_meta": stateless()});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = self.post(&call, &[]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["result"]["structuredContent"].clone()
    }
}

impl Answer {
    fn of(answer: &str) -> Answer {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut headers = head.lines().filter_map(|line| line.split_once(": "));
        let session = headers.find(|(key, _)| key.eq_ignore_ascii_case("mcp-session-id"));
        let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.filter_map(|data| serde_json::from_str(data).ok());
        let event = messages.rfind(|message: &Value| message.get("id").is_some());
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            session: session.map_or(String::new(), |(_, value)| value.to_owned()),
            body: event
                .or_else(|| serde_json::from_str(body).ok())
                .unwrap_or(Value::Null),
        }
    }
}

#[test]
fn the_tools_work_over_http_and_an_end_is_told_once() {
    let world = World::new();
    let server = Server::start(&world);
    let ran = server.tool("run", json!({"command": "exit 3", "wait_seconds": 20}));
    assert_eq!(ran["job"]["exit_code"], 3);
    let id = ran["job"]["id"].as_str().unwrap();
    assert_eq!(world.show(id)["session"], "s");
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

/// A client of the 2025 protocol, which uses a session of the transport.
struct Older<'a> {
    server: &'a Server,
    session: String,
}

impl<'a> Older<'a> {
    fn of(server: &'a Server) -> Older<'a> {
        let mut client = Older {
            server,
            session: String::new(),
        };
        let answer = client.request(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        );
        assert_eq!(answer.body["result"]["protocolVersion"], "2025-06-18");
        client.session = answer.session;
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(server.post(&begun, &client.headers()).status, 202);
        client
    }

    fn headers(&self) -> [(&str, &str); 4] {
        [
            ("MCP-Protocol-Version", "2025-06-18"),
            ("Mcp-Method", ""),
            ("Mcp-Name", ""),
            ("Mcp-Session-Id", &self.session),
        ]
    }

    fn request(&self, method: &str, params: Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.server.post(&message, &self.headers())
    }

    fn tool(&self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments}));
        answer.body["result"]["structuredContent"].clone()
    }

    /// The messages that the server sends by itself, from now on or from after this event of a lost stream.
    fn listen(&self, after: &str) -> impl Iterator<Item = Value> {
        let headers = [&self.headers()[..], &[("Last-Event-ID", after)]].concat();
        let stream = self.server.send("GET", &Value::Null, &headers);
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok())
    }
}

#[test]
fn clients_that_initialize_are_served_over_http_and_told_once() {
    let world = World::new();
    let server = Server::start(&world);
    let client = Older::of(&server);
    assert_eq!(client.tool("jobs", json!({}))["jobs"], json!([]));
    world.ok(&["run", "--session", "s", "--id", "x", "--", "true"]);
    world.until_over("x");
    assert_eq!(ends_in(&client.tool("jobs", json!({}))), ["x"]);
    assert_eq!(ends_in(&client.tool("jobs", json!({}))), [""; 0]);
    let told = std::fs::read_to_string(world.job_dir("x").join("told")).unwrap();
    assert!(told.contains("\"told\""), "{told}");
}

#[test]
fn a_session_of_the_transport_ends_and_its_jobs_are_found_by_the_next() {
    let world = World::new();
    let server = Server::start(&world);
    let client = Older::of(&server);
    let ran = client.tool("run", json!({"command": "sleep 600", "name": "long"}));
    let id = &ran["job"]["id"];
    let mut ended = String::new();
    let mut stream = server.send("DELETE", &Value::Null, &client.headers());
    stream.read_to_string(&mut ended).unwrap();
    assert!(ended.contains(" 200 "), "{ended}");
    assert_eq!(client.request("tools/list", json!({})).status, 404);
    let next = Older::of(&server);
    assert_eq!(next.tool("jobs", json!({}))["jobs"][0]["id"], *id);
    next.tool("stop", json!({"ids": [id]}));
}

#[test]
fn a_session_of_the_transport_goes_on_with_the_next_server() {
    let world = World::new();
    let first = Server::start(&world);
    let session = Older::of(&first).session.clone();
    drop(first);
    let server = Server::start(&world);
    let server = &server;
    let client = Older { server, session };
    let ran = client.tool("run", json!({"command": "exit 3", "wait_seconds": 20}));
    assert_eq!(ran["job"]["exit_code"], 3);
}

#[test]
fn a_reply_whose_connection_was_lost_can_be_fetched_again() {
    let world = World::new();
    let server = Server::start(&world);
    let client = Older::of(&server);
    let gate = world.path("gate");
    let script = format!(
        "until [ -e {} ]; do sleep 0.02; done; exit 3",
        gate.display()
    );
    let arguments = json!({"command": script, "wait_seconds": 20});
    let params = json!({"name": "run", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let lines = BufReader::new(server.send("POST", &call, &client.headers())).lines();
    let mut lines = lines.map_while(Result::ok);
    let first = lines.find_map(|line| line.strip_prefix("id: ").map(str::to_owned));
    let first = first.unwrap();
    drop(lines);
    std::fs::write(&gate, "").unwrap();
    let mut replayed = client.listen(&first);
    let reply = replayed.find(|message| message["id"] == 7).unwrap();
    let job = &reply["result"]["structuredContent"]["job"];
    assert_eq!(job["exit_code"], 3, "{reply}");
}

#[test]
fn each_client_of_an_older_revision_has_its_own_subscriptions_over_http() {
    let world = World::new();
    let server = Server::start(&world);
    let gate = world.path("gate");
    let script = format!(
        "until [ -e {} ]; do sleep 0.02; done; echo x",
        gate.display()
    );
    let (one, two) = (Older::of(&server), Older::of(&server));
    let id = one.tool("run", json!({"command": script}))["job"]["id"].clone();
    let uri = format!("outlive://jobs/{}/output", id.as_str().unwrap());
    let listening = [one.listen(""), two.listen("")];
    for client in [&one, &two] {
        let answer = client.request("resources/subscribe", json!({"uri": uri}));
        assert!(answer.body["result"].is_object(), "{}", answer.body);
    }
    let third = Older::of(&server);
    third.request("resources/subscribe", json!({"uri": uri}));
    third.request("resources/unsubscribe", json!({"uri": uri}));
    std::fs::write(&gate, "").unwrap();
    for mut said in listening {
        let is_update = |said: &Value| said["method"] == "notifications/resources/updated";
        let update = said.find(is_update).unwrap();
        assert_eq!(update["params"]["uri"], uri.as_str());
    }
}

#[test]
fn a_request_without_token_with_another_host_or_origin_is_refused() {
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
