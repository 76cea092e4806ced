//! What must hold after a power loss, whatever state the disk is in.

use super::Moment;
use super::asked::{self, Answers, Interface, Shown};
use crate::invariants::{self, same};
use crate::job::{ID, Kind};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::collections::HashSet;
use std::fs;
use std::sync::Mutex;

/// What had happened before the power failed.
pub struct Past {
    pub moment: Moment,
    /// Whether a client had been told of the end.
    pub is_told: bool,
    pub has_run: bool,
}

/// The contents of pruned homes in which a job was started successfully. Most homes are alike, so few need a new try.
#[derive(Debug, Default)]
pub struct Cleared(Mutex<HashSet<String>>);

/// Checks that every verb works, starting with the one of this number, that the answers are true, and that the home
/// can be pruned and used again.
pub fn check(
    world: &World,
    kind: &Kind,
    past: &Past,
    interface: Interface,
    first: usize,
    cleared: &Cleared,
) -> Result<(), String> {
    let is_acked = past.is_told || invariants::is_acked(world);
    let answers = asked::ask(interface, world, first)?;
    match past.moment {
        Moment::Job if past.is_told => answers.are_exact(kind, true)?,
        Moment::Job => answers.are_fair(kind, past.has_run)?,
        Moment::Ack => answers.are_exact(kind, !is_acked)?,
        Moment::Prune => {}
    }
    invariants::nothing_runs(world)?;
    invariants::age_unnamed(world)?;
    asked::prune_all(interface, world)?;
    let left = invariants::left_after_pruning(world);
    same("left after pruning", left, Vec::new())?;
    cleared.check(world, kind)
}

impl Answers {
    /// Checks that the end is exact, and that the session is told of it only if it still has to be.
    fn are_exact(&self, kind: &Kind, is_due: bool) -> Result<(), String> {
        let told = invariants::kinds(&self.inbox["events"]);
        match is_due {
            true => same("told", told.as_slice(), kind.told)?,
            false => same("told again", told.as_slice(), &[])?,
        }
        self.is_end(kind)
    }

    fn is_end(&self, kind: &Kind) -> Result<(), String> {
        let Some(Shown::Job(job)) = &self.shown else {
            return Err(format!("the job is not shown: {:?}", self.shown));
        };
        same("outcome", &job["outcome"], &(kind.outcome)())
            .map_err(|loss| format!("{loss}: {job}"))?;
        same("ended by", job["ended_by"].as_str(), Some(kind.ended_by))?;
        // A job that the power failure kept from its next attempt has ended as the last one did.
        let attempts = job["attempt"].as_u64().unwrap_or(1) as usize;
        let is_output = self.log == (kind.output)().repeat(attempts);
        same("the output is what it was", is_output, true)?;
        let jobs = self.listed["jobs"].as_array().into_iter().flatten();
        let ids = jobs.filter_map(|job| job["id"].as_str());
        let ids: Vec<&str> = ids.filter(|id| !kind.is_helper(id)).collect();
        same("list's ids", ids, vec![ID])
    }

    /// Checks the answers if no client had been told of the end. The job may be missing or damaged, but the answers
    /// must be true.
    fn are_fair(&self, kind: &Kind, has_run: bool) -> Result<(), String> {
        let is_fair = match &self.shown {
            Some(Shown::NoSuchJob) => true,
            Some(Shown::Damaged(why)) => !why.is_empty(),
            Some(Shown::Job(job)) => match job["outcome"]["kind"].as_str() {
                Some("lost") => true,
                Some("not_started") => !has_run,
                Some(_) => return self.is_end(kind),
                None => false,
            },
            None => false,
        };
        same("the answer about the job is true", is_fair, true)
            .map_err(|loss| format!("{loss}: {:?}", self.shown))
    }
}

impl Cleared {
    /// Checks that a job can be started in the pruned home and ends as it should.
    fn check(&self, world: &World, kind: &Kind) -> Result<(), String> {
        let left = format!("{}\n{}", kind.name, left(world));
        let is_new = self.0.lock().is_ok_and(|mut known| known.insert(left));
        if !is_new {
            return Ok(());
        }
        let started = Ran::try_of(&mut kind.start(world))?;
        same("the next start's code", started.code, 0)
            .map_err(|loss| format!("{loss}: {started}"))?;
        let ended = kind.go_on(world)?;
        same("the next outcome", &ended["outcome"], &(kind.outcome)())
    }
}

/// The files of a home and their contents without digits, so without times. To read a FIFO would block.
fn left(world: &World) -> String {
    let mut left = String::new();
    for path in world.everything() {
        let file = world.home().join(&path);
        let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
        let text = is_file.then(|| fs::read_to_string(&file).unwrap_or_default());
        let text = text.unwrap_or_default();
        let text = text.replace(|letter: char| letter.is_ascii_digit(), "");
        left.push_str(&format!("{}\n{text}\n", path.display()));
    }
    left
}
