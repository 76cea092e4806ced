//! A gate: jobs wait there until the test lets them continue.

use crate::world::World;
use outlive_sys::capture;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Makes a named pipe.
pub fn make_fifo(path: &Path) {
    capture::make_fifo(path).unwrap();
}

/// A named pipe. Each job reads a line from it before it continues.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    /// The only gate of a test.
    pub fn new(world: &World) -> Gate {
        Gate::at(world.path("gate")).unwrap()
    }

    /// A gate at this path.
    pub fn at(path: PathBuf) -> io::Result<Gate> {
        capture::make_fifo(&path)?;
        let pipe = open_both_ways(&path)?;
        Ok(Gate { path, pipe })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A script that waits at the gate and then runs this script.
    pub fn then(&self, script: &str) -> String {
        format!("read -r line < {}; {script}", self.path.display())
    }

    /// Lets all waiting jobs continue (at most 64).
    pub fn open(&self) {
        (&self.pipe)
            .write_all("go\n".repeat(64).as_bytes())
            .unwrap();
    }

    /// Lets one continue that waits in [`wait_at`].
    pub fn let_one_go(&self) -> Result<(), String> {
        let written = (&self.pipe).write_all(b"x");
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

/// Waits at the gate of this path until it is let through.
pub fn wait_at(path: &Path) -> io::Result<()> {
    open_both_ways(path)?.read_exact(&mut [0])
}

/// Opened for reading and writing, so that neither side waits for the other to open the pipe.
fn open_both_ways(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}
