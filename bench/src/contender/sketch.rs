//! The least that Outlive's design can take, written in C (`peers/sketch.c`): what `outlive` takes longer is its
//! own.

use super::{Contender, Entry, by_hands, output_of, program};
use crate::Why;
use crate::processes::until;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const SKETCH: &str = include_str!("../../peers/sketch.c");

pub const ENTRY: Entry = Entry {
    name: "its calls alone, in C",
    make: |_, dir| {
        let said = |error: std::io::Error| error.to_string();
        let (source, linked) = (dir.join("sketch.c"), dir.join("linked"));
        fs::write(&source, SKETCH).map_err(said)?;
        let mut compiler = Command::new(program("musl-gcc")?);
        output_of(
            compiler
                .args(["-static", "-O2", "-o"])
                .args([&linked, &source]),
        )?;
        // As an installation would have it; see `installed` in `xtask`.
        let sketch = dir.join("sketch");
        fs::write(&sketch, fs::read(&linked).map_err(said)?).map_err(said)?;
        let as_linked = fs::metadata(linked).map_err(said)?.permissions();
        fs::set_permissions(&sketch, as_linked).map_err(said)?;
        for made in ["jobs", "live"] {
            fs::create_dir(dir.join(made)).map_err(said)?;
        }
        Ok(Box::new(Sketch { sketch, home: dir }))
    },
};

struct Sketch {
    sketch: PathBuf,
    home: PathBuf,
}

impl Sketch {
    fn launch(&self, program: &str) -> Result<String, Why> {
        let mut command = Command::new(&self.sketch);
        output_of(command.arg(&self.home).arg(super::program(program)?))
    }

    fn ends(&self) -> usize {
        let ended = fs::read(self.home.join("ended")).unwrap_or_default();
        ended.iter().filter(|byte| **byte == b'\n').count()
    }
}

impl Contender for Sketch {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, Why> {
        self.launch(argv[0])
    }

    fn storm(&mut self, jobs: usize, width: usize) -> Result<(), Why> {
        let before = self.ends();
        by_hands(jobs, width, |_| self.launch("true").map(drop))?;
        until("all have ended", || self.ends() == before + jobs)
    }
}
