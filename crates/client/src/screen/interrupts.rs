//! Notices that a person interrupts or suspends a command, so that it can say what becomes of its job.

use outlive_sys::poll::{self, Interest};
pub use outlive_sys::process::interrupts::Interruption;
use outlive_sys::process::interrupts::Interrupts;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Until this is dropped, what is to be said is said.
#[derive(Debug)]
pub struct Announced(Arc<AtomicBool>);

impl Drop for Announced {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Calls `say` when this process is interrupted (Ctrl-C), asked to end, or suspended (Ctrl-Z). Then the signal acts as
/// if nobody had noticed. A thread does it, because the rest of the process may be blocked by a paused terminal.
///
/// Returns `None` if the signals cannot be noticed; they act as before. Those that the caller ignores do nothing.
pub fn announce(say: impl Fn(Interruption) + Send + 'static) -> Option<Announced> {
    // Blocked before the thread is started, so that no thread is hit by them.
    let interrupts = Interrupts::block().ok()?;
    let mask = interrupts.mask_before();
    let is_on = Arc::new(AtomicBool::new(true));
    let is_still_on = Arc::clone(&is_on);
    let notice = move || {
        loop {
            // Without a limit this returns only for a signal.
            let woken = poll::wait(&[(interrupts.as_fd(), Interest::Readable)], None);
            if woken.is_err() {
                return;
            }
            while let Some((signal, kind)) = interrupts.next() {
                if is_still_on.load(Ordering::SeqCst) {
                    say(kind);
                }
                let _ = interrupts.give_in(signal);
            }
        }
    };
    match thread::Builder::new().spawn(notice) {
        Ok(_) => Some(Announced(is_on)),
        Err(_) => {
            let _ = mask.restore();
            None
        }
    }
}
