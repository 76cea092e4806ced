//! Block until jobs have ended, without polling: each keeper rings when there is news of its job,
//! and the journal tells what.

use crate::connection::{Answer, Connection};
use crate::error::Error;
use crate::job::Job;
use crate::outlive::Outlive;
use crate::presence;
use crate::told;
use crate::verbs::show;
use outlive_core::JobId;
use outlive_core::control::{Reply, Request};
use outlive_core::notice::Kind;
use outlive_core::told::How;
use outlive_sys::clock;
use outlive_sys::poll::{self, Interest};
use std::os::fd::AsFd;
use std::time::Duration;

/// How to wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    pub what: What,
    pub until: Until,
    pub timeout: Option<Duration>,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    #[default]
    End,
    /// That a process of the job waits for input; or the end, whichever comes first.
    Input,
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
    /// Which of them were found to wait for input.
    pub awaiting: Vec<bool>,
    pub out_of_time: bool,
}

impl Waited {
    /// Notes, once the face has said so, that whoever waited has been told of the ends.
    pub fn heard(&self, outlive: &Outlive) -> Result<(), Error> {
        for job in self.jobs.iter().filter(|job| job.has_ended()) {
            told::heard(outlive, &job.id, How::Wait, |kind| kind == Kind::Ended)?;
        }
        Ok(())
    }
}

/// Waits.
pub fn wait(outlive: &Outlive, ids: &[JobId], how: Wait) -> Result<Waited, Error> {
    let deadline = how
        .timeout
        .map(|timeout| clock::boot_ms().saturating_add(timeout.as_millis() as u64));
    let mut watches = Vec::new();
    for id in ids {
        watches.push(Watch::arm(outlive, id, how.what)?);
    }
    let mut out_of_time = false;
    while !is_enough(&watches, how.until) && !out_of_time {
        let ready = sleep(&watches, deadline)?;
        out_of_time = ready.is_empty();
        for place in ready {
            watches[place] = watches[place].look(outlive, &ids[place], how.what)?;
        }
    }
    let jobs = ids
        .iter()
        .map(|id| show::show(outlive, id))
        .collect::<Result<Vec<Job>, Error>>()?;
    let awaits = |watch: &Watch| matches!(watch, Watch::AwaitsInput);
    Ok(Waited {
        jobs,
        awaiting: watches.iter().map(awaits).collect(),
        out_of_time,
    })
}

/// One job that is waited for.
enum Watch {
    Ended,
    AwaitsInput,
    /// Its keeper will write to this when there is news, or close it when it dies.
    Armed(Connection),
}

impl Watch {
    fn arm(outlive: &Outlive, id: &JobId, what: What) -> Result<Watch, Error> {
        loop {
            let (_, state) = presence::meet(outlive, id)?;
            if state.end().is_some() {
                return Ok(Watch::Ended);
            }
            if let Some(connection) = presence::reach(outlive, id)? {
                connection.send(&match what {
                    What::End => Request::News {
                        seq: state.seq,
                        output: None,
                    },
                    What::Input => Request::AwaitInput,
                })?;
                return Ok(Watch::Armed(connection));
            }
        }
    }

    /// Its keeper has said something, or gone.
    fn look(&mut self, outlive: &Outlive, id: &JobId, what: What) -> Result<Watch, Error> {
        if let (Watch::Armed(connection), What::Input) = (self, what)
            && let Ok(Answer::Reply(Reply::InputAwaited { .. })) = connection.receive(id)
        {
            return Ok(Watch::AwaitsInput);
        }
        Watch::arm(outlive, id, what)
    }
}

fn is_enough(watches: &[Watch], until: Until) -> bool {
    let mut met = watches
        .iter()
        .map(|watch| !matches!(watch, Watch::Armed(_)));
    match until {
        Until::All => met.all(|met| met),
        Until::Any => watches.is_empty() || met.any(|met| met),
    }
}

/// The places of those there may be news of; none once the time is up.
fn sleep(watches: &[Watch], deadline: Option<u64>) -> Result<Vec<usize>, Error> {
    let armed: Vec<(usize, &Connection)> = watches
        .iter()
        .enumerate()
        .filter_map(|(place, watch)| match watch {
            Watch::Armed(connection) => Some((place, connection)),
            Watch::Ended | Watch::AwaitsInput => None,
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
