//! Block until jobs have ended, without polling: each keeper rings when there is news of its job,
//! and the journal tells what.

use crate::connection::Connection;
use crate::error::Error;
use crate::job::Job;
use crate::outlive::Outlive;
use crate::presence;
use crate::told;
use crate::verbs::show;
use outlive_core::JobId;
use outlive_core::control::Request;
use outlive_sys::clock;
use outlive_sys::poll::{self, Interest};
use std::os::fd::AsFd;
use std::time::Duration;

/// How to wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    pub until: Until,
    pub timeout: Option<Duration>,
}

/// When waiting is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    #[default]
    All,
    Any,
}

/// What waiting brought.
#[derive(Clone, Debug)]
pub struct Waited {
    /// In the order asked for, ended or not.
    pub jobs: Vec<Job>,
    pub out_of_time: bool,
}

/// Waits. Whoever waits for an end has been told of it.
pub fn wait(outlive: &Outlive, ids: &[JobId], how: Wait) -> Result<Waited, Error> {
    let deadline = how
        .timeout
        .map(|timeout| clock::boot_ms().saturating_add(timeout.as_millis() as u64));
    let mut watches = Vec::new();
    for id in ids {
        watches.push(Watch::arm(outlive, id)?);
    }
    let mut out_of_time = false;
    while !is_enough(&watches, how.until) && !out_of_time {
        let ready = sleep(&watches, deadline)?;
        out_of_time = ready.is_empty();
        for place in ready {
            watches[place] = Watch::arm(outlive, &ids[place])?;
        }
    }
    let jobs = ids
        .iter()
        .map(|id| show::show(outlive, id))
        .collect::<Result<Vec<Job>, Error>>()?;
    for job in &jobs {
        told::mark(outlive, job);
    }
    Ok(Waited { jobs, out_of_time })
}

/// One job that is waited for.
enum Watch {
    Ended,
    /// Its keeper will write to this when there is news, or close it when it dies.
    Armed(Connection),
}

impl Watch {
    fn arm(outlive: &Outlive, id: &JobId) -> Result<Watch, Error> {
        loop {
            let (_, state) = presence::meet(outlive, id)?;
            if state.end().is_some() {
                return Ok(Watch::Ended);
            }
            if let Some(connection) = presence::reach(outlive, id)? {
                connection.send(&Request::News {
                    seq: state.seq,
                    output: None,
                })?;
                return Ok(Watch::Armed(connection));
            }
        }
    }
}

fn is_enough(watches: &[Watch], until: Until) -> bool {
    let mut ended = watches.iter().map(|watch| matches!(watch, Watch::Ended));
    match until {
        Until::All => ended.all(|ended| ended),
        Until::Any => watches.is_empty() || ended.any(|ended| ended),
    }
}

/// The places of those there may be news of; none once the time is up.
fn sleep(watches: &[Watch], deadline: Option<u64>) -> Result<Vec<usize>, Error> {
    let armed: Vec<(usize, &Connection)> = watches
        .iter()
        .enumerate()
        .filter_map(|(place, watch)| match watch {
            Watch::Armed(connection) => Some((place, connection)),
            Watch::Ended => None,
        })
        .collect();
    let on: Vec<_> = armed
        .iter()
        .map(|(_, connection)| (connection.as_fd(), Interest::Readable))
        .collect();
    loop {
        let limit = deadline.map(|at| Duration::from_millis(at.saturating_sub(clock::boot_ms())));
        let ready = poll::wait(&on, limit).map_err(Error::io("cannot wait for", "the keepers"))?;
        let ready: Vec<usize> = armed
            .iter()
            .zip(ready)
            .filter_map(|((place, _), ready)| ready.then_some(*place))
            .collect();
        if !ready.is_empty() || deadline.is_some_and(|at| clock::boot_ms() >= at) {
            return Ok(ready);
        }
    }
}
