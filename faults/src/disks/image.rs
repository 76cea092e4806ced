//! A disk for the home of one case: a filesystem in a file.

use outlive_sys::file;
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

/// A filesystem, the program that makes it, and the smallest size that this program accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    make: &'static [&'static str],
    size: u64,
    /// The Debian package that has this program.
    package: &'static str,
}

impl fmt::Display for Kind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name)
    }
}

pub const EXT4: Kind = Kind {
    name: "ext4",
    make: &["mkfs.ext4", "-q", "-F", "-m", "0"],
    size: 16 << 20,
    package: "e2fsprogs",
};
pub const XFS: Kind = Kind {
    name: "xfs",
    make: &["mkfs.xfs", "-q"],
    size: 320 << 20,
    package: "xfsprogs",
};
pub const BTRFS: Kind = Kind {
    name: "btrfs",
    make: &["mkfs.btrfs", "-q"],
    size: 128 << 20,
    package: "btrfs-progs",
};

/// A mounted filesystem that replaces the world's home until it is dropped.
pub struct Image<'a> {
    world: &'a World,
}

/// Runs a program and returns an error unless it succeeds.
pub fn must(program: &str, args: &[&str]) -> Result<(), String> {
    let ran = Ran::try_of(Command::new(program).args(args).stdin(Stdio::null()))?;
    match ran.code {
        0 => Ok(()),
        _ => Err(format!("{program} {args:?} failed: {ran}")),
    }
}

impl<'a> Image<'a> {
    pub fn new(world: &'a World, kind: Kind) -> Result<Image<'a>, String> {
        let image = world.path("image");
        File::create(&image)
            .and_then(|file| file.set_len(kind.size))
            .and_then(|()| fs::create_dir(world.home()))
            .map_err(|error| error.to_string())?;
        let [program, options @ ..] = kind.make else {
            return Err("nothing makes it".to_owned());
        };
        let image = image.display().to_string();
        must(program, &[options, &[image.as_str()]].concat())
            .map_err(|error| format!("{error} (of the package {})", kind.package))?;
        let image = Image { world };
        image.mount()?;
        Ok(image)
    }

    fn home(&self) -> String {
        self.world.home().display().to_string()
    }

    fn mount(&self) -> Result<(), String> {
        let image = self.world.path("image").display().to_string();
        must("mount", &["-o", "loop", &image, &self.home()])?;
        fs::set_permissions(self.world.home(), Permissions::from_mode(0o700))
            .map_err(|error| error.to_string())
    }

    /// Fills the disk completely.
    pub fn fill(&self) -> Result<(), String> {
        let path = self.world.home().join("filler");
        let filler = File::create(path).map_err(|error| error.to_string())?;
        let mut size = 0;
        for step in [16 << 20, 1 << 20, 64 << 10, 4 << 10] {
            while file::reserve(&filler, size + step).is_ok() {
                size += step;
            }
        }
        // Small files may still fit where one large file does not.
        for n in 0..100_000 {
            let path = self.world.home().join(format!("filler-{n}"));
            match fs::write(path, [1; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(format!("the disk could not be filled: {error}")),
            }
        }
        Err("the disk is never full".to_owned())
    }

    /// Kills the processes that use the disk, then unmounts and mounts it.
    pub fn mount_again(&self) -> Result<(), String> {
        self.end_processes();
        try_until("the disk is unmounted", || {
            must("umount", &[&self.home()]).is_ok()
        })?;
        self.mount()
    }

    fn end_processes(&self) {
        for pid in self.world.processes() {
            kill(pid, KILL);
        }
    }
}

impl Drop for Image<'_> {
    fn drop(&mut self) {
        self.end_processes();
        // The kernel removes the loop device when the last process closes it.
        let _ = must("umount", &["-l", &self.home()]);
    }
}

/// A disk that is frozen until this is dropped: every process that writes to it waits.
///
/// Another process thaws the disk, even if this one is killed.
pub struct Frozen(Child);

impl Frozen {
    pub fn new(world: &World) -> Result<Frozen, String> {
        let script = "fsfreeze -f \"$1\" && echo frozen && read -r _; fsfreeze -u \"$1\"";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(world.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("no shell: {error}"))?;
        let mut line = String::new();
        let read = child
            .stdout
            .take()
            .map(|out| BufReader::new(out).read_line(&mut line));
        let frozen = Frozen(child);
        match read {
            Some(Ok(1..)) => Ok(frozen),
            _ => Err("the disk could not be frozen (fsfreeze)".to_owned()),
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
