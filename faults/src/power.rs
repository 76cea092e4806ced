//! A power loss at any moment of a job, of an ack and of a prune.
//!
//! All changes to files are recorded once. Then each possible state of the disk ([`crate::crash`]) is made in
//! a home of its own, with another boot id in its files, because the machine was restarted. There every verb
//! must work, and nothing that was told before may be missing or different.

mod asked;
pub mod held;

use crate::crash::{Content, Crash, Node, Recording, Tree, Ways};
use crate::job::{ID, KINDS, Kind, SESSION};
use crate::plan::Launch;
use crate::row::{Context, Row, Tried};
pub use asked::Interface;
use held::{Cleared, Past};
use outlive_sys::{capture, offers};
use outlive_testkit::world::World;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "power: during a job",
            promise: "what was told stays true; what was not told is exact or unknown",
            run: |context| run(context, Moment::Job, 36),
        },
        Row {
            name: "power: during an ack",
            promise: "acked events are not told again, others are",
            run: |context| run(context, Moment::Ack, 20),
        },
        Row {
            name: "power: during a prune",
            promise: "the home works, whatever is left of the job",
            run: |context| run(context, Moment::Prune, 8),
        },
    ]
}

/// At most this many disk states are tried after one step. If there are more, this many are picked at random.
const MAX_STATES_PER_STEP: usize = 32_768;

/// In the long form, the programs are asked about one of this many disk states, and the library about the others. The
/// number shares no factor with the number of verbs, so each verb comes first at some of the states.
const PROGRAMS: usize = 17;

/// What happens while the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Job,
    Ack,
    Prune,
}

/// The kinds of jobs that change files in different ways. A chatty job does the same as others, only more often.
fn kinds(moment: Moment) -> Vec<&'static Kind> {
    let is_meant = |kind: &&Kind| match moment {
        Moment::Job => kind.name != "chatty",
        Moment::Ack | Moment::Prune => kind.name == "short",
    };
    KINDS.iter().filter(is_meant).collect()
}

fn run(context: &Context, moment: Moment, few: usize) -> Tried {
    let mut taken = Vec::new();
    for kind in kinds(moment) {
        match RecordedRun::take(context, kind, moment) {
            Ok(recorded) => taken.push(recorded),
            Err(loss) => {
                return Tried::lost(format!("a {} job, only recorded: {loss}", kind.name));
            }
        }
    }
    let ways: Vec<Ways<'_>> = taken.iter().map(|it| Ways::of(&it.recording)).collect();
    let cleared = Cleared::default();
    let (mut cases, mut drawn, mut steps) = (Vec::new(), 0, 0);
    for (taken, ways) in taken.iter().zip(&ways) {
        let found = ways.find(MAX_STATES_PER_STEP, context.seed);
        drawn += found.drawn;
        steps += taken.recording.steps.len();
        let numbered = found.crashes.into_iter().enumerate();
        cases.extend(numbered.map(|(number, crash)| Case {
            taken,
            ways,
            cleared: &cleared,
            interface: match context.is_long && !number.is_multiple_of(PROGRAMS) {
                true => Interface::Library,
                false => Interface::Programs,
            },
            number,
            crash,
        }));
    }
    let mut tried = context.try_cases(cases, few, |case: &Case<'_>| case.check(context));
    if drawn > 0 {
        tried.note =
            format!("after {drawn} of {steps} steps {MAX_STATES_PER_STEP} ways were drawn of more");
    }
    tried
}

/// A recording, and the world in which it was made. That world has the blobs.
struct RecordedRun {
    kind: &'static Kind,
    moment: Moment,
    world: World,
    recording: Recording,
}

/// One possible state of the disk.
struct Case<'a> {
    taken: &'a RecordedRun,
    ways: &'a Ways<'a>,
    cleared: &'a Cleared,
    interface: Interface,
    number: usize,
    crash: Crash,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = &self.taken.recording.steps[self.crash.step];
        write!(
            to,
            "a {} job, power lost after step {} of {} ({}), {}",
            self.taken.kind.name,
            self.crash.step,
            self.taken.recording.steps.len() - 1,
            step.call,
            self.ways.describe(&self.crash)
        )
    }
}

impl RecordedRun {
    fn take(context: &Context, kind: &'static Kind, moment: Moment) -> Result<RecordedRun, String> {
        let world = context.world()?;
        let to = world.path("recording");
        // Uses the home once before, so that its directories exist.
        world.try_ok(&["run", "--id", "earlier", "--wait", "--", "true"])?;
        world.try_ok(&["prune", "--all", "--force"])?;
        let launch = Launch::record;
        let mut launch = match moment {
            Moment::Job => launch(&world, &kind.start(&world), &to)?,
            Moment::Ack => {
                come_to_end(&world, kind)?;
                let ack = ["inbox", "--session", SESSION, "--ack-all", "--json"];
                launch(&world, &world.command(ack), &to)?
            }
            Moment::Prune => {
                come_to_end(&world, kind)?;
                launch(&world, &world.command(["prune", "--all", "--force"]), &to)?
            }
        };
        let launched = launch.launched(&world)?;
        if launched.code != 0 {
            return Err(format!("it failed: {launched}"));
        }
        if moment == Moment::Job {
            kind.go_on(&world)?;
            fs::write(to.join("told"), "").map_err(|error| error.to_string())?;
        }
        launch.end()?;
        let text = fs::read(to.join("recording.json")).map_err(|error| error.to_string())?;
        let json: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        Ok(RecordedRun {
            kind,
            moment,
            world,
            recording: Recording::from_json(&json).ok_or("no recording was made")?,
        })
    }
}

fn come_to_end(world: &World, kind: &Kind) -> Result<(), String> {
    outlive_testkit::ran::Ran::try_of(&mut kind.start(world))?;
    kind.go_on(world)?;
    crate::invariants::nothing_is_left(world)
}

impl Case<'_> {
    fn check(&self, context: &Context) -> Result<(), String> {
        let world = context.world()?;
        let after = DiskAfterLoss {
            blobs: self.taken.world.path("recording/blobs"),
            boot: offers::boot_id().map_err(|error| error.to_string())?,
            tree: &self.ways.tree(&self.crash),
        };
        after
            .make(&self.taken.recording.root, &world.home())
            .map_err(|error| format!("cannot make the home: {error}"))?;
        let journal = fs::read_to_string(world.job_dir(ID).join("journal"));
        let files = world.files();
        self.hold(&world).map_err(|loss| {
            format!(
                "{loss}\nleft was: {files:?}\njournal:\n{}",
                journal.unwrap_or_default()
            )
        })
    }

    fn hold(&self, world: &World) -> Result<(), String> {
        let step = &self.taken.recording.steps[self.crash.step];
        let past = Past {
            moment: self.taken.moment,
            is_told: step.is_told,
            has_run: step.has_run,
        };
        held::check(
            world,
            self.taken.kind,
            &past,
            self.interface,
            self.number,
            self.cleared,
        )
    }
}

/// The state of a home after a power loss.
struct DiskAfterLoss<'a> {
    blobs: PathBuf,
    /// The boot ID of this machine. It is replaced in the files, because a power loss restarts the machine.
    boot: String,
    tree: &'a Tree,
}

impl DiskAfterLoss<'_> {
    fn make(&self, node: &Node, path: &Path) -> std::io::Result<()> {
        match self.tree.get(node) {
            Some(Content::Directory(entries)) => {
                fs::create_dir(path)?;
                for (name, node) in entries {
                    self.make(node, &path.join(name))?;
                }
                Ok(())
            }
            Some(Content::File { blob, bytes }) => {
                let mut content = match bytes {
                    0 => Vec::new(),
                    _ => fs::read(self.blobs.join(blob))?,
                };
                content.truncate(*bytes as usize);
                if let Ok(text) = std::str::from_utf8(&content) {
                    let is_digit = |digit: char| digit.is_ascii_hexdigit();
                    let then = self.boot.replace(is_digit, "0");
                    content = text.replace(&self.boot, &then).into_bytes();
                }
                fs::write(path, content)
            }
            Some(Content::Link(target)) => symlink(target, path),
            Some(Content::Fifo) => capture::make_fifo(path),
            Some(Content::Socket) => UnixListener::bind(path).map(drop),
            None => Ok(()),
        }
    }
}
