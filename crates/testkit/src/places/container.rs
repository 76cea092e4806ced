//! A container as a place: its processes and files, seen from this machine.

use super::engine::{Engine, Kind};
use super::image::Image;
use super::{far_home, shared};
use crate::place::{Place, write_whole};
use crate::processes::{Process, of_jobs_in};
use outlive_sys::{process, tree};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

/// The processes of a PID namespace of this machine, and the files that they see.
#[derive(Clone, Debug)]
pub struct Inside {
    /// One of its processes.
    first: i32,
    namespace: PathBuf,
}

impl Inside {
    /// The container of this process.
    pub fn of(first: i32) -> Option<Inside> {
        let namespace = namespace_of(first)?;
        Some(Inside { first, namespace })
    }

    /// A file there, as this machine reaches it.
    pub fn path(&self, there: &Path) -> PathBuf {
        let root = Path::new("/proc").join(self.first.to_string()).join("root");
        root.join(there.strip_prefix("/").unwrap_or(there))
    }

    /// All its processes, as this machine numbers them.
    pub fn all(&self) -> Vec<Process> {
        let mut pids = tree::all().unwrap_or_default();
        pids.retain(|pid| namespace_of(*pid).as_ref() == Some(&self.namespace));
        pids.into_iter().filter_map(Process::find).collect()
    }

    /// The process that has this number there.
    pub fn find(&self, pid: i32) -> Option<Process> {
        let mut all = self.all().into_iter();
        all.find(|it| process::innermost_pid(it.pid) == Some(pid))
    }

    /// The processes of the jobs of a home there, as this machine numbers them.
    pub fn of_jobs(&self, home: &Path) -> Vec<Process> {
        let pids = of_jobs_in(&home.join("jobs"));
        let mut all = self.all();
        all.retain(|it| pids.contains(&it.pid));
        all
    }
}

fn namespace_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(Path::new("/proc").join(pid.to_string()).join("ns/pid")).ok()
}

/// The same process as its place numbers it.
pub(super) fn as_there(process: Process) -> Option<Process> {
    let pid = process::innermost_pid(process.pid)?;
    Some(Process { pid, ..process })
}

/// The engine of a daemon, which the tests of one program share. It ends when this is dropped.
#[derive(Debug, Default)]
pub struct SharedEngine(Mutex<Option<(Arc<Engine>, tempfile::TempDir)>>);

impl SharedEngine {
    fn docker(&self) -> io::Result<Arc<Engine>> {
        let mut shared = self.0.lock().unwrap();
        if let Some((engine, _)) = &*shared {
            return Ok(engine.clone());
        }
        let directory = tempfile::Builder::new()
            .prefix("outlive-docker-")
            .tempdir()?;
        let engine = Arc::new(Engine::start(Kind::Docker, directory.path())?);
        *shared = Some((engine.clone(), directory));
        Ok(engine)
    }
}

/// A container for one test. Podman's engine belongs to the test, too.
#[derive(Debug)]
pub struct InContainer {
    kind: Kind,
    shared: Arc<SharedEngine>,
    container: OnceLock<Container>,
}

/// The container of a test.
#[derive(Debug)]
pub struct Container {
    pub engine: Arc<Engine>,
    pub name: String,
    pub inside: Inside,
}

impl InContainer {
    pub fn of(kind: Kind, shared: Arc<SharedEngine>) -> InContainer {
        InContainer {
            kind,
            shared,
            container: OnceLock::new(),
        }
    }

    /// The container, which exists as long as the test.
    pub fn container(&self) -> &Container {
        self.container.get().unwrap()
    }

    fn outside(&self, there: &Path) -> PathBuf {
        self.container().inside.path(there)
    }
}

impl Place for InContainer {
    fn name(&self) -> &str {
        self.kind.as_str()
    }

    fn direct(&self, command: &mut Command, _: &Path) {
        let container = self.container();
        command.envs(container.engine.variables());
        let address = format!("{}:{}", self.kind.as_str(), container.name);
        command.env("OUTLIVE_PLACE", address);
    }

    /// A directory on the disk of a new container, which is the home directory of logins there.
    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let name = here.file_name().unwrap().to_string_lossy().into_owned();
        let engine = match self.kind {
            Kind::Podman => Arc::new(Engine::start(self.kind, &here.join("engine"))?),
            Kind::Docker => self.shared.docker()?,
        };
        let there = PathBuf::from("/work");
        // The program is sent once to all of them.
        let programs = format!("{0}:{0}", shared().display());
        let cache = format!("XDG_CACHE_HOME={}", shared().display());
        let home = format!("HOME={}", there.display());
        let options = [
            "--volume", &programs, "--env", &cache, "--env", &home, "--init",
        ];
        engine.run(&name, &options, Image::Usual, &["sleep", "1000000"])?;
        let inside = engine.first(&name).and_then(Inside::of);
        let inside = inside.ok_or_else(|| io::Error::other("the container does not run"))?;
        fs::create_dir_all(inside.path(&there))?;
        let container = Container {
            engine,
            name,
            inside,
        };
        let set = self.container.set(container);
        set.map_err(|_| io::Error::other("a container is for one test"))?;
        Ok(there)
    }

    fn remove_scratch(&self, _: &Path) {
        let container = self.container();
        container.engine.remove(&container.name);
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(self.outside(path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        write_whole(&self.outside(path), bytes)
    }

    fn process(&self, pid: i32) -> Option<Process> {
        self.container().inside.find(pid).and_then(as_there)
    }

    fn signal(&self, process: Process, signal: i32) {
        let found = self.container().inside.find(process.pid);
        if let Some(found) = found.filter(|found| found.started == process.started) {
            found.signal(signal);
        }
    }

    fn processes(&self, scratch: &Path) -> Vec<Process> {
        let jobs = self.container().inside.of_jobs(&far_home(scratch));
        jobs.into_iter().filter_map(as_there).collect()
    }
}
