//! Files that another user puts where the home will be, in a directory that everybody may write to.

use super::{User, public_programs, set_mode};
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "rights: planted in the home's place",
            promise: "refused with a reason; nothing is written through it",
            run: run_planted,
        },
        Row {
            name: "rights: planted while a job is started",
            promise: "the job is in a home that its owner owns, or is refused",
            run: run_races,
        },
    ]
}

/// What the other user creates where the home would be. `$P` is that path, `$V` a directory of the victim, and `$O` a
/// directory of the other user.
const PLANTS: [(&str, &str); 7] = [
    ("a directory", "mkdir -m 777 $P"),
    ("a link to the victim's own directory", "ln -s $V $P"),
    ("a link to a directory of the planter's", "ln -s $O $P"),
    ("a link to nowhere", "ln -s $V/not/there $P"),
    ("a file", "echo x > $P"),
    ("a FIFO", "mkfifo -m 666 $P"),
    (
        "a whole home",
        "mkdir -m 777 $P; for d in jobs live sessions names inbox ended; do mkdir -m 777 $P/$d; done",
    ),
];

struct Plant {
    what: usize,
    is_sticky: bool,
}

impl fmt::Display for Plant {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = if self.is_sticky {
            "a sticky"
        } else {
            "an open"
        };
        write!(to, "{} in {parent} directory", PLANTS[self.what].0)
    }
}

/// A victim who is not root, another user, a directory of each, and a directory that everybody may write to.
struct Scene {
    world: World,
    victim: User,
    other: User,
    parent: PathBuf,
    own: PathBuf,
    others: PathBuf,
}

impl Scene {
    fn new(context: &Context, number: usize, is_sticky: bool) -> Result<Scene, String> {
        let world = context.world()?;
        public_programs(&world)?;
        let scene = Scene {
            victim: User::numbered(2 * number + 1),
            other: User::numbered(2 * number + 2),
            parent: world.path("everybodys"),
            own: world.path("victims"),
            others: world.path("others"),
            world,
        };
        for (path, owner) in [
            (&scene.parent, 0),
            (&scene.own, scene.victim.0),
            (&scene.others, scene.other.0),
        ] {
            fs::create_dir(path).map_err(|error| error.to_string())?;
            std::os::unix::fs::chown(path, Some(owner), Some(owner))
                .map_err(|error| error.to_string())?;
        }
        set_mode(&scene.parent, if is_sticky { 0o1777 } else { 0o777 })?;
        set_mode(&scene.own, 0o755)?;
        set_mode(&scene.others, 0o777)?;
        Ok(scene)
    }

    fn place(&self) -> PathBuf {
        self.parent.join("home")
    }

    fn script(&self, script: &str) -> String {
        format!(
            "P='{}' V='{}' O='{}'; {script}",
            self.place().display(),
            self.own.display(),
            self.others.display()
        )
    }

    /// Runs `outlive` as the victim, with the planted path as its home.
    fn outlive(&self, args: &[&str]) -> Result<Ran, String> {
        let program = self.world.path("bin/outlive");
        let mut command = self.victim.command(&self.world, [program]);
        command.args(args).env("OUTLIVE_HOME", self.place());
        Ran::try_of(&mut command)
    }

    /// Checks that no file was created in the other user's directory, or through a link in the victim's.
    fn nothing_is_astray(&self) -> Result<(), String> {
        let count = |path: &Path| fs::read_dir(path).map_or(0, |entries| entries.count());
        if count(&self.own) + count(&self.others) > 0 {
            return Err("something was written through a link".to_owned());
        }
        Ok(())
    }
}

fn run_planted(context: &Context) -> Tried {
    if let Some(not_run) = Tried::unless_root() {
        return not_run;
    }
    let mut cases = Vec::new();
    for what in 0..PLANTS.len() {
        for is_sticky in [true, false] {
            cases.push(Plant { what, is_sticky });
        }
    }
    let all = cases.len();
    context.try_cases(cases, all, |plant| {
        let scene = Scene::new(
            context,
            2 * plant.what + usize::from(plant.is_sticky),
            plant.is_sticky,
        )?;
        let planted = scene
            .other
            .shell(&scene.world, &scene.script(PLANTS[plant.what].1))?;
        if planted.code != 0 {
            return Err(format!("it could not be planted: {planted}"));
        }
        for args in [
            &["run", "--", "true"][..],
            &["list"],
            &["prune", "--all", "--force"],
        ] {
            let ran = scene.outlive(args)?;
            // Reading from a home that does not exist is harmless.
            let is_empty =
                args[0] != "run" && ran.code == 0 && PLANTS[plant.what].0 == "a link to nowhere";
            if !is_empty && (ran.code != 125 || ran.stderr.trim().is_empty()) {
                return Err(format!("{args:?} was not refused: {ran}"));
            }
        }
        scene.nothing_is_astray()
    })
}

fn run_races(context: &Context) -> Tried {
    if let Some(not_run) = Tried::unless_root() {
        return not_run;
    }
    let count = if context.is_long { 60 } else { 6 };
    context.try_cases_at_once(2, (0..count).collect::<Vec<usize>>(), count, |number| {
        race(context, *number)
    })
}

fn race(context: &Context, number: usize) -> Result<(), String> {
    let scene = Scene::new(context, 20 + number % 28, true)?;
    let swap =
        "while :; do ln -s $V $P; rm -f $P; mkdir -m 777 $P; rmdir $P; ln -s $O $P; rm -f $P; done";
    let mut planter = scene
        .other
        .command(&scene.world, ["sh", "-c", &scene.script(swap)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let judged = (0..8).try_for_each(|_| {
        let ran = scene.outlive(&["run", "--wait", "--", "sh", "-c", "exit 4"])?;
        match ran.code {
            125 if !ran.stderr.contains("panicked") => Ok(()),
            // Once the victim's home exists, nobody else can remove it.
            4 => match fs::symlink_metadata(scene.place()) {
                Ok(home) if home.is_dir() && home.uid() == scene.victim.0 => Ok(()),
                other => Err(format!("the job ran in {other:?}")),
            },
            _ => Err(format!("neither run nor refused: {ran}")),
        }
    });
    let _ = planter.kill();
    let _ = planter.wait();
    judged?;
    // The other user's directory must not have files of the victim.
    scene.nothing_is_astray()
}
