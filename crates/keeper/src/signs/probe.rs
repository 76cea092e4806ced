//! Checks whether the job listens on its port, or whether its web server answers. This is done by a process of its
//! own, which ends as soon as the check succeeds.
//!
//! The kernel does not report when a port begins to listen, so this process polls, at growing intervals. It runs only while
//! somebody waits for readiness.

use crate::MARK;
use outlive_core::JobDir;
use outlive_core::ready::{Http, Ready};
use outlive_sys::process::own;
use outlive_sys::{process, tree};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(500);
/// A server that has accepted the connection and sends nothing for this long is asked again.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn run(job: &JobDir, parent: i32) -> io::Result<()> {
    own::die_with_parent(parent)?;
    let spec = job.read_spec().map_err(io::Error::other)?;
    match spec.ready {
        Some(Ready::Port(port)) => {
            let mut listening = Listening::on(port);
            until(|| listening.is_the_jobs(job));
        }
        Some(Ready::Http(http)) => {
            let answers = || ask(&http).is_ok_and(|status| http.accepts(status));
            let mut listening = Listening::on(http.port);
            // A server that answers before the job can is not the job, so wait until the job listens. A server that
            // listens already but does not answer as wanted may be a proxy for the job, so its later answers count.
            if is_here(&http) && !listening.before.is_empty() && answers() {
                until(|| listening.is_the_jobs(job));
            }
            until(answers);
        }
        Some(Ready::Line(_)) | None => {}
    }
    Ok(())
}

/// The sockets that listen on a port of this machine.
struct Listening {
    port: u16,
    /// Those that listened when the probe began, and still do.
    before: Vec<u64>,
}

impl Listening {
    fn on(port: u16) -> Listening {
        Listening {
            port,
            before: process::listeners(port),
        }
    }

    /// Whether the job listens. A socket that listened before does not count, unless a process of the job holds it.
    fn is_the_jobs(&mut self, job: &JobDir) -> bool {
        let now = process::listeners(self.port);
        self.before.retain(|socket| now.contains(socket));
        now.iter().any(|socket| !self.before.contains(socket)) || is_ours(job, &now)
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    let mut pause = FIRST_LOOK;
    while !is_so() {
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_LOOK);
    }
}

/// Whether a process of the job holds one of these sockets.
fn is_ours(job: &JobDir, sockets: &[u64]) -> bool {
    let mark = job.path().as_os_str().as_bytes();
    !sockets.is_empty()
        && tree::all().is_ok_and(|all| {
            all.into_iter().any(|pid| {
                process::started_with(pid, MARK)
                    .ok()
                    .flatten()
                    .is_some_and(|own| own == mark)
                    && process::sockets(pid)
                        .iter()
                        .any(|socket| sockets.contains(socket))
            })
        })
}

fn addresses(http: &Http) -> io::Result<impl Iterator<Item = SocketAddr>> {
    let host = http.host.trim_start_matches('[').trim_end_matches(']');
    (host, http.port).to_socket_addrs()
}

/// Whether the host is this machine, which means that all its addresses are loopback addresses.
fn is_here(http: &Http) -> bool {
    addresses(http).is_ok_and(|mut all| all.all(|address| address.ip().is_loopback()))
}

/// The status code that a web server answers with.
fn ask(http: &Http) -> io::Result<u16> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses(http)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return exchange(stream, http),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn exchange(mut stream: TcpStream, http: &Http) -> io::Result<u16> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: outlive\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        http.path, http.host, http.port
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = [0; 256];
    while !answer.contains(&b'\n') && answer.len() < 1024 {
        match stream.read(&mut buffer)? {
            0 => break,
            count => answer.extend_from_slice(&buffer[..count]),
        }
    }
    status(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses `HTTP/1.1 200 OK`.
fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let mut words = str::from_utf8(line).ok()?.split_whitespace();
    words
        .next()
        .filter(|version| version.starts_with("HTTP/"))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_code_is_parsed() {
        assert_eq!(status(b"HTTP/1.1 204 No Content\r\nA: b\r\n"), Some(204));
        assert_eq!(status(b"HTTP/1.0 500\n"), Some(500));
        for bad in [
            &b""[..],
            b"SSH-2.0-OpenSSH 200",
            b"HTTP/1.1",
            b"HTTP/1.1 abc\n",
            b"\xff\xfe 1",
        ] {
            assert_eq!(status(bad), None);
        }
    }
}
