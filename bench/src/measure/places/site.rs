//! A host on the loopback interface, and the home here that uses it.

use crate::BenchError;
use crate::contender::{Outlive, output_of};
use crate::run::Bench;
use outlive_testkit::couriers::{couriers_of, far_ends_at};
use outlive_testkit::places::shared;
use outlive_testkit::places::sshd::{HOST, Sshd};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

pub struct Site {
    /// Keeps the server running.
    server: Sshd,
    outlive: Outlive,
    program: PathBuf,
    directory: PathBuf,
    homes: AtomicUsize,
    path: OsString,
}

impl Site {
    pub fn new(bench: &Bench) -> Result<Site, BenchError> {
        let directory = bench.directory()?;
        let login = directory.join("login");
        let said = |error: std::io::Error| error.to_string();
        fs::create_dir(&login).map_err(said)?;
        let server = Sshd::start(&directory.join("ssh"), &login, "").map_err(said)?;
        let path = env::var_os("PATH").unwrap_or_default();
        let own = [server.client_programs()];
        let path = env::join_paths(own.into_iter().chain(env::split_paths(&path)));
        let site = Site {
            outlive: Outlive::new("outlive", &bench.outlive, directory.join("home"), &[]),
            program: bench.outlive.clone(),
            homes: AtomicUsize::new(0),
            path: path.map_err(|error| error.to_string())?,
            server,
            directory,
        };
        output_of(&mut site.ssh(&["-M", "-N", "-f", &site.master(), "-oControlPersist=yes"]))?;
        Ok(site)
    }

    /// The place, as `--place` names it.
    pub fn place(&self) -> String {
        format!("ssh:{HOST}")
    }

    /// `outlive` with this home and the client of this site.
    pub fn outlive(&self, args: &[&str]) -> Command {
        self.with_client(self.outlive.command(args))
    }

    /// `outlive` with a home that has never been used.
    pub fn outlive_anew(&self, args: &[&str]) -> Command {
        let number = self.homes.fetch_add(1, Ordering::Relaxed);
        let home = self.directory.join(format!("home-{number}"));
        let outlive = Outlive::new("outlive", &self.program, home, &[]);
        self.with_client(outlive.command(args))
    }

    fn with_client(&self, mut command: Command) -> Command {
        command.env("PATH", &self.path);
        command
    }

    /// Runs `outlive`, which must succeed.
    pub fn ok(&self, args: &[&str]) -> Result<String, BenchError> {
        output_of(&mut self.outlive(args))
    }

    /// Plain `ssh` to the host, with these words after its name.
    pub fn ssh_run(&self, words: &[&str]) -> Command {
        let mut ssh = self.ssh(&["-T"]);
        ssh.args(words);
        ssh
    }

    /// `ssh` over the master connection.
    pub fn ssh_over_master(&self, words: &[&str]) -> Command {
        let mut ssh = self.ssh(&["-T", &self.master()]);
        ssh.args(words);
        ssh
    }

    fn ssh(&self, options: &[&str]) -> Command {
        let mut ssh = Command::new(self.server.client_programs().join("ssh"));
        ssh.args(["-oBatchMode=yes", "-oLogLevel=ERROR"])
            .args(options)
            .arg(HOST);
        ssh
    }

    fn master(&self) -> String {
        format!("-oControlPath={}", self.directory.join("master").display())
    }

    /// Removes our program from the host, as if it had never been used.
    pub fn forget_program(&self) -> Result<(), BenchError> {
        match fs::remove_dir_all(self.programs()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    /// Where our program is there.
    pub fn programs(&self) -> PathBuf {
        shared().join("outlive")
    }

    /// The couriers of this home.
    pub fn couriers(&self) -> Vec<i32> {
        let found = couriers_of(&self.outlive.home).into_iter();
        found.map(|it| it.pid).collect()
    }

    /// The far ends of this host.
    pub fn far_ends(&self) -> Vec<i32> {
        let found = far_ends_at(&self.directory.join("login")).into_iter();
        found.map(|it| it.pid).collect()
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
