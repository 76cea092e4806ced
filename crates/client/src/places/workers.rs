//! Threads for short tasks. A few that have nothing to do stay for the next one: to start a thread takes longer than to
//! answer a call.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// As many as a person's or an agent's calls need at a time. Each keeps some 16 kB.
const MAX_IDLE: usize = 3;

type Task = Box<dyn FnOnce() + Send>;

/// A group of such threads.
pub struct Workers {
    name: &'static str,
    /// Only what is used of it is taken.
    stack: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Tasks that idle threads are about to take.
    tasks: VecDeque<Task>,
    idle: usize,
}

impl Workers {
    pub fn new(name: &'static str, stack: usize) -> Arc<Workers> {
        Arc::new(Workers {
            name,
            stack,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Carries out a task at once, in a thread of its own. Fails if there can be no more threads.
    pub fn give(self: &Arc<Workers>, task: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut state = self.lock();
        if state.idle > state.tasks.len() {
            state.tasks.push_back(Box::new(task));
            drop(state);
            self.changed.notify_one();
            return Ok(());
        }
        drop(state);
        let mine = Arc::clone(self);
        let thread = Builder::new().name(self.name.to_owned());
        let begun = thread.stack_size(self.stack).spawn(move || {
            task();
            mine.work();
        });
        begun.map(drop)
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            task();
        }
    }

    /// The next task. `None` if others have nothing to do either.
    fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        if state.idle >= MAX_IDLE {
            return None;
        }
        state.idle += 1;
        let waited = self
            .changed
            .wait_while(state, |state| state.tasks.is_empty());
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        state.tasks.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::sync::mpsc::{self, Receiver, Sender};
    use std::thread::{self, ThreadId};

    /// Begins a task that ends when the sender is dropped. The receiver gets the thread that carries it out.
    fn begin(workers: &Arc<Workers>) -> (Sender<()>, Receiver<ThreadId>) {
        let (release, held) = mpsc::channel::<()>();
        let (say, hear) = mpsc::channel();
        let task = move || {
            let _ = say.send(thread::current().id());
            let _ = held.recv();
        };
        workers.give(task).unwrap();
        (release, hear)
    }

    #[test]
    fn no_task_waits_for_another_one() {
        let workers = Workers::new("test", 64 * 1024);
        for _ in 0..3 {
            let tasks: Vec<_> = (0..10).map(|_| begin(&workers)).collect();
            let mut threads: Vec<_> = tasks.iter().map(|(_, hear)| hear.recv().unwrap()).collect();
            threads.dedup();
            assert_eq!(threads.len(), 10);
        }
    }

    #[test]
    fn a_thread_carries_out_one_task_after_the_other() {
        let workers = Workers::new("test", 64 * 1024);
        let run = || {
            let (release, hear) = begin(&workers);
            let thread = hear.recv().unwrap();
            drop(release);
            while workers.lock().idle == 0 {
                thread::yield_now();
            }
            thread
        };
        let first = run();
        assert_eq!(run(), first);
    }
}
