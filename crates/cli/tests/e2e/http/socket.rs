//! A WebSocket as a page has one.

use super::client::{Answer, Server};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub struct Socket {
    stream: TcpStream,
    bytes: Vec<u8>,
    /// What came while something else was waited for.
    others: VecDeque<Received>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    Json(Value),
    /// The subscription, the offset and the bytes.
    Output(u32, u64, Vec<u8>),
}

/// Asks for a WebSocket with these headers. `None` if it is refused, with the answer.
pub fn open(
    server: &Server,
    query: &str,
    headers: &[(&'static str, String)],
) -> Result<Socket, Answer> {
    let mut request = format!("GET /v1/stream{query} HTTP/1.1\r\n");
    for (key, value) in headers {
        request.push_str(&format!("{key}: {value}\r\n"));
    }
    request.push_str(
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
    );
    request.push_str("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(40)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(
            stream.read(&mut byte).unwrap(),
            1,
            "{}",
            String::from_utf8_lossy(&head)
        );
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
    if status != 101 {
        return Err(Answer {
            status,
            head,
            body: Vec::new(),
        });
    }
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    Ok(Socket {
        stream,
        bytes: Vec::new(),
        others: VecDeque::new(),
    })
}

impl Socket {
    pub fn of_owner(server: &Server, query: &str) -> Socket {
        open(server, query, &server.owner()).unwrap_or_else(|answer| panic!("{}", answer.head))
    }

    pub fn send(&mut self, message: Value) {
        let text = message.to_string();
        let length = text.len();
        let mut frame = vec![0x81];
        match length {
            0..=125 => frame.push(0x80 | length as u8),
            126..=0xffff => {
                frame.push(0x80 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            _ => panic!("no test sends so much"),
        }
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.stream.write_all(&frame).unwrap();
    }

    pub fn follow(&mut self, sub: u32, what: Value) {
        self.send(json!({"do": "follow", "sub": sub, "what": what}));
    }

    pub fn taken(&mut self, sub: u32, sent: u64) {
        self.send(json!({"do": "taken", "sub": sub, "sent": sent}));
    }

    /// The next message; `None` if the connection has ended.
    pub fn next(&mut self) -> Option<Received> {
        match self.others.pop_front() {
            Some(other) => Some(other),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Option<Received> {
        loop {
            if let Some((opcode, payload)) = self.frame() {
                match opcode {
                    1 => return Some(Received::Json(serde_json::from_slice(&payload).unwrap())),
                    2 => {
                        let sub = u32::from_be_bytes(payload[..4].try_into().unwrap());
                        let at = u64::from_be_bytes(payload[4..12].try_into().unwrap());
                        return Some(Received::Output(sub, at, payload[12..].to_vec()));
                    }
                    8 => return None,
                    _ => continue,
                }
            }
            let mut buffer = vec![0; 65536];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("nothing came")
                }
                Err(_) => return None,
            }
        }
    }

    fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | usize::from(*byte))
        };
        let (start, length) = match self.bytes.get(1)? {
            126 => (4, number(self.bytes.get(2..4)?)),
            127 => (10, number(self.bytes.get(2..10)?)),
            length => (2, usize::from(*length)),
        };
        let payload = self.bytes.get(start..start + length)?.to_vec();
        let opcode = self.bytes[0] & 15;
        self.bytes.drain(..start + length);
        Some((opcode, payload))
    }

    /// The next part of this subscription, which counts as taken.
    pub fn part(&mut self, sub: u32) -> Value {
        let is_it =
            |message: &Received| matches!(message, Received::Json(json) if json["sub"] == sub);
        let known = self.others.iter().position(is_it);
        let message = match known {
            Some(place) => self.others.remove(place).unwrap(),
            None => loop {
                let message = self.read().expect("the connection has ended");
                if is_it(&message) {
                    break message;
                }
                self.others.push_back(message);
            },
        };
        let Received::Json(message) = message else {
            unreachable!()
        };
        if let Some(sent) = message["sent"].as_u64() {
            self.taken(sub, sent);
        }
        message
    }

    /// The answer to this input.
    pub fn answer(&mut self, id: &str) -> Value {
        loop {
            match self.read().expect("the connection has ended") {
                Received::Json(json) if json["id"] == id => return json,
                other => self.others.push_back(other),
            }
        }
    }
}
