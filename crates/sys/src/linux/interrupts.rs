//! Noticing that a person interrupts or suspends this process, before that takes effect.

use crate::linux::own::{ALL_SIGNALS, Bell, SignalMask, check, swap_signal_mask};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What a signal does to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// It ends: Ctrl-C, or somebody asks it to.
    Ends,
    /// It is suspended: Ctrl-Z.
    Suspends,
}

const NOTICED: [(i32, Interruption); 3] = [
    (libc::SIGINT, Interruption::Ends),
    (libc::SIGTERM, Interruption::Ends),
    (libc::SIGTSTP, Interruption::Suspends),
];

/// The signals that end or suspend this process wait here. They are blocked in the thread that made this, and in
/// those that it starts afterwards.
#[derive(Debug)]
pub struct Interrupts {
    bell: Bell,
    before: SignalMask,
}

impl Interrupts {
    /// Blocks them. Signals that this process ignores, because its caller did, stay ignored.
    pub fn block() -> io::Result<Interrupts> {
        let signals: Vec<i32> = NOTICED
            .into_iter()
            .map(|(signal, _)| signal)
            .filter(|signal| !is_ignored(*signal))
            .collect();
        let bell = Bell::for_signals(&signals)?;
        let before = swap_signal_mask(ALL_SIGNALS)?;
        let blocked = signals
            .iter()
            .fold(before, |mask, signal| mask | bit(*signal));
        swap_signal_mask(blocked)?;
        Ok(Interrupts {
            bell,
            before: SignalMask(before),
        })
    }

    /// The signals that were blocked before.
    pub fn mask_before(&self) -> SignalMask {
        self.before
    }

    /// The next one that has arrived.
    pub fn next(&self) -> Option<(i32, Interruption)> {
        let arrived = self.bell.next_signal()?;
        NOTICED.into_iter().find(|(signal, _)| *signal == arrived)
    }

    /// Lets a signal act as if it had not been blocked. Returns if this process was suspended and continued.
    pub fn give_in(&self, signal: i32) -> io::Result<()> {
        let mask = swap_signal_mask(ALL_SIGNALS & !bit(signal))?;
        // SAFETY: a plain call. The signal has its default action: no handler runs.
        let sent = check(i64::from(unsafe { libc::kill(libc::getpid(), signal) }));
        swap_signal_mask(mask)?;
        sent.map(drop)
    }
}

impl AsFd for Interrupts {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero `sigaction` is valid storage, which the call fills.
    let mut found: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no new action is given, and `found` outlives the call.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut found) };
    asked == 0 && found.sa_sigaction == libc::SIG_IGN
}
