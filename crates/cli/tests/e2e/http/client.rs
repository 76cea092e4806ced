//! A server and a client for it, which writes its requests as they go over the wire.

use outlive_testkit::world::World;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

pub struct Server {
    pub child: Child,
    pub address: String,
    pub owner: String,
    pub reader: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Server {
    pub fn start(world: &World) -> Server {
        Server::of(world.command(["serve", "--json"]))
    }

    /// Starts a server with this command.
    pub fn of(mut command: Command) -> Server {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let links: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| links[key].as_str().unwrap().to_owned();
        let token = |key: &str| text(key).rsplit_once("#t=").unwrap().1.to_owned();
        let url = text("url");
        Server {
            child,
            address: url
                .trim_start_matches("http://")
                .trim_end_matches('/')
                .to_owned(),
            owner: token("link"),
            reader: token("read_only_link"),
        }
    }

    /// The headers of a program that has the owner's token.
    pub fn owner(&self) -> Vec<(&'static str, String)> {
        self.with_token(&self.owner)
    }

    pub fn reader(&self) -> Vec<(&'static str, String)> {
        self.with_token(&self.reader)
    }

    fn with_token(&self, token: &str) -> Vec<(&'static str, String)> {
        vec![
            ("Host", self.address.clone()),
            ("Authorization", format!("Bearer {token}")),
            ("Content-Type", "application/json".to_owned()),
        ]
    }

    /// The headers of the page in a browser with the owner's cookie.
    pub fn page(&self) -> Vec<(&'static str, String)> {
        let port = self.address.rsplit_once(':').unwrap().1;
        vec![
            ("Host", self.address.clone()),
            ("Cookie", format!("outlive-{port}={}", self.owner)),
            ("Origin", format!("http://{}", self.address)),
            ("Sec-Fetch-Site", "same-origin".to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ]
    }

    /// Sends a request. HTTP/1.0 has no chunks, so the end of the connection ends the answer.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&'static str, String)],
        body: &str,
    ) -> TcpStream {
        let mut request = format!("{method} {path} HTTP/1.0\r\n");
        for (key, value) in headers {
            request.push_str(&format!("{key}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&'static str, String)],
        body: &str,
    ) -> Answer {
        Answer::read(self.send(method, path, headers, body))
    }

    /// Calls a verb as the owner. Whatever it answers must be JSON.
    pub fn call(&self, verb: &str, request: &Value) -> (u16, Value) {
        let path = format!("/v1/{verb}");
        let answer = self.ask("POST", &path, &self.owner(), &request.to_string());
        (answer.status, answer.json())
    }

    /// Calls a verb as the owner, which must succeed.
    #[track_caller]
    pub fn ok(&self, verb: &str, request: Value) -> Value {
        let (status, reply) = self.call(verb, &request);
        assert_eq!(status, 200, "{verb} {request}: {reply}");
        reply
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &self.owner(), "")
    }
}

impl Answer {
    pub fn read(mut stream: TcpStream) -> Answer {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body: bytes[end + 4..].to_vec(),
        }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}
