//! The thread that waits for news of all followed jobs at once.

use super::followed::{Followed, NotSent};
use super::journals::Journals;
use super::outbox::Over;
use super::standing;
use crate::clock;
use crate::error::{Error, PlaceError};
use crate::jobs::connection::Connection;
use crate::jobs::presence::{self, Presence};
use crate::launch::keeper_process;
use crate::verbs::wait::LOOK_ELSEWHERE;
use outlive_core::BootTime;
use outlive_core::control::Request;
use outlive_core::far::Standing;
use outlive_sys::poll::{self, Interest};
use outlive_sys::process::own;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// How long a keeper may take to accept a connection.
const CONNECTING: Duration = Duration::from_millis(100);

/// How often to read a job whose keeper is suspended and accepts no connection.
const LOOK_WITHOUT_KEEPER: Duration = Duration::from_secs(1);

/// After a failure, a job is tried again after the first pause; each one is twice as long as that before, up to the
/// longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What else the far end has open: files, and connections of other streams.
const OTHER_FILES: usize = 256;

/// One job of the thread.
struct Watch {
    followed: Arc<Followed>,
    until: Until,
}

/// What the thread waits for.
enum Until {
    /// The keeper writes to this connection when there is news, and it closes when the keeper dies.
    News(Connection),
    /// Nobody reports news: another host keeps the job, its keeper is suspended, or there are too many jobs.
    Time(BootTime),
}

/// Waits until the stream is over.
pub fn run(journals: &Journals, waker: &File) {
    let mut watches: Vec<Watch> = Vec::new();
    while !journals.is_over() {
        let fresh = journals.take_fresh();
        for followed in fresh {
            let Ok(until) = attend(journals, &followed, room(&watches)) else {
                return;
            };
            watches.extend(until.map(|until| Watch { followed, until }));
        }
        let Some(ready) = sleep(&watches, waker) else {
            return;
        };
        for place in ready.into_iter().rev() {
            let Watch { followed, until } = watches.swap_remove(place);
            // Its place is free again.
            drop(until);
            let Ok(until) = attend(journals, &followed, room(&watches)) else {
                return;
            };
            watches.extend(until.map(|until| Watch { followed, until }));
        }
    }
}

/// Whether one more connection can be open. The limit is not raised, because jobs inherit it.
fn room(watches: &[Watch]) -> bool {
    let most = own::open_file_limit().unwrap_or(usize::MAX);
    watches.len() < most.saturating_sub(OTHER_FILES).max(most / 2)
}

/// Sends what is new. Returns what to wait for; `None` if there is nothing more to come.
fn attend(
    journals: &Journals,
    followed: &Arc<Followed>,
    has_room: bool,
) -> Result<Option<Until>, Over> {
    if followed.is_left() {
        return Ok(None);
    }
    if followed.take_stopped() {
        // If that fails, it is still kept elsewhere as far as one can see here, and the next wire says it again.
        let _ = presence::settle_stopped(&journals.outlive, &followed.job);
    }
    let tried = try_to_attend(journals, followed, has_room);
    keeper_process::reap();
    match tried {
        Ok(until) => {
            followed.forget_failures();
            Ok(until)
        }
        Err(Failed::Over) => Err(Over),
        Err(Failed::Error(error)) => {
            match standing::standing(&journals.outlive, &journals.greeted, &followed.job) {
                Ok(Standing::NotThere | Standing::OtherJob) => {
                    return journals.give_up(followed).map(|()| None);
                }
                Err(error @ Error::Place(PlaceError::HomeGone(_))) => {
                    journals.break_off(&error);
                    return Err(Over);
                }
                Ok(Standing::There) | Err(_) => {}
            }
            // It may pass: too many open files, or a disk that is away.
            let failures = followed.count_failure();
            if failures == 0 {
                journals.tell_failure(followed, &error)?;
            }
            let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(16));
            let at = clock::boot() + pause.min(LONGEST_PAUSE);
            Ok(Some(Until::Time(at)))
        }
    }
}

enum Failed {
    Over,
    Error(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Error(error)
    }
}

fn try_to_attend(
    journals: &Journals,
    followed: &Followed,
    has_room: bool,
) -> Result<Option<Until>, Failed> {
    let (outlive, job) = (&journals.outlive, &followed.job);
    let after = |pause: Duration| Ok(Some(Until::Time(clock::boot() + pause)));
    loop {
        standing::require(outlive, &journals.greeted, job)?;
        let (presence, state) = presence::meet(outlive, job)?;
        let seq = followed
            .send_news(journals)
            .map_err(|failed| match failed {
                NotSent::Over => Failed::Over,
                NotSent::Unread(error) => {
                    let path = outlive.job_dir(job).journal();
                    Failed::Error(Error::io("cannot read", path)(error))
                }
            })?;
        match presence {
            Presence::Over if state.is_final() => return Ok(None),
            Presence::Elsewhere(_) | Presence::Away(_) => return after(LOOK_ELSEWHERE),
            Presence::Kept | Presence::Over if !has_room => return after(LOOK_ELSEWHERE),
            Presence::Kept | Presence::Over => {}
        }
        let connection = match presence::reach_within(outlive, job, CONNECTING) {
            Err(error) if error.is_silence() => return after(LOOK_WITHOUT_KEEPER),
            other => other?,
        };
        if let Some(connection) = connection {
            connection.send(&Request::News { seq, output: None })?;
            return Ok(Some(Until::News(connection)));
        }
    }
}

/// Waits until something is to be done for these jobs, or for new ones. `None` if nobody can wait any more.
fn sleep(watches: &[Watch], mut waker: &File) -> Option<Vec<usize>> {
    let mut on = vec![(waker.as_fd(), Interest::Readable)];
    let mut places = Vec::new();
    for (place, watch) in watches.iter().enumerate() {
        if let Until::News(connection) = &watch.until {
            on.push((connection.as_fd(), Interest::Readable));
            places.push(place);
        }
    }
    let next = watches.iter().filter_map(|watch| match watch.until {
        Until::Time(at) => Some(at),
        Until::News(_) => None,
    });
    let limit = next.min().map(|at| at.since(clock::boot()));
    let ready = poll::wait(&on, limit).ok()?;
    if ready[0] {
        let _ = waker.read(&mut [0; 4096]);
    }
    let now = clock::boot();
    let armed = places.into_iter().zip(&ready[1..]);
    let mut due: Vec<usize> = armed
        .filter_map(|(place, ready)| ready.then_some(place))
        .collect();
    due.extend(
        watches
            .iter()
            .enumerate()
            .filter_map(|(place, watch)| match watch.until {
                Until::Time(at) if at <= now => Some(place),
                _ => None,
            }),
    );
    // Those that were left have nobody who waits for them.
    due.extend((0..watches.len()).filter(|place| watches[*place].followed.is_left()));
    due.sort_unstable();
    due.dedup();
    Some(due)
}
