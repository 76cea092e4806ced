//! The two clocks, and a timer that counts time spent in suspend.

use rustix::fs::Timespec;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Unix milliseconds. This clock may jump, so use it only where the boot clock cannot help: for people, and
/// for ages across restarts.
pub fn wall_ms() -> u64 {
    millis(clock_gettime(ClockId::Realtime)).saturating_add_signed(jump_ms())
}

#[cfg(not(debug_assertions))]
#[inline(always)]
fn jump_ms() -> i64 {
    0
}

/// How far the wall clock is shifted in a test: the milliseconds in the file that `OUTLIVE_WALL_JUMP` names. The file is
/// read each time. A test cannot set the real clock, which all programs share.
#[cfg(debug_assertions)]
fn jump_ms() -> i64 {
    let jump = std::env::var_os("OUTLIVE_WALL_JUMP").map(std::fs::read_to_string);
    let jump = jump.and_then(|text| text.ok()?.trim().parse().ok());
    jump.unwrap_or_default()
}

/// Milliseconds since the machine started, suspended or not. It never goes back.
pub fn boot_ms() -> u64 {
    millis(clock_gettime(ClockId::Boottime))
}

/// How long the machine was suspended since it started, in microseconds.
pub(crate) fn suspended_us() -> u64 {
    let us = |clock| millis(clock_gettime(clock)) * 1000;
    us(ClockId::Boottime).saturating_sub(us(ClockId::Monotonic))
}

fn millis(time: Timespec) -> u64 {
    time.tv_sec.max(0) as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// A timer on the clock of [`boot_ms`].
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    pub fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Timer(timerfd_create(TimerfdClockId::Boottime, flags)?))
    }

    /// The timer becomes readable when [`boot_ms`] reaches `at_ms`, and stays readable until it is set again.
    pub fn set(&self, at_ms: u64) -> io::Result<()> {
        let value = Timespec {
            tv_sec: (at_ms / 1000) as i64,
            // A time of zero would disarm the timer; one nanosecond has passed just as well.
            tv_nsec: ((at_ms % 1000) * 1_000_000).max(1) as _,
        };
        self.settime(value)
    }

    pub fn clear(&self) -> io::Result<()> {
        self.settime(Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        })
    }

    fn settime(&self, it_value: Timespec) -> io::Result<()> {
        let it_interval = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let spec = Itimerspec {
            it_interval,
            it_value,
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &spec)?;
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
