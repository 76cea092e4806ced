//! Instances of Apptainer. Where it is not installed, it runs in a tree of Debian's newest release, which is made once:
//! older releases have no package of it.

use super::container::{Inside, as_there};
use super::image::{Image, must};
use super::shared;
use crate::place::{Local, Place};
use crate::processes::Process;
use crate::ran::Ran;
use outlive_sys::lock;
use std::env;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Apptainer, as one test uses it.
#[derive(Debug)]
pub struct Apptainer {
    /// The directory with the program, which comes first in `PATH`.
    pub programs: PathBuf,
    /// What it remembers.
    configuration: PathBuf,
}

impl Apptainer {
    /// Makes it usable for a test with this directory, and for files below it.
    pub fn prepare(here: &Path) -> io::Result<Apptainer> {
        let apptainer = Apptainer {
            programs: here.join("apptainer-bin"),
            configuration: here.join("apptainer"),
        };
        fs::create_dir_all(&apptainer.programs)?;
        fs::create_dir_all(&apptainer.configuration)?;
        let script = apptainer.programs.join("apptainer");
        let text = match installed() {
            Some(program) => format!("#!/bin/sh\nexec {} \"$@\"\n", program.display()),
            None => in_tree(&tree()?, here),
        };
        fs::write(&script, text)?;
        fs::set_permissions(script, Permissions::from_mode(0o755))?;
        Ok(apptainer)
    }

    /// `PATH` with it, and its own variables.
    pub fn give_environment(&self, command: &mut Command) {
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(
            [self.programs.clone()]
                .into_iter()
                .chain(env::split_paths(&path)),
        );
        command.env("PATH", path.unwrap());
        command.env("APPTAINER_CONFIGDIR", &self.configuration);
    }

    /// The program with these words.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join("apptainer"));
        self.give_environment(&mut command);
        command.args(words).stdin(Stdio::null());
        command
    }

    /// Starts an instance with this home directory.
    pub fn begin(&self, name: &str, home: &Path) -> io::Result<()> {
        let (home, programs) = (home.display().to_string(), shared().display().to_string());
        let image = self.image()?.display().to_string();
        let words = [
            "instance", "start", "--home", &home, "--bind", &programs, &image, name,
        ];
        must(&mut self.command(&words))
    }

    /// The first process of a running instance.
    pub fn first(&self, name: &str) -> Option<i32> {
        let listed = Ran::of(&mut self.command(&["instance", "list", "--json", name]));
        let listed: serde_json::Value = serde_json::from_slice(&listed.bytes).ok()?;
        let pid = listed["instances"][0]["pid"].as_i64()?;
        i32::try_from(pid).ok()
    }

    pub fn stop(&self, name: &str) {
        // It may have ended by now.
        let _ = Ran::of(&mut self.command(&["instance", "stop", "--signal", "KILL", name]));
    }

    /// The image that instances run, which is made once.
    pub fn image(&self) -> io::Result<PathBuf> {
        let image = shared().join("images").join("usual.sif");
        // The archive comes with the lock.
        let _ = Image::Usual.archive();
        let file = File::create(shared().join("images").join("sif-lock"))?;
        lock::wait(&file)?;
        if !image.exists() {
            let root = tempfile::tempdir_in(shared())?;
            Image::Usual.unpack(root.path())?;
            let draft = image.with_extension("draft");
            let (draft_shown, root) = (
                draft.display().to_string(),
                root.path().display().to_string(),
            );
            must(&mut self.command(&["build", "--force", &draft_shown, &root]))?;
            fs::rename(draft, &image)?;
        }
        Ok(image)
    }
}

fn installed() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut found = env::split_paths(&path).map(|it| it.join("apptainer"));
    found.find(|it| it.is_file())
}

/// A script that runs Apptainer in the tree. It sees the files of the test and those that all tests share.
fn in_tree(tree: &Path, here: &Path) -> String {
    let bind = |path: &Path| format!("--bind {0} {0}", path.display());
    format!(
        "#!/bin/sh\nexec bwrap --bind {} / --dev-bind /dev /dev --proc /proc --bind /sys /sys --tmpfs /run {} {} \
         --cap-add ALL /usr/bin/apptainer \"$@\"\n",
        tree.display(),
        bind(here),
        bind(shared())
    )
}

/// The tree, which is made once. That takes minutes.
fn tree() -> io::Result<PathBuf> {
    let tree = shared().join("sid");
    let file = File::create(shared().join("sid-lock"))?;
    lock::wait(&file)?;
    if tree.join("usr/bin/apptainer").exists() {
        return Ok(tree);
    }
    let mut bootstrap = Command::new("debootstrap");
    bootstrap.args(["--variant=minbase", "--include=ca-certificates", "sid"]);
    must(bootstrap.arg(&tree).args(mirror()))?;
    fs::write(tree.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    let policy = tree.join("usr/sbin/policy-rc.d");
    fs::write(&policy, "#!/bin/sh\nexit 101\n")?;
    fs::set_permissions(policy, Permissions::from_mode(0o755))?;
    let install = "mount -t proc proc /proc; export DEBIAN_FRONTEND=noninteractive; \
                   apt-get -o Acquire::Check-Valid-Until=false update && \
                   apt-get install -y --no-install-recommends apptainer; failed=$?; umount /proc; exit $failed";
    must(
        Command::new("chroot")
            .arg(&tree)
            .args(["sh", "-c", install]),
    )?;
    // A capability that a container of CI may not have cannot be given away.
    let configuration = tree.join("etc/apptainer/apptainer.conf");
    let text = fs::read_to_string(&configuration)?;
    let usual = "root default capabilities = full";
    fs::write(
        configuration,
        text.replace(usual, "root default capabilities = no"),
    )?;
    Ok(tree)
}

/// Where this machine gets its packages, if that is known.
fn mirror() -> Option<String> {
    let sources = fs::read_to_string("/etc/apt/sources.list.d/debian.sources").ok()?;
    let line = sources
        .lines()
        .find_map(|line| line.strip_prefix("URIs:"))?;
    line.split_whitespace().next().map(str::to_owned)
}

/// Whether this machine has what the tree needs, or Apptainer itself.
pub fn is_possible() -> bool {
    let has = |name: &str| {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .chain(["/usr/sbin".into()])
            .any(|it| it.join(name).is_file())
    };
    installed().is_some() || (has("bwrap") && has("debootstrap"))
}

/// An instance for one test. It shares the directory of the test there with this machine, as its home directory.
#[derive(Debug, Default)]
pub struct InInstance {
    instance: OnceLock<(Apptainer, String, Inside)>,
}

impl InInstance {
    fn get(&self) -> &(Apptainer, String, Inside) {
        self.instance.get().unwrap()
    }
}

impl Place for InInstance {
    fn name(&self) -> &str {
        "apptainer"
    }

    fn direct(&self, command: &mut Command, _: &Path) {
        let (apptainer, name, _) = self.get();
        apptainer.give_environment(command);
        command.env("OUTLIVE_PLACE", format!("apptainer:instance://{name}"));
    }

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        let name = here.file_name().unwrap().to_string_lossy().into_owned();
        let there = here.join("there");
        // The program is sent once to all of them.
        fs::create_dir_all(there.join(".cache"))?;
        fs::create_dir_all(shared().join("outlive"))?;
        symlink(shared().join("outlive"), there.join(".cache/outlive"))?;
        let apptainer = Apptainer::prepare(here)?;
        apptainer.begin(&name, &there)?;
        let inside = apptainer.first(&name).and_then(Inside::of);
        let inside = inside.ok_or_else(|| io::Error::other("the instance does not run"))?;
        let set = self.instance.set((apptainer, name, inside));
        set.map_err(|_| io::Error::other("an instance is for one test"))?;
        Ok(there)
    }

    fn remove_scratch(&self, _: &Path) {
        let (apptainer, name, _) = self.get();
        apptainer.stop(name);
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Local.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Local.write(path, bytes)
    }

    fn process(&self, pid: i32) -> Option<Process> {
        self.get().2.find(pid).and_then(as_there)
    }

    fn signal(&self, process: Process, signal: i32) {
        let found = self.get().2.find(process.pid);
        if let Some(found) = found.filter(|found| found.started == process.started) {
            found.signal(signal);
        }
    }

    fn processes(&self, scratch: &Path) -> Vec<Process> {
        let (_, name, inside) = self.get();
        let home = scratch.join(".local/state/outlive-at").join(name);
        inside
            .of_jobs(&home)
            .into_iter()
            .filter_map(as_there)
            .collect()
    }
}
