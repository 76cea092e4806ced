//! The threads that calls run on: as many as are busy at once, up to a limit.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A stop may take as long as its grace period, and a call to a place as long as its network. More calls than this wait.
const MAX_THREADS: usize = 128;

/// If so many calls wait, no more are read.
const MAX_WAITING: usize = 1024;

/// A thread without work ends after this time, so that a burst of calls does not cost memory for ever.
const IDLE: Duration = Duration::from_secs(10);

type Task = Box<dyn FnOnce() + Send>;

/// Threads for calls.
#[derive(Clone, Default)]
pub struct Pool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is a task.
    work: Condvar,
    /// A task was begun or done.
    progress: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Task>,
    threads: usize,
    idle: usize,
    /// The tasks that must be done one after the other, by what they have in common. One of each is waiting or running.
    lines: HashMap<String, VecDeque<Task>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl Pool {
    /// Runs this on a thread.
    pub fn run(&self, task: impl FnOnce() + Send + 'static) {
        self.push(Box::new(task));
    }

    /// Runs this after the earlier ones of the same line.
    pub fn run_in_line(&self, line: String, task: impl FnOnce() + Send + 'static) {
        let pool = self.clone();
        let name = line.clone();
        let task: Task = Box::new(move || {
            task();
            pool.next_in_line(&name);
        });
        let mut state = self.0.state();
        match state.lines.get_mut(&line) {
            Some(others) => others.push_back(task),
            None => {
                state.lines.insert(line, VecDeque::new());
                drop(state);
                self.push(task);
            }
        }
    }

    fn next_in_line(&self, line: &str) {
        let mut state = self.0.state();
        let next = state.lines.get_mut(line).and_then(VecDeque::pop_front);
        match next {
            Some(task) => {
                drop(state);
                self.push(task);
            }
            None => drop(state.lines.remove(line)),
        }
    }

    fn push(&self, task: Task) {
        let mut state = self.0.state();
        state.waiting.push_back(task);
        if state.idle >= state.waiting.len() || state.threads >= MAX_THREADS {
            self.0.work.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = self.0.clone();
        let begun = thread::Builder::new().spawn(move || shared.work());
        if begun.is_err() {
            // Other threads do it, or else nobody can.
            self.0.state().threads -= 1;
            self.0.work.notify_one();
        }
    }

    /// Waits until there is room for another call.
    pub fn wait_for_room(&self) {
        let mut state = self.0.state();
        while state.waiting.len() >= MAX_WAITING {
            state = self.0.progressed(state, IDLE);
        }
    }

    /// Waits until everything is done, at most this long.
    pub fn wait_until_done(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let mut state = self.0.state();
        while state.idle < state.threads || !state.waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.0.progressed(state, left);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progressed<'a>(
        &self,
        state: MutexGuard<'a, State>,
        limit: Duration,
    ) -> MutexGuard<'a, State> {
        let waited = self.progress.wait_timeout(state, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// What each thread does.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(task) = state.waiting.pop_front() {
                drop(state);
                self.progress.notify_all();
                task();
                state = self.state();
                continue;
            }
            state.idle += 1;
            self.progress.notify_all();
            let waited = self.work.wait_timeout(state, IDLE);
            let timed_out;
            (state, timed_out) = waited.map_or_else(
                |poisoned| (poisoned.into_inner().0, true),
                |(state, timeout)| (state, timeout.timed_out()),
            );
            state.idle -= 1;
            if timed_out && state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_call_that_takes_long_delays_no_other() {
        let pool = Pool::default();
        let (done, all) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        pool.run(move || {
            let _ = held.recv();
        });
        for number in 0..100 {
            let done = done.clone();
            pool.run(move || {
                let _ = done.send(number);
            });
        }
        let mut numbers: Vec<i32> = all.iter().take(100).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        drop(release);
        pool.wait_until_done(LONG);
    }

    #[test]
    fn what_is_in_line_is_done_in_order() {
        let pool = Pool::default();
        let (done, all) = mpsc::channel();
        for number in 0..500 {
            let done = done.clone();
            let line = (number % 3).to_string();
            pool.run_in_line(line, move || {
                let _ = done.send(number);
            });
        }
        let numbers: Vec<i32> = all.iter().take(500).collect();
        for line in 0..3 {
            let of_line: Vec<i32> = numbers.iter().copied().filter(|n| n % 3 == line).collect();
            assert!(of_line.is_sorted(), "{of_line:?}");
        }
        pool.wait_until_done(LONG);
        assert!(pool.0.state().lines.is_empty());
    }
}
