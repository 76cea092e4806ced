//! A real server of SWE-ReX, which executes on this machine with another home.

use super::one_shot::configure;
use super::{far_home, shared};
use crate::couriers::{far_ends_at, kill_all};
use crate::place::{Local, Place, processes_below};
use crate::processes::Process;
use crate::programs;
use crate::waiting::try_until;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// What the servers of the tests want to know.
const TOKEN: &str = "token-of-the-tests";

/// Each test has a server of its own, which ends with the test.
#[derive(Debug, Default)]
pub struct SweRex {
    /// The servers and their ports, by the directory of their test.
    servers: Mutex<HashMap<PathBuf, (u16, Option<Child>)>>,
}

/// The Python that has `swe-rex`, if it is installed: `cargo xtask test --install` does that.
pub fn python() -> Option<PathBuf> {
    let target = programs::directory().parent()?;
    let python = target.join("tools/swe-rex/bin/python");
    python.is_file().then_some(python)
}

impl SweRex {
    /// Starts the server of the test with this directory there, at its port, and waits until it answers.
    pub fn serve(&self, scratch: &Path) -> io::Result<()> {
        let missing = || io::Error::other("swe-rex is not installed");
        let port = self.port(scratch);
        let mut command = Command::new(python().ok_or_else(missing)?);
        let log = File::create(scratch.with_file_name("swe-rex.log"))?;
        let child = command
            .args(["-m", "swerex.server", "--host", "127.0.0.1"])
            .args(["--port", &port.to_string(), "--auth-token", TOKEN])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", scratch)
            .env("XDG_CACHE_HOME", shared())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.servers
            .lock()
            .unwrap()
            .insert(scratch.to_owned(), (port, Some(child)));
        try_until("the server of SWE-ReX answers", || self.is_alive(scratch))
            .map_err(io::Error::other)
    }

    /// Kills the server of the test with this directory there.
    pub fn kill(&self, scratch: &Path) {
        let mut servers = self.servers.lock().unwrap();
        if let Some((_, child)) = servers.get_mut(scratch)
            && let Some(mut child) = child.take()
        {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Whether the server answers.
    pub fn is_alive(&self, scratch: &Path) -> bool {
        let asked = || -> io::Result<bool> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port(scratch)))?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            write!(
                stream,
                "GET /is_alive HTTP/1.0\r\nX-API-Key: {TOKEN}\r\n\r\n"
            )?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer.contains("\"is_alive\":true"))
        };
        asked().unwrap_or(false)
    }

    /// The port of the server of this test; a free one, if it has none yet.
    fn port(&self, scratch: &Path) -> u16 {
        let mut servers = self.servers.lock().unwrap();
        let free = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            (listener.local_addr().unwrap().port(), None)
        };
        servers.entry(scratch.to_owned()).or_insert_with(free).0
    }
}

impl Place for SweRex {
    fn name(&self) -> &str {
        "swerex"
    }

    fn direct(&self, command: &mut Command, _: &Path) {
        command.env("OUTLIVE_PLACE", "box").env("REX_TOKEN", TOKEN);
    }

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let there = here.join("there");
        fs::create_dir(&there)?;
        let port = self.port(&there);
        let at = format!("swerex:http://127.0.0.1:{port}");
        configure(here, &at, "token_env = \"REX_TOKEN\"")?;
        self.serve(&there)?;
        Ok(there)
    }

    /// The files are in the test's own directory.
    fn remove_scratch(&self, scratch: &Path) {
        self.kill(scratch);
        kill_all(&far_ends_at(scratch));
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Local.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Local.write(path, bytes)
    }

    fn process(&self, pid: i32) -> Option<Process> {
        Local.process(pid)
    }

    fn signal(&self, process: Process, signal: i32) {
        Local.signal(process, signal);
    }

    fn processes(&self, scratch: &Path) -> Vec<Process> {
        processes_below(&far_home(scratch))
    }
}
