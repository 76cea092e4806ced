//! How fast the job writes, and how much output gathers in the feed before it is taken.
//!
//! ```text
//!           several moves, and still there is more: the feed is made wide
//!   Slow ────────────────────────────────────────────────────────────────▶ Fast
//!        ◀────────────────────────────────────────────────────────────────
//!           nothing has come for a while: the feed is made as it was
//! ```
//! Taking the output of a fast writer page by page costs three times the CPU time and slows the writer down: while
//! bytes are moved, nobody else can use the pipe. A few large moves into a file are the cheapest way. But the kernel
//! limits the size of all pipes of a user together. So a feed is wide only while output comes in a stream.

use crate::clock;
use outlive_core::BootTime;
use outlive_sys::capture;
use std::fs::File;
use std::thread;
use std::time::Duration;

/// No pipe of ours holds more than this. So draining this much takes everything that an ended leader wrote.
pub const LARGEST_FEED: usize = 1024 * 1024;
/// The capacities to try for the feed of a fast writer. The first is the most that an ordinary user may ask for.
const WIDE: [usize; 2] = [LARGEST_FEED, LEAST_WIDE];
/// A fast writer would fill less than this during a nap, and then wait.
const LEAST_WIDE: usize = 256 * 1024;
/// After this many moves in a row that each left more in the feed, the writer is a fast one.
const MOVES: u32 = 4;
/// A move of less than this fraction of a wide feed came too early, so the keeper naps.
const WORTH_A_MOVE: usize = 8;
/// How long the keeper naps. A fast writer does not fill the feed in this time.
const NAP: Duration = Duration::from_micros(150);
/// A stream is over after this long without output. A writer that waits for its disk or for the processor has shorter
/// breaks.
const BREAK: Duration = Duration::from_secs(1);

/// What is known about the writer's speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The number of moves since the feed was last empty.
    Slow {
        moves: u32,
    },
    Fast(Wide),
    /// The writer is fast, but the kernel refused a wider feed.
    Refused,
}

/// A feed that has been made wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    width: usize,
    /// Its capacity before.
    made: usize,
    /// Once the feed has been empty: when to check whether more has come.
    look_at: Option<BootTime>,
    /// Whether more has come since the last check.
    flows: bool,
}

impl Flow {
    pub const NEW: Flow = Flow::Slow { moves: 0 };

    /// Some bytes were moved, and there may be more. If a fast writer has written little, this waits for a moment so
    /// that it can write more.
    pub fn moved(&mut self, feed: &File, count: usize) {
        match self {
            Flow::Slow { moves } if *moves < MOVES => *moves += 1,
            Flow::Slow { .. } => *self = Wide::make(feed).map_or(Flow::Refused, Flow::Fast),
            Flow::Fast(wide) => {
                wide.flows = true;
                if count < wide.width / WORTH_A_MOVE {
                    thread::sleep(NAP);
                }
            }
            Flow::Refused => {}
        }
    }

    /// The feed is empty now.
    pub fn ran_dry(&mut self) {
        match self {
            Flow::Fast(wide) if wide.look_at.is_none() => wide.look_again(clock::now()),
            Flow::Fast(_) => {}
            Flow::Slow { .. } | Flow::Refused => *self = Flow::NEW,
        }
    }

    /// When [`Flow::tick`] is to be called.
    pub fn due_at(&self) -> Option<BootTime> {
        match self {
            Flow::Fast(wide) => wide.look_at,
            Flow::Slow { .. } | Flow::Refused => None,
        }
    }

    /// Restores the feed's capacity if nothing has come for a while.
    pub fn tick(&mut self, feed: &File, now: BootTime) {
        if let Flow::Fast(wide) = self
            && wide.look_at.is_some_and(|at| at <= now)
        {
            // The kernel refuses if the feed contains more than its former capacity.
            match !wide.flows && capture::set_width(feed, wide.made).is_ok() {
                true => *self = Flow::NEW,
                false => wide.look_again(now),
            }
        }
    }
}

impl Wide {
    /// `None` if the kernel refuses. A feed that a predecessor or the job has made wide stays wide.
    fn make(feed: &File) -> Option<Wide> {
        let made = capture::width(feed).ok()?;
        let mut wider = WIDE.into_iter().filter(|width| *width > made);
        let width = wider.find(|width| capture::set_width(feed, *width).is_ok());
        Some(Wide {
            width: width.or_else(|| (made >= LEAST_WIDE).then_some(made))?,
            made,
            look_at: None,
            flows: true,
        })
    }

    fn look_again(&mut self, now: BootTime) {
        self.look_at = Some(now + BREAK);
        self.flows = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn width(feed: &File) -> usize {
        capture::width(feed).expect("its width")
    }

    /// A feed, its writing end, its first capacity, and the flow after a stream.
    fn stream() -> (File, File, usize, Flow) {
        let (feed, writer) = capture::new_pipe().expect("a pipe");
        let made = width(&feed);
        let mut flow = Flow::NEW;
        for _ in 0..MOVES {
            flow.moved(&feed, 4096);
            assert_eq!(width(&feed), made, "a few moves are no stream");
        }
        flow.moved(&feed, 4096);
        assert!(width(&feed) > made, "a stream is let gather");
        (feed, writer, made, flow)
    }

    #[test]
    fn a_feed_is_wide_only_while_output_comes_in_a_stream() {
        let (feed, _writer, made, mut flow) = stream();
        assert_eq!(flow.due_at(), None, "nothing is due while it flows");
        flow.ran_dry();
        let at = flow.due_at().expect("it is looked again");
        flow.moved(&feed, 4096);
        flow.ran_dry();
        assert_eq!(flow.due_at(), Some(at), "however often it runs dry");
        flow.tick(&feed, at);
        assert!(width(&feed) > made, "more has come");
        let at = flow.due_at().expect("it is looked again");
        flow.tick(&feed, at - Duration::from_millis(1));
        assert!(width(&feed) > made, "it is too early");
        flow.tick(&feed, at);
        assert_eq!((width(&feed), flow), (made, Flow::NEW));
        assert_eq!(flow.due_at(), None, "a quiet job is not looked at");
    }

    #[test]
    fn moves_that_each_empty_the_feed_are_no_stream() {
        let (feed, _writer) = capture::new_pipe().expect("a pipe");
        let made = width(&feed);
        let mut flow = Flow::NEW;
        for _ in 0..10 * MOVES {
            flow.moved(&feed, 4096);
            flow.ran_dry();
        }
        assert_eq!(width(&feed), made);
    }

    #[test]
    fn a_feed_with_more_than_its_first_capacity_stays_wide() {
        let (feed, mut writer, _, mut flow) = stream();
        let wide = width(&feed);
        flow.ran_dry();
        writer.write_all(&vec![0; wide]).expect("room for all");
        flow.tick(&feed, BootTime::from_ms(u64::MAX / 2));
        assert_eq!(width(&feed), wide);
        assert!(flow.due_at().is_some(), "and is looked at again");
    }

    #[test]
    fn a_feed_that_was_wide_before_stays_wide() {
        let (feed, _writer) = capture::new_pipe().expect("a pipe");
        capture::set_width(&feed, LARGEST_FEED).expect("wider");
        let mut flow = Flow::NEW;
        for _ in 0..=MOVES {
            flow.moved(&feed, 4096);
        }
        assert!(matches!(flow, Flow::Fast(_)), "what there is is used");
        flow.ran_dry();
        flow.tick(&feed, BootTime::from_ms(u64::MAX / 2));
        assert_eq!((width(&feed), flow), (LARGEST_FEED, Flow::NEW));
    }
}
