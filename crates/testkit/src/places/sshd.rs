//! A server of SSH on the loopback interface, and a client configuration that knows it as [`HOST`].
//!
//! It has a port, a host key and a list of keys of its own, and does not touch the user's. A login there has the home
//! directory of the test.

use super::shared;
use crate::processes::{KILL, Process, kill};
use crate::waiting::try_until_within;
use outlive_sys::tree;
use std::fs::{self, Permissions};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// The name of the host in the client's configuration.
pub const HOST: &str = "box";

/// Where distributions install it. It is often not in `PATH`, and wants to be called by its whole path.
const PROGRAMS: [&str; 3] = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"];

/// How often another port is tried. Between choosing a free one and listening there, others can take it.
const ATTEMPTS: u32 = 5;

/// The path of `sshd`, if it is installed.
pub fn program() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|path| Path::new(path).is_file())
}

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub struct Sshd {
    directory: PathBuf,
    port: u16,
    process: Mutex<Option<Child>>,
}

impl Sshd {
    /// Starts a server with these lines in its configuration. Its files are in this new directory, and a login there
    /// begins with this `HOME`.
    pub fn start(directory: &Path, home: &Path, lines: &str) -> io::Result<Sshd> {
        fs::create_dir(directory)?;
        // The directory for the unprivileged half of a server that root runs.
        let _ = fs::create_dir("/run/sshd");
        let mut failure = io::Error::other("no port");
        for _ in 0..ATTEMPTS {
            let server = Sshd {
                directory: directory.to_owned(),
                port: TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
                process: Mutex::new(None),
            };
            server.write_configuration(home, lines)?;
            match server.listen() {
                Ok(()) => return Ok(server),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn write_configuration(&self, home: &Path, lines: &str) -> io::Result<()> {
        let keys = keys()?;
        let keys_shown = keys.display();
        let here = self.directory.display();
        let port = self.port;
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {keys_shown}/host\n\
             AuthorizedKeysFile {keys_shown}/user.pub\nPidFile none\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\n\
             MaxStartups 200\nMaxSessions 200\n\
             SetEnv HOME={} XDG_CACHE_HOME={}\n{lines}\n",
            home.display(),
            shared().display()
        );
        let client = format!(
            "Host {HOST}\n HostName 127.0.0.1\n Port {port}\n User {}\n IdentityFile {keys_shown}/user\n\
             \x20IdentitiesOnly yes\n UserKnownHostsFile {here}/known_hosts\n StrictHostKeyChecking yes\n",
            user()
        );
        let host_key = fs::read_to_string(keys.join("host.pub"))?;
        let known = format!("[127.0.0.1]:{port} {host_key}");
        let program = format!(
            "#!/bin/sh\nexec {} -F {here}/ssh_config \"$@\"\n",
            client_program()
        );
        fs::write(self.directory.join("sshd_config"), server)?;
        fs::write(self.directory.join("ssh_config"), client)?;
        fs::write(self.directory.join("known_hosts"), known)?;
        let script = self.client_programs().join("ssh");
        fs::create_dir_all(self.client_programs())?;
        fs::write(&script, program)?;
        fs::set_permissions(script, Permissions::from_mode(0o755))
    }

    /// Starts the server again, at the same port, after [`Sshd::kill`].
    pub fn listen(&self) -> io::Result<()> {
        let program = program().ok_or_else(|| io::Error::other("sshd is not installed"))?;
        let log = self.directory.join("sshd.log");
        let before = times_listening(&log);
        // It must not outlive a test that is killed.
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", program, "-D", "-f"])
            .arg(self.directory.join("sshd_config"))
            .arg("-E")
            .arg(&log)
            .stdin(Stdio::null())
            .spawn()?;
        let mut is_over = false;
        let is_up = try_until_within(Duration::from_secs(20), "sshd listens", || {
            is_over = child.try_wait().is_ok_and(|end| end.is_some());
            is_over || times_listening(&log) > before
        });
        if is_over || is_up.is_err() {
            let _ = child.kill();
            let _ = child.wait();
            let said = fs::read_to_string(log).unwrap_or_default();
            return Err(io::Error::other(format!("sshd does not listen: {said}")));
        }
        *self.process.lock().unwrap() = Some(child);
        Ok(())
    }

    /// Kills the server with SIGKILL. Its sessions go on.
    pub fn kill(&self) {
        if let Some(mut child) = self.process.lock().unwrap().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The processes of the server's sessions: the descendants of the server that run `sshd`.
    pub fn sessions(&self) -> Vec<Process> {
        let server = self.process.lock().unwrap().as_ref().map(Child::id);
        let mut found = Vec::new();
        let mut parents: Vec<i32> = server.into_iter().map(|pid| pid as i32).collect();
        while let Some(parent) = parents.pop() {
            for child in tree::children(parent).unwrap_or_default() {
                if runs_sshd(child) {
                    found.extend(Process::find(child));
                    parents.push(child);
                }
            }
        }
        found
    }

    /// The directory with the `ssh` that uses the configuration for this server.
    pub fn client_programs(&self) -> PathBuf {
        self.directory.join("bin")
    }

    /// A file of this server: `sshd_config`, `ssh_config`, `known_hosts`, `sshd.log`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let sessions = self.sessions();
        self.kill();
        for session in sessions {
            kill(session.pid, KILL);
        }
    }
}

/// Newer releases run a session in a program of its own, `sshd-session`.
pub(super) fn runs_sshd(pid: i32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let name = program.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("sshd")
}

/// How often a server says in its log that it listens.
fn times_listening(log: &Path) -> usize {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.matches("Server listening on ").count()
}

/// The keys of all test servers and their user, which are made once.
pub(super) fn keys() -> io::Result<PathBuf> {
    let keys = shared().join("keys");
    if keys.is_dir() {
        return Ok(keys);
    }
    let draft = tempfile::tempdir_in(shared())?;
    for name in ["host", "user", "stranger"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
            .arg(draft.path().join(name))
            .status()?;
        if !made.success() {
            return Err(io::Error::other("ssh-keygen failed"));
        }
    }
    // Another test may have made them meanwhile, which are as good.
    let _ = fs::rename(draft.path(), &keys);
    Ok(keys)
}

/// A key that belongs to nobody: `user` of it is not let in, `host` of it is not known.
pub fn stranger() -> io::Result<PathBuf> {
    Ok(keys()?.join("stranger"))
}

fn client_program() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|it| it.join("ssh"));
    let found = found.find(|path| path.is_file());
    found.map_or_else(|| "/usr/bin/ssh".to_owned(), |it| it.display().to_string())
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output();
    let output = output.map(|it| it.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}
