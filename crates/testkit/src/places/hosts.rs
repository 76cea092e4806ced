//! Hosts of their own on this machine, with links that can be cut: for the long tests.
//!
//! ```text
//!  this machine ── bridge ──┬── h1: network, host name, mounts, PIDs and boot id of its own; sshd
//!                           └── h2: …
//! ```
//! A host that crashes loses all its processes at once. When it boots again, it has another boot id and another PID
//! namespace. Its files stay. Needs root, `ip` (package iproute2), `unshare` and `sshd`.

use super::far_home;
use super::sshd::{keys, program, runs_sshd};
use crate::couriers::is_far_end;
use crate::processes::{KILL, Process, kill, of_jobs_in};
use crate::ran::Ran;
use crate::waiting::until;
use crate::world::World;
use outlive_sys::{process, tree};
use std::fs::{self, Permissions};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// A hardware address that nobody has: frames to it are lost without a word.
const NOBODY: &str = "02:00:00:00:00:99";

/// Several hosts, numbered from 1. Everything is removed when this is dropped.
#[derive(Debug)]
pub struct Hosts {
    directory: PathBuf,
    /// A part of the names of interfaces and namespaces, which differs from process to process.
    mark: String,
    /// The third number of the addresses.
    network: u8,
    /// The first process of each host.
    running: Mutex<Vec<Option<Child>>>,
}

impl Hosts {
    /// Makes and boots so many hosts. Their files are below the directory of this world.
    pub fn start(world: &World, count: usize) -> io::Result<Hosts> {
        let pid = std::process::id();
        let hosts = Hosts {
            directory: world.path("hosts"),
            mark: format!("{:05}", pid % 100_000),
            network: (pid % 200) as u8 + 10,
            running: Mutex::new((0..count).map(|_| None).collect()),
        };
        fs::create_dir_all(hosts.programs())?;
        let bridge = hosts.bridge();
        ip(&["link", "add", &bridge, "type", "bridge"]);
        ip(&[
            "addr",
            "add",
            &format!("{}/24", hosts.address(0)),
            "dev",
            &bridge,
        ]);
        ip(&["link", "set", &bridge, "up"]);
        for host in 1..=count {
            hosts.connect(host);
            hosts.boot(host)?;
        }
        hosts.write_client_configuration(count)?;
        Ok(hosts)
    }

    /// The place of this host, as `--place` names it.
    pub fn place(&self, host: usize) -> String {
        format!("ssh:h{host}")
    }

    /// The directory with the `ssh` that knows these hosts.
    pub fn programs(&self) -> PathBuf {
        self.directory.join("bin")
    }

    /// The login directory of this host.
    pub fn home(&self, host: usize) -> PathBuf {
        self.directory.join(format!("h{host}"))
    }

    fn bridge(&self) -> String {
        format!("olb{}", self.mark)
    }

    fn namespace(&self, host: usize) -> String {
        format!("ol{}h{host}", self.mark)
    }

    fn cable(&self, host: usize) -> String {
        format!("olv{}x{host}", self.mark)
    }

    fn address(&self, host: usize) -> String {
        format!("10.77.{}.{}", self.network, host + 1)
    }

    fn connect(&self, host: usize) {
        let (namespace, cable, bridge) = (self.namespace(host), self.cable(host), self.bridge());
        ip(&["netns", "add", &namespace]);
        let peer = ["peer", "name", "eth0", "netns", &namespace];
        ip(&[&["link", "add", &cable, "type", "veth"][..], &peer].concat());
        ip(&["link", "set", &cable, "master", &bridge, "up"]);
        let address = format!("{}/24", self.address(host));
        ip(&["-n", &namespace, "addr", "add", &address, "dev", "eth0"]);
        ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
        ip(&["-n", &namespace, "link", "set", "lo", "up"]);
    }

    /// Boots a host that does not run. Its `sshd` answers when this returns.
    pub fn boot(&self, host: usize) -> io::Result<()> {
        let home = self.home(host);
        fs::create_dir_all(home.join(".cache"))?;
        let program = program().ok_or_else(|| io::Error::other("sshd is not installed"))?;
        let config = self.write_server_configuration(host)?;
        let (boot, machine) = (home.join(".boot-id"), home.join(".machine-id"));
        let random = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
        fs::write(&boot, random)?;
        if !machine.exists() {
            fs::write(&machine, format!("{:032x}\n", host))?;
        }
        let script = format!(
            "hostname h{host}; mount --make-rprivate /; mount --bind {} /proc/sys/kernel/random/boot_id; \
             [ ! -e /etc/machine-id ] || mount --bind {} /etc/machine-id; exec {program} -D -f {} -E {}",
            boot.display(),
            machine.display(),
            config.display(),
            self.directory.join(format!("sshd-h{host}.log")).display()
        );
        let child = Command::new("ip")
            .args([
                "netns",
                "exec",
                &self.namespace(host),
                "setpriv",
                "--pdeathsig",
                "KILL",
            ])
            .args([
                "unshare",
                "--uts",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
            ])
            .args(["sh", "-c", &script])
            .stdin(Stdio::null())
            .spawn()?;
        self.running.lock().unwrap()[host - 1] = Some(child);
        let address: SocketAddr = format!("{}:22", self.address(host)).parse().unwrap();
        until("the host answers", || {
            TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
        });
        Ok(())
    }

    fn write_server_configuration(&self, host: usize) -> io::Result<PathBuf> {
        let (keys, home) = (keys()?, self.home(host));
        let config = self.directory.join(format!("sshd_config-h{host}"));
        let (keys, home) = (keys.display(), home.display());
        let text = format!(
            "Port 22\nListenAddress {}\nHostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\nPidFile none\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n\
             PermitRootLogin prohibit-password\nMaxStartups 200\nMaxSessions 200\n\
             SetEnv HOME={home} XDG_CACHE_HOME={home}/.cache\n",
            self.address(host)
        );
        fs::write(&config, text)?;
        Ok(config)
    }

    fn write_client_configuration(&self, count: usize) -> io::Result<()> {
        let keys = keys()?;
        let host_key = fs::read_to_string(keys.join("host.pub"))?;
        let (mut config, mut known) = (String::new(), String::new());
        let known_hosts = self.directory.join("known_hosts");
        for host in 1..=count {
            config.push_str(&format!(
                "Host h{host}\n HostName {}\n User root\n IdentityFile {}\n IdentitiesOnly yes\n\
                 \x20UserKnownHostsFile {}\n StrictHostKeyChecking yes\n ConnectTimeout 10\n",
                self.address(host),
                keys.join("user").display(),
                known_hosts.display()
            ));
            known.push_str(&format!("{} {host_key}", self.address(host)));
        }
        fs::write(known_hosts, known)?;
        let file = self.directory.join("ssh_config");
        fs::write(&file, config)?;
        let script = self.programs().join("ssh");
        let text = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n",
            file.display()
        );
        fs::write(&script, text)?;
        fs::set_permissions(script, Permissions::from_mode(0o755))
    }

    /// The cable of this host is pulled.
    pub fn unplug(&self, host: usize) {
        ip(&["link", "set", &self.cable(host), "down"]);
    }

    /// The cable is plugged in again.
    pub fn plug(&self, host: usize) {
        ip(&["link", "set", &self.cable(host), "up"]);
    }

    /// What this host sends is lost, and it still gets what is sent to it.
    pub fn mute(&self, host: usize) {
        let namespace = self.namespace(host);
        let here = self.address(0);
        let neighbour = [
            "neigh",
            "replace",
            &here,
            "lladdr",
            NOBODY,
            "nud",
            "permanent",
            "dev",
            "eth0",
        ];
        ip(&[&["-n", &namespace][..], &neighbour].concat());
    }

    /// What it sends arrives again.
    pub fn unmute(&self, host: usize) {
        let (namespace, here) = (self.namespace(host), self.address(0));
        ip(&["-n", &namespace, "neigh", "del", &here, "dev", "eth0"]);
    }

    /// What is sent to this host is lost, and what it sends arrives.
    pub fn deafen(&self, host: usize) {
        let (there, bridge) = (self.address(host), self.bridge());
        ip(&[
            "neigh",
            "replace",
            &there,
            "lladdr",
            NOBODY,
            "nud",
            "permanent",
            "dev",
            &bridge,
        ]);
    }

    /// What is sent to it arrives again.
    pub fn undeafen(&self, host: usize) {
        ip(&["neigh", "del", &self.address(host), "dev", &self.bridge()]);
    }

    /// The link of this host carries so many kilobits a second, each way.
    pub fn slow_down(&self, host: usize, kilobits: u32) {
        let rate = format!("{kilobits}kbit");
        let limit = [
            "root", "tbf", "rate", &rate, "burst", "4kb", "latency", "400ms",
        ];
        let cable = self.cable(host);
        must(
            "tc",
            &[&["qdisc", "replace", "dev", &cable][..], &limit].concat(),
        );
        let namespace = self.namespace(host);
        let there = [
            "netns", "exec", &namespace, "tc", "qdisc", "replace", "dev", "eth0",
        ];
        ip(&[&there[..], &limit].concat());
    }

    /// All processes of this host die at the same moment.
    pub fn crash(&self, host: usize) {
        let child = self.running.lock().unwrap()[host - 1].take();
        let Some(mut child) = child else { return };
        let processes = self.processes(host);
        for first in tree::children(child.id() as i32).unwrap_or_default() {
            kill(first, KILL);
        }
        let _ = child.wait();
        until("no process of the host is left", || {
            !processes.iter().any(|process| process.is_alive())
        });
    }

    /// The processes of this host, as this machine numbers them. The first one is its `sshd`.
    pub fn processes(&self, host: usize) -> Vec<Process> {
        let first = self.running.lock().unwrap()[host - 1]
            .as_ref()
            .map(Child::id);
        let first = first.and_then(|pid| tree::children(pid as i32).ok()?.first().copied());
        let Some(namespace) = first.and_then(namespace_of) else {
            return Vec::new();
        };
        let mut pids = tree::all().unwrap_or_default();
        pids.retain(|pid| namespace_of(*pid).is_some_and(|it| it == namespace));
        pids.into_iter().filter_map(Process::find).collect()
    }

    /// The far ends of this host.
    pub fn far_ends(&self, host: usize) -> Vec<Process> {
        let mut found = self.processes(host);
        found.retain(|it| is_far_end(it.pid));
        found
    }

    /// The processes of its sessions of ssh.
    pub fn sessions(&self, host: usize) -> Vec<Process> {
        let mut found = self.processes(host);
        found.retain(|it| process::innermost_pid(it.pid) != Some(1));
        found.retain(|it| runs_sshd(it.pid));
        found
    }

    /// The keepers and standbys of its jobs.
    pub fn keepers(&self, host: usize) -> Vec<Process> {
        let pids = of_jobs_in(&far_home(&self.home(host)).join("jobs"));
        let runs_ours = |pid: &i32| {
            let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("far-") || name.starts_with("outlive")
        };
        let keepers = pids.into_iter().filter(runs_ours);
        keepers.filter_map(Process::find).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let remove = |args: &[&str]| {
            // What could not be made cannot be removed.
            let _ = Command::new("ip").args(args).stderr(Stdio::null()).status();
        };
        let count = self.running.lock().unwrap().len();
        for host in 1..=count {
            self.crash(host);
            // A namespace that is removed takes its end of the cable with it, but only later.
            remove(&["link", "del", &self.cable(host)]);
            remove(&["netns", "del", &self.namespace(host)]);
        }
        remove(&["link", "del", &self.bridge()]);
    }
}

fn namespace_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(Path::new("/proc").join(pid.to_string()).join("ns/pid")).ok()
}

fn ip(args: &[&str]) {
    must("ip", args);
}

fn must(program: &str, args: &[&str]) {
    let ran = Ran::of(Command::new(program).args(args).stdin(Stdio::null()));
    assert_eq!(ran.code, 0, "{program} {args:?}: {ran:?}");
}
