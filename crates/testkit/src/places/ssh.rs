//! A host that is reached with `ssh`: this machine, over the loopback interface, with another home.

use super::far_home;
use super::sshd::{HOST, Sshd};
use crate::place::{Local, Place, processes_below};
use crate::processes::Process;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Each test has an `sshd` of its own, which ends with the test.
#[derive(Debug, Default)]
pub struct Ssh {
    /// More lines for the configuration of each server.
    server_lines: String,
    /// The servers, by the directory of their test.
    servers: Mutex<HashMap<PathBuf, Arc<Sshd>>>,
}

impl Ssh {
    /// Servers with more lines in their configuration.
    pub fn with_server_lines(lines: &str) -> Ssh {
        Ssh {
            server_lines: lines.to_owned(),
            servers: Mutex::default(),
        }
    }

    /// The server of the test with this directory there.
    pub fn server(&self, scratch: &Path) -> Arc<Sshd> {
        let servers = self.servers.lock().unwrap();
        servers[scratch].clone()
    }
}

impl Place for Ssh {
    fn name(&self) -> &str {
        "ssh"
    }

    /// `ssh` reads the configuration of the user from the password database, whatever `HOME` says. So a script with this
    /// name, which names another configuration, comes first in `PATH`.
    fn direct(&self, command: &mut Command, scratch: &Path) {
        let own = self.server(scratch).client_programs();
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([own].into_iter().chain(env::split_paths(&path)));
        command.env("PATH", path.unwrap());
        command.env("OUTLIVE_PLACE", format!("ssh:{HOST}"));
    }

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let there = here.join("there");
        fs::create_dir(&there)?;
        let server = Sshd::start(&here.join("ssh"), &there, &self.server_lines)?;
        let mut servers = self.servers.lock().unwrap();
        servers.insert(there.clone(), Arc::new(server));
        Ok(there)
    }

    /// Ends the server. The files are in the test's own directory.
    fn remove_scratch(&self, scratch: &Path) {
        self.servers.lock().unwrap().remove(scratch);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::couriers::kill_all;
    use crate::needs::{Need, are_met};
    use crate::processes::begin;
    use crate::ran::Ran;
    use crate::waiting::until;

    fn login(place: &Ssh, scratch: &Path, command: &str) -> Command {
        let program = place.server(scratch).client_programs().join("ssh");
        let mut ssh = Command::new(program);
        ssh.args(["-T", "-oBatchMode=yes", HOST, command]);
        ssh
    }

    #[test]
    fn a_login_has_the_home_of_the_test_and_outlives_the_server() {
        if !are_met(&[Need::Ssh]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = Ssh::default();
        let scratch = place.scratch(directory.path()).unwrap();
        let ran = Ran::of(&mut login(&place, &scratch, "echo $HOME"));
        assert_eq!(ran.text(), scratch.display().to_string(), "{ran:?}");
        let mut session = begin(login(&place, &scratch, "exec sleep 60"));
        let server = place.server(&scratch);
        until("there is a session", || server.sessions().len() > 1);
        let served = server.sessions();
        server.kill();
        server.listen().unwrap();
        assert!(session.try_wait().unwrap().is_none(), "the session goes on");
        kill_all(&served);
        assert_eq!(session.wait().unwrap().code(), Some(255));
        place.remove_scratch(&scratch);
    }
}
