//! An engine of containers that belongs to one test, or to one test program: its containers, images and processes are
//! below a directory, and end with it.
//!
//! Podman has no daemon. Each test has a store of its own, and the images are in one that all share. Docker's daemon is
//! started for the engine.

use super::image::{Image, must};
use super::shared;
use crate::couriers::processes_that;
use crate::processes::{KILL, Process, kill_for_good};
use crate::ran::Ran;
use crate::waiting::{try_until_within, until};
use outlive_sys::{lock, process};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Docker,
    Podman,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Docker => "docker",
            Kind::Podman => "podman",
        }
    }
}

/// An engine. Its containers are removed when this is dropped.
#[derive(Debug)]
pub struct Engine {
    pub kind: Kind,
    directory: PathBuf,
    /// The cgroup of its containers, so that what is left of them can be found.
    cgroup: String,
    daemon: Mutex<Option<Child>>,
}

/// Options of every container: no network to set up, no limits that only a privileged engine can set.
const OPTIONS: [&str; 4] = ["--detach", "--network", "none", "--cgroup-parent"];

impl Engine {
    /// Starts an engine with its files in this directory.
    pub fn start(kind: Kind, directory: &Path) -> io::Result<Engine> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        fs::create_dir_all(directory)?;
        let engine = Engine {
            kind,
            directory: directory.to_owned(),
            cgroup: format!("outlive-test-{}-{number}", std::process::id()),
            daemon: Mutex::new(None),
        };
        match kind {
            Kind::Podman => write_podman(directory, Some(&shared_store()?))?,
            Kind::Docker => {
                engine.start_daemon()?;
                engine.import()?;
            }
        }
        Ok(engine)
    }

    /// What the tool needs in its environment.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let file = |name: &str| self.directory.join(name).into_os_string();
        match self.kind {
            Kind::Podman => podman_variables(&self.directory),
            Kind::Docker => vec![
                (
                    "DOCKER_HOST",
                    format!("unix://{}", self.directory.join("docker.sock").display()).into(),
                ),
                // No context of the user.
                ("DOCKER_CONFIG", file("client")),
            ],
        }
    }

    /// The tool with these words.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(self.kind.as_str());
        command
            .args(words)
            .envs(self.variables())
            .stdin(Stdio::null());
        command
    }

    /// Runs the tool, which must succeed.
    #[track_caller]
    pub fn ok(&self, words: &[&str]) -> String {
        let ran = Ran::of(&mut self.command(words));
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.text()
    }

    /// Starts a container with these options, in which this runs.
    pub fn run(&self, name: &str, options: &[&str], image: Image, argv: &[&str]) -> io::Result<()> {
        let cgroup = format!("/{}", self.cgroup);
        let mut words = vec!["run", "--name", name];
        words.extend(OPTIONS);
        words.push(&cgroup);
        words.extend(options);
        words.push(image.name());
        words.extend(argv);
        must(&mut self.command(words))
    }

    /// Starts a container that does nothing by itself.
    #[track_caller]
    pub fn begin(&self, name: &str, options: &[&str]) {
        let sleep = ["sleep", "1000000"];
        self.run(name, options, Image::Usual, &sleep).unwrap();
    }

    /// The first process of a running container, as this machine numbers it.
    pub fn first(&self, name: &str) -> Option<i32> {
        let words = ["container", "inspect", "--format", "{{.State.Pid}}", name];
        let ran = Ran::of(&mut self.command(words));
        ran.text().parse().ok().filter(|pid| *pid > 0)
    }

    /// Removes a container with all that runs in it.
    pub fn remove(&self, name: &str) {
        // It may be removed by now.
        let _ = Ran::of(&mut self.command(self.removal(&[name])));
    }

    fn removal<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        let mut words = vec!["rm", "--force"];
        if self.kind == Kind::Podman {
            words.extend(["--time", "0"]);
        }
        words.extend(names);
        words
    }

    /// Ends the daemon as a crash would. Containers go on.
    pub fn kill_daemon(&self) {
        if let Some(mut daemon) = self.daemon.lock().unwrap().take() {
            kill_for_good(daemon.id() as i32);
            let _ = daemon.wait();
        }
    }

    /// Starts the daemon, which does not run.
    pub fn start_daemon(&self) -> io::Result<()> {
        let directory = &self.directory;
        let at = |name: &str| directory.join(name).into_os_string();
        fs::write(at("daemon.json"), "{}")?;
        // Of one that was killed.
        for file in ["docker.pid", "exec/containerd/containerd.pid"] {
            let _ = fs::remove_file(at(file));
        }
        let log = File::create(at("dockerd.log"))?;
        let mut daemon = Command::new("dockerd");
        for (option, value) in [
            ("--data-root", "data"),
            ("--exec-root", "exec"),
            ("--pidfile", "docker.pid"),
            ("--config-file", "daemon.json"),
        ] {
            daemon.arg(option).arg(at(value));
        }
        let socket = format!("unix://{}", directory.join("docker.sock").display());
        daemon.args(["--host", &socket, "--live-restore", "--bridge=none"]);
        daemon.args([
            "--iptables=false",
            "--ip6tables=false",
            "--ip-forward=false",
            "--ip-masq=false",
        ]);
        // Packages may have put it where root's own programs are.
        let path = std::env::var("PATH").unwrap_or_default();
        daemon
            .env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        *self.daemon.lock().unwrap() = Some(daemon.spawn()?);
        let answers = || Ran::of(&mut self.command(["version"])).code == 0;
        try_until_within(Duration::from_secs(60), "docker answers", answers)
            .map_err(|why| io::Error::other(format!("{why}: {}", self.log())))
    }

    fn log(&self) -> String {
        let text = fs::read_to_string(self.directory.join("dockerd.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    fn import(&self) -> io::Result<()> {
        for image in Image::ALL {
            let mut import = self.command(["import"]);
            must(import.arg(image.archive()).arg(image.name()))?;
        }
        Ok(())
    }

    /// Its cgroups, one for each hierarchy.
    fn cgroups(&self) -> Vec<PathBuf> {
        let root = Path::new("/sys/fs/cgroup");
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        let roots = entries.map(|entry| entry.path()).chain([root.to_owned()]);
        let own = roots.map(|root| root.join(&self.cgroup));
        own.filter(|own| own.is_dir()).collect()
    }

    /// Whether a process is in one of its containers, or serves it: then its arguments name the directory.
    fn is_of(&self, pid: i32) -> bool {
        let cgroup = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let directory = self.directory.display().to_string();
        let names_it = |word: &Vec<u8>| String::from_utf8_lossy(word).contains(&directory);
        cgroup.contains(&format!("/{}/", self.cgroup))
            || (pid as u32 != std::process::id() && process::arguments(pid).iter().any(names_it))
    }

    fn remove_all(&self) {
        let listed = Ran::of(&mut self.command(["ps", "--all", "--quiet"])).stdout;
        let all: Vec<&str> = listed.lines().collect();
        if !all.is_empty() {
            let _ = Ran::of(&mut self.command(self.removal(&all)));
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.remove_all();
        if let Some(mut daemon) = self.daemon.lock().unwrap().take() {
            // In order, so that containerd ends too.
            if let Some(process) = Process::find(daemon.id() as i32) {
                process.signal(TERM);
                let gone = || daemon.try_wait().is_ok_and(|status| status.is_some());
                if try_until_within(Duration::from_secs(20), "dockerd ends", gone).is_err() {
                    process.signal(KILL);
                    let _ = daemon.wait();
                }
            }
        }
        // What is left if a test could not start the daemon again.
        for process in processes_that(|pid| self.is_of(pid)) {
            process.signal(KILL);
        }
        unmount_below(&self.directory);
        for cgroup in self.cgroups() {
            // What watches a container ends a moment after it.
            let gone = || remove_empty(&cgroup);
            let _ = try_until_within(Duration::from_secs(1), "the cgroup is gone", gone);
        }
    }
}

const TERM: i32 = 15;

/// Unmounts what an engine has mounted below its directory.
fn unmount_below(directory: &Path) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    let mut points: Vec<&str> = points
        .filter(|it| Path::new(it).starts_with(directory))
        .collect();
    points.reverse();
    for point in points {
        let _ = Ran::of(Command::new("umount").args(["--lazy", point]));
    }
}

/// Removes a tree of empty directories. Returns whether nothing is left.
fn remove_empty(directory: &Path) -> bool {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_empty(&entry.path());
        }
    }
    match fs::remove_dir(directory) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The store with the images, for all tests of all builds.
fn shared_store() -> io::Result<PathBuf> {
    let directory = shared().join("podman");
    fs::create_dir_all(&directory)?;
    let file = File::create(directory.join("lock"))?;
    lock::wait(&file)?;
    let done = directory.join("done");
    if !done.exists() {
        write_podman(&directory, None)?;
        for image in Image::ALL {
            let mut import = Command::new("podman");
            import
                .args(["import", "--quiet"])
                .arg(image.archive())
                .arg(image.name());
            must(import.envs(podman_variables(&directory)))?;
        }
        unmount_below(&directory);
        fs::write(done, "")?;
    }
    Ok(directory.join("graph"))
}

fn podman_variables(directory: &Path) -> Vec<(&'static str, OsString)> {
    let file = |name: &str| directory.join(name).into_os_string();
    vec![
        ("CONTAINERS_CONF", file("containers.conf")),
        ("CONTAINERS_STORAGE_CONF", file("storage.conf")),
        ("TMPDIR", directory.as_os_str().to_owned()),
    ]
}

/// Configures Podman for this directory. `images` is another store whose images can be used.
fn write_podman(directory: &Path, images: Option<&Path>) -> io::Result<()> {
    let files = outlive_sys::process::own::open_file_limit().unwrap_or(1024);
    let runtime = match Path::new("/usr/sbin/runc").exists() || Path::new("/usr/bin/runc").exists()
    {
        true => "runtime = \"runc\"\n",
        false => "",
    };
    let containers = format!(
        "[containers]\ndefault_ulimits = [\"nofile={files}:{files}\", \"nproc=4096:4096\"]\n\
         [engine]\n{runtime}cgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n\
         tmp_dir = \"{0}/tmp\"\nstatic_dir = \"{0}/graph/libpod\"\nvolume_path = \"{0}/volumes\"\n\
         [network]\nnetwork_backend = \"netavark\"\n",
        directory.display()
    );
    fs::write(directory.join("containers.conf"), containers)?;
    let images = images.map_or_else(String::new, |store| {
        format!(
            "[storage.options]\nadditionalimagestores = [ \"{}\" ]\n",
            store.display()
        )
    });
    let storage = format!(
        "[storage]\ndriver = \"overlay\"\nrunroot = \"{0}/run\"\ngraphroot = \"{0}/graph\"\n{images}",
        directory.display()
    );
    fs::write(directory.join("storage.conf"), storage)
}

/// Waits until a container does what its engine calls this.
#[track_caller]
pub fn until_status(engine: &Engine, name: &str, status: &str) {
    until(&format!("{name} is {status}"), || {
        engine.ok(&[
            "container",
            "inspect",
            "--format",
            "{{.State.Status}}",
            name,
        ]) == status
    });
}
