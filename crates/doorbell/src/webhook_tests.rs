//! Tests against a real server on this machine.

use crate::ring::ring_bell;
use crate::{NotRung, signature};
use outlive::config::{Bell, Config};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const EVENT: &[u8] = br#"{"event":"1pzrj72dak:7","kind":"ended","text":"job ended"}"#;

/// A request that the server received.
struct Request {
    first: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Request {
        let mut reader = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line");
            line.trim_end().to_owned()
        };
        let first = line();
        let mut headers = Vec::new();
        loop {
            let line = line();
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut request = Request {
            first,
            headers,
            body: Vec::new(),
        };
        let length = request.header("content-length").expect("a length");
        request.body = vec![0; length.parse().expect("a number")];
        reader.read_exact(&mut request.body).expect("a body");
        request
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// A server that gives this answer to one request. Returns its address and the request.
fn server(answer: &'static str) -> (String, JoinHandle<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let request = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let request = Request::read(&stream);
        stream.write_all(answer.as_bytes()).expect("is answered");
        request
    });
    (format!("http://{address}/T0/path?x=1"), request)
}

fn bell(url: &str, rest: &str) -> Bell {
    let text = format!("[[doorbell]]\nname = \"ops\"\nkind = \"webhook\"\nurl = {url:?}\n{rest}");
    let config = Config::parse(Path::new("c.toml"), &text).expect("is right");
    config.doorbells[0].clone()
}

const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

#[test]
fn the_event_is_posted_and_signed() {
    let directory = tempfile::tempdir().expect("a directory");
    let secret = directory.path().join("secret");
    fs::write(&secret, "k3y\n").expect("is written");
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("is changed");
    let (url, request) = server(NO_CONTENT);
    ring_bell(&bell(&url, &format!("secret_file = {secret:?}")), EVENT).expect("rings");
    let request = request.join().expect("was asked");
    assert_eq!(request.first, "POST /T0/path?x=1 HTTP/1.1");
    assert_eq!(request.body, EVENT);
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-outlive-event"), Some("1pzrj72dak:7"));
    let timestamp = request.header("x-outlive-timestamp").expect("a timestamp");
    let timestamp: u64 = timestamp.parse().expect("a number");
    assert!(timestamp.abs_diff(outlive_sys::clock::wall_ms() / 1000) < 60);
    let signature = signature::sign(b"k3y", timestamp, EVENT);
    assert_eq!(
        request.header("x-outlive-signature"),
        Some(signature.as_str())
    );
}

#[test]
fn without_a_secret_there_is_no_signature() {
    let (url, request) = server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    ring_bell(&bell(&url, ""), EVENT).expect("rings");
    let request = request.join().expect("was asked");
    assert_eq!(request.header("x-outlive-signature"), None);
}

#[test]
fn only_a_2xx_status_counts_as_success() {
    for (answer, said) in [
        (
            "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
            "answered 500",
        ),
        (
            "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
            "check its url",
        ),
        (
            "HTTP/1.1 302 Go\r\nLocation: /else\r\nContent-Length: 0\r\n\r\n",
            "not followed",
        ),
        (
            "HTTP/1.1 307 Go\r\nLocation: /else\r\nContent-Length: 0\r\n\r\n",
            "not followed",
        ),
        ("nonsense\r\n\r\n", "cannot be reached"),
    ] {
        let (url, request) = server(answer);
        let error = ring_bell(&bell(&url, ""), EVENT).expect_err("fails");
        let error = error.to_string();
        request.join().expect("was asked, once");
        assert!(error.contains(said), "{answer:?}: {error}");
        assert!(!error.contains("T0"), "the address is shown: {error}");
    }
}

#[test]
fn a_silent_server_is_given_up_after_the_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let began = Instant::now();
    let error = ring_bell(&bell(&url, "timeout = \"300ms\""), EVENT);
    assert!(matches!(error, Err(NotRung::NoAnswer { .. })), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(began.elapsed() >= Duration::from_millis(250));
}

/// Name lookups and routes fail now and then, so there is a second attempt, and no third.
#[test]
fn a_refused_connection_is_tried_twice() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    let url = format!("http://{address}/");
    let began = Instant::now();
    let error = ring_bell(&bell(&url, ""), EVENT).expect_err("nobody is there");
    assert!(matches!(error, NotRung::Unreachable { .. }), "{error}");
    assert!(
        began.elapsed() >= super::webhook::RETRY_PAUSE,
        "tried once only"
    );
    assert!(
        began.elapsed() < super::webhook::RETRY_PAUSE * 8,
        "tried too often"
    );
}

/// A server without TLS gets nothing in plain text.
#[test]
fn https_never_falls_back_to_plain_text() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let sent = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut sent = vec![0; 4096];
        let length = stream.read(&mut sent).expect("something");
        stream
            .write_all(NO_CONTENT.as_bytes())
            .expect("is answered");
        sent.truncate(length);
        sent
    });
    let error = ring_bell(&bell(&format!("https://{address}/"), ""), EVENT);
    assert!(
        matches!(error, Err(NotRung::Unreachable { .. })),
        "{error:?}"
    );
    let sent = sent.join().expect("was asked");
    assert!(!String::from_utf8_lossy(&sent).contains("ended"));
}

#[test]
fn input_that_is_no_event_is_not_posted() {
    let bell = bell("http://127.0.0.1:9/", "");
    for wrong in [
        "",
        "[]",
        "{}",
        "{\"event\":\"a\"}",
        "{\"event\":1,\"text\":\"\"}",
    ] {
        let error = ring_bell(&bell, wrong.as_bytes()).expect_err("fails");
        assert!(matches!(error, NotRung::NoEvent(_)), "{wrong:?}: {error}");
    }
    let error = ring_bell(&bell, br#"{"event":"a\nX-Evil: 1","text":""}"#).expect_err("fails");
    assert!(matches!(error, NotRung::BadId(_)), "{error}");
}
