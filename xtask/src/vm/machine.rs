//! A virtual machine, and commands that run on it over ssh.

use crate::step;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const SCRIPT: &str = "xtask/vm/machine.sh";
const PORT: &str = "22122";

/// The machine is emulated, so it boots in about a minute, or longer on a busy host.
const BOOT: Duration = Duration::from_secs(400);
/// No scenario runs a command that takes longer.
const PATIENCE: &str = "240";

/// The user that logs in. Every login is a session of its own, which ends with the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    Root,
    Job,
}

impl User {
    pub fn name(self) -> &'static str {
        match self {
            User::Root => "root",
            User::Job => "jobuser",
        }
    }
}

/// A running machine. It is turned off when this value is dropped.
pub struct Machine {
    dir: PathBuf,
}

impl Machine {
    /// Boots the machine in this directory, and creates it first if needed.
    pub fn boot(dir: &Path, suite: &str) -> Result<Machine, String> {
        let text = dir.to_string_lossy();
        if !dir.join("boot/initrd").exists() {
            step::run_command(
                Command::new(SCRIPT)
                    .args(["make", &text])
                    .env("SUITE", suite),
            )?;
        }
        step::run_command(
            Command::new(SCRIPT)
                .args(["start", &text])
                .env("PORT", PORT),
        )?;
        let machine = Machine {
            dir: dir.to_owned(),
        };
        machine.wait_until_up(None)?;
        Ok(machine)
    }

    /// Copies both programs, and removes what an earlier run left behind.
    pub fn prepare(&self, programs: &Path) -> Result<(), String> {
        let mut tar = Command::new("tar");
        tar.args(["-c", "-C"])
            .arg(programs)
            .args(["outlive", "outlive-keeper"]);
        let packed = tar.output().map_err(|error| format!("tar: {error}"))?;
        let unpack = "tar -x -C /usr/local/bin --no-same-owner
rm -rf /t /srv/nfs/* /root/.local/state/outlive /home/jobuser/.local/state/outlive
mkdir -p /t && chmod 777 /t";
        let mut ssh = self.ssh(User::Root, unpack);
        feed(&mut ssh, &packed.stdout).map(drop)
    }

    pub fn versions(&self) -> Result<String, String> {
        let ask = "systemctl --version | head -1; uname -sr; outlive --version";
        let said = self.run(User::Root, ask)?;
        Ok(said.lines().collect::<Vec<_>>().join(", "))
    }

    /// Logs in, runs a script, which must succeed, and logs out. Returns its output.
    pub fn run(&self, user: User, script: &str) -> Result<String, String> {
        feed(&mut self.ssh(user, "sh -s"), script.as_bytes())
    }

    /// Logs in and stays logged in while this script runs.
    pub fn stay(&self, user: User, script: &str) -> Result<Child, String> {
        let mut ssh = self.ssh(user, script);
        let quiet = ssh.stdin(Stdio::null()).stdout(Stdio::null());
        quiet.stderr(Stdio::null()).spawn().map_err(said("ssh"))
    }

    /// Restarts the machine with this command, and waits until it is up again.
    pub fn restart(&self, command: &str) -> Result<(), String> {
        let boot = self.boot_id()?;
        // In the background: otherwise the connection to the stopped machine would stay open for long.
        let later = format!("(sleep 1; {command}) > /dev/null 2>&1 < /dev/null &");
        self.run(User::Root, &later)?;
        self.wait_until_up(Some(&boot))
    }

    fn boot_id(&self) -> Result<String, String> {
        self.run(User::Root, "cat /proc/sys/kernel/random/boot_id")
    }

    /// Waits until a login is possible, in another boot than `last`.
    fn wait_until_up(&self, last: Option<&str>) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < BOOT {
            if self.boot_id().is_ok_and(|boot| Some(&*boot) != last) {
                // A user who logs in before the boot is complete gets no systemd of their own.
                return self
                    .run(User::Root, "systemctl is-system-running --wait || true")
                    .map(drop);
            }
            thread::sleep(Duration::from_secs(2));
        }
        let log = self.dir.join("console.log");
        Err(format!("it does not come up: see {}", log.display()))
    }

    fn ssh(&self, user: User, command: &str) -> Command {
        let mut ssh = Command::new("timeout");
        ssh.args([PATIENCE, "ssh", "-q", "-p", PORT, "-i"])
            .arg(self.dir.join("key"))
            .args(["-o", "StrictHostKeyChecking=no"])
            .args(["-o", "UserKnownHostsFile=/dev/null"])
            .args(["-o", "ConnectTimeout=30"])
            .arg(format!("{}@127.0.0.1", user.name()))
            .arg(command);
        ssh
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Turn off the power: unwritten data is lost, and the machine can be booted again.
        let _ = self.run(User::Root, "sync");
        let text = self.dir.to_string_lossy();
        let _ = step::run_command(Command::new(SCRIPT).args(["stop", &text]));
    }
}

/// Runs a command with this on its standard input. Returns its output if it succeeds.
fn feed(command: &mut Command, input: &[u8]) -> Result<String, String> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().map_err(said("ssh"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read all of its input reports why.
        let _ = stdin.write_all(input);
    }
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().map_err(said("ssh"))?;
    let text = String::from_utf8_lossy(&stdout).into_owned();
    match status.success() {
        true => Ok(text),
        false => Err(format!(
            "{status}: {}{}",
            text,
            String::from_utf8_lossy(&stderr)
        )),
    }
}

fn said(program: &str) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{program}: {error}")
}
