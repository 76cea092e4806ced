//! Runs several actors in every order, one step at a time.
//!
//! Each actor is a thread that calls the real functions. At each named step ([`outlive_sys::hook`]), it
//! waits for its turn. An actor runs until it is done, unless a [`Deviation`] says otherwise: another
//! actor continues, the actor dies, or time passes. [`explore`] tries every list with at most the given
//! number of deviations, and so every interleaving with that many switches.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// One participant in the story.
pub type Actor<W> = (&'static str, fn(&W));

/// What happens at a step instead of letting the same actor continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    Switch(usize),
    /// The actor dies as by SIGKILL: its locks are released, its files stay.
    Crash,
    /// Every claim expires.
    Lapse,
}

/// Which deviations are tried.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub deviations: usize,
    pub crashes: usize,
    pub lapses: usize,
}

/// The record of a run, for the final check.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub deviations: Vec<(usize, Deviation)>,
    /// Which actor was at which step, in order.
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub struct Step {
    actor: usize,
    place: String,
    /// The other actors that could have continued.
    others: Vec<usize>,
}

impl Run {
    pub fn has(&self, wanted: Deviation) -> bool {
        self.deviations.iter().any(|(_, it)| *it == wanted)
    }
}

/// An actor dies.
struct Killed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The actor waits at a step.
    Waits,
    /// It may continue to its next step.
    Goes,
    Dies,
    Done,
}

/// Whose turn it is, and where each actor is.
struct Board {
    turns: Mutex<Vec<(Turn, String)>>,
    changed: Condvar,
}

impl Board {
    fn set(&self, actor: usize, turn: Turn, place: &str) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns[actor] = (turn, place.to_owned());
        self.changed.notify_all();
    }

    fn wait(&self, actor: usize, until: impl Fn(Turn) -> bool) -> (Turn, String) {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self
            .changed
            .wait_while(turns, |turns| !until(turns[actor].0));
        waiting.unwrap_or_else(PoisonError::into_inner)[actor].clone()
    }

    /// Called in an actor: it has reached a step.
    fn reached(&self, actor: usize, place: &str) {
        self.set(actor, Turn::Waits, place);
        let (turn, _) = self.wait(actor, |turn| matches!(turn, Turn::Goes | Turn::Dies));
        if turn == Turn::Dies {
            panic::resume_unwind(Box::new(Killed));
        }
    }

    /// Lets an actor take one step. Returns whether it is done.
    fn step(&self, actor: usize, turn: Turn) -> bool {
        self.set(actor, turn, "");
        self.wait(actor, |turn| matches!(turn, Turn::Waits | Turn::Done))
            .0
            == Turn::Done
    }
}

/// Runs the actors with these deviations. `lapse` lets time pass.
fn run<W: Send + Sync + 'static>(
    world: &Arc<W>,
    actors: &[Actor<W>],
    deviations: &[(usize, Deviation)],
    lapse: impl Fn(&W),
    enter: fn(&W),
) -> Run {
    let board = Arc::new(Board {
        turns: Mutex::new(vec![(Turn::Goes, String::new()); actors.len()]),
        changed: Condvar::new(),
    });
    let threads: Vec<_> = actors
        .iter()
        .enumerate()
        .map(|(number, (name, act))| {
            let (world, board, act) = (world.clone(), board.clone(), *act);
            let name = (*name).to_owned();
            thread::spawn(move || {
                enter(&world);
                let at = board.clone();
                outlive_sys::hook::on_this_thread(move |role, place| {
                    // An actor that is being killed still drops its values; these are not steps.
                    if !thread::panicking() {
                        at.reached(number, &format!("{name} at {role}:{place}"));
                    }
                });
                let begun = AssertUnwindSafe(|| {
                    board.reached(number, "its beginning");
                    act(&world);
                });
                let ended = panic::catch_unwind(begun);
                board.set(number, Turn::Done, "");
                match ended {
                    Err(why) if !why.is::<Killed>() => panic::resume_unwind(why),
                    _ => {}
                }
            })
        })
        .collect();
    for number in 0..actors.len() {
        board.wait(number, |turn| turn == Turn::Waits);
    }
    let mut run = Run {
        deviations: deviations.to_vec(),
        ..Run::default()
    };
    let mut left: VecDeque<usize> = (0..actors.len()).collect();
    while let Some(actor) = left.front().copied() {
        let place = board.wait(actor, |_| true).1;
        let others = left.iter().copied().skip(1).collect();
        let number = run.steps.len();
        run.steps.push(Step {
            actor,
            place,
            others,
        });
        let deviation = deviations.iter().find(|(step, _)| *step == number);
        let is_done = match deviation.map(|(_, deviation)| *deviation) {
            Some(Deviation::Switch(other)) => {
                let at = left.iter().position(|one| *one == other).unwrap_or(0);
                left.rotate_left(at);
                false
            }
            Some(Deviation::Lapse) => {
                lapse(world);
                false
            }
            Some(Deviation::Crash) => board.step(actor, Turn::Dies),
            None => board.step(actor, Turn::Goes),
        };
        if is_done {
            left.pop_front();
        }
    }
    for thread in threads {
        if let Err(why) = thread.join() {
            panic::resume_unwind(why);
        }
    }
    run
}

/// A story: how it begins, who acts, and what must hold at the end.
pub struct Story<W: 'static> {
    pub begin: fn() -> W,
    pub actors: &'static [Actor<W>],
    /// Call this first in every thread.
    pub enter: fn(&W),
    pub lapse: fn(&W),
    pub check: fn(&W, &Run) -> Result<(), String>,
}

/// Tries every list of deviations within the limits. Returns the number of runs.
pub fn explore<W: Send + Sync + 'static>(
    story: &Story<W>,
    limits: Limits,
) -> Result<usize, String> {
    let open = Mutex::new(vec![Vec::new()]);
    let idle = Condvar::new();
    let state = Mutex::new((0_usize, 0_usize, None::<String>));
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(deviations) = next(&open, &idle, &state) {
                    // A panic must not leave the other workers waiting for this one.
                    let tried =
                        panic::catch_unwind(AssertUnwindSafe(|| try_one(story, &deviations)));
                    let outcome = tried.unwrap_or_else(|_| {
                        Err(format!(
                            "an actor or the check panicked after {deviations:?}"
                        ))
                    });
                    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                    state.0 -= 1;
                    state.1 += 1;
                    match outcome {
                        Ok(run) => open.extend(children(&run, limits)),
                        Err(why) => {
                            state.2.get_or_insert(why);
                            open.clear();
                        }
                    }
                    idle.notify_all();
                }
            });
        }
    });
    let (_, runs, failed) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(runs), Err)
}

/// The next list to try; waits for it. Returns `None` when there will be no more.
fn next(
    open: &Mutex<Vec<Vec<(usize, Deviation)>>>,
    idle: &Condvar,
    state: &Mutex<(usize, usize, Option<String>)>,
) -> Option<Vec<(usize, Deviation)>> {
    loop {
        let mut at_work = state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list = open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(deviations) = list.pop() {
            at_work.0 += 1;
            return Some(deviations);
        }
        if at_work.0 == 0 {
            return None;
        }
        drop(list);
        drop(idle.wait(at_work));
    }
}

fn try_one<W: Send + Sync + 'static>(
    story: &Story<W>,
    deviations: &[(usize, Deviation)],
) -> Result<Run, String> {
    let world = Arc::new((story.begin)());
    let run = run(&world, story.actors, deviations, story.lapse, story.enter);
    (story.enter)(&world);
    match (story.check)(&world, &run) {
        Ok(()) => Ok(run),
        Err(why) => {
            let steps = run.steps.iter().enumerate().map(|(number, step)| {
                let deviation = deviations.iter().find(|(at, _)| *at == number);
                let deviation = deviation.map_or(String::new(), |(_, what)| format!("  {what:?}"));
                format!("{number:3} {}{deviation}", step.place)
            });
            let steps = steps.collect::<Vec<_>>().join("\n");
            Err(format!("{why}\nafter {deviations:?}:\n{steps}"))
        }
    }
}

/// This run with one more deviation after its last one, in every possible way.
fn children(run: &Run, limits: Limits) -> Vec<Vec<(usize, Deviation)>> {
    if run.deviations.len() >= limits.deviations {
        return Vec::new();
    }
    let count = |wanted| {
        run.deviations
            .iter()
            .filter(|(_, it)| *it == wanted)
            .count()
    };
    let mut children = Vec::new();
    let first = run.deviations.last().map_or(0, |(step, _)| step + 1);
    for (number, step) in run.steps.iter().enumerate().skip(first) {
        let mut ways: Vec<Deviation> = step.others.iter().copied().map(Deviation::Switch).collect();
        if count(Deviation::Crash) < limits.crashes {
            ways.push(Deviation::Crash);
        }
        if count(Deviation::Lapse) < limits.lapses {
            ways.push(Deviation::Lapse);
        }
        debug_assert!(!step.others.contains(&step.actor));
        for way in ways {
            let mut child = run.deviations.clone();
            child.push((number, way));
            children.push(child);
        }
    }
    children
}
