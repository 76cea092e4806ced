//! How fast the job writes, and how much is let gather in the feed before it is taken.
//!
//! ```text
//!           several moves, and still there is more: the feed is made wide
//!   Slow ────────────────────────────────────────────────────────────────▶ Fast
//!        ◀────────────────────────────────────────────────────────────────
//!           nothing has come for a while: the feed is made as it was
//! ```
//! A fast writer whose every page is taken by itself costs three times the processor time, and is held
//! up by it: while bytes are moved nobody else gets at the pipe. Few large moves into a file are the
//! cheapest there are. But what a user may have in pipes is bounded for all of its programs, so a feed is
//! wide only while output comes in a stream.

use crate::clock;
use outlive_core::BootTime;
use outlive_sys::capture;
use std::fs::File;
use std::thread;
use std::time::Duration;

/// No pipe of ours holds more than this, so draining this much takes all that an ended leader wrote.
pub const LARGEST_FEED: usize = 1024 * 1024;
/// What the feed of a fast writer holds, the most an ordinary user may ask for; or, where the kernel will
/// not have that, less.
const WIDE: [usize; 2] = [LARGEST_FEED, LEAST_WIDE];
/// A fast writer would fill less than this during a nap, and wait.
const LEAST_WIDE: usize = 256 * 1024;
/// So many moves after which there was more at once, and the writer is a fast one.
const MOVES: u32 = 4;
/// A move of less than this part of a wide feed came too early. The rest is there for the writer to go on
/// with meanwhile.
const WORTH_A_MOVE: usize = 8;
/// Until the feed of a fast writer is worth a move again: it does not fill the feed in this time.
const NAP: Duration = Duration::from_micros(150);
/// After so long without output a stream is over. One that waits for its disk, or for the processor, has
/// shorter breaks.
const BREAK: Duration = Duration::from_secs(1);

/// What is known of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// So many moves have been made since the feed was last dry.
    Slow {
        moves: u32,
    },
    Fast(Wide),
    /// It is fast, but the kernel would not have its feed wider.
    Refused,
}

/// A feed that is wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    width: usize,
    /// What it held before.
    made: usize,
    /// Once it has been dry: when it is looked whether more has come.
    look_at: Option<BootTime>,
    /// Whether more has come since.
    flows: bool,
}

impl Flow {
    pub const NEW: Flow = Flow::Slow { moves: 0 };

    /// So much was moved, and there may be more: lets a fast writer write before it is taken.
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

    /// There is nothing more now.
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

    /// Gives the feed its first capacity again if nothing has come for a while.
    pub fn tick(&mut self, feed: &File, now: BootTime) {
        if let Flow::Fast(wide) = self
            && wide.look_at.is_some_and(|at| at <= now)
        {
            // Refused where more has come just now than it held before.
            match !wide.flows && capture::set_width(feed, wide.made).is_ok() {
                true => *self = Flow::NEW,
                false => wide.look_again(now),
            }
        }
    }
}

impl Wide {
    /// `None` where the kernel refuses. One that a predecessor, or the job, has made wide stays so.
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

    /// A feed with both its ends, what it was made for, and what is known after a stream in it.
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
    fn a_feed_is_wide_while_output_comes_in_a_stream_and_no_longer() {
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
    fn moves_that_each_find_the_feed_dry_are_no_stream() {
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
    fn a_feed_with_more_in_it_than_it_was_made_for_stays_wide() {
        let (feed, mut writer, _, mut flow) = stream();
        let wide = width(&feed);
        flow.ran_dry();
        writer.write_all(&vec![0; wide]).expect("room for all");
        flow.tick(&feed, BootTime::from_ms(u64::MAX / 2));
        assert_eq!(width(&feed), wide);
        assert!(flow.due_at().is_some(), "and is looked at again");
    }

    #[test]
    fn a_feed_that_somebody_made_wide_stays_so() {
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
