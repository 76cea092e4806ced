//! Asks a keeper and waits for its answer, without waiting for ever for a suspended keeper.

use super::reach_within;
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::connection::{Answer, Connection, PATIENCE};
use crate::jobs::job::KeeperView;
use outlive_core::control::{Reply, Request};
use outlive_core::{BootTime, JobId};
use std::time::Duration;

/// The result of asking a keeper what it sees.
#[derive(Clone, Copy, Debug)]
pub enum LookResult {
    /// The keeper's answer. Empty if the job is over.
    Seen(KeeperView),
    /// It did not answer in time, or something else answered.
    Silent,
}

/// Asks the job's keeper what it sees of the job now.
pub fn look(outlive: &Outlive, id: &JobId, patience: Duration) -> Result<LookResult, Error> {
    let asked = PendingLook::of(outlive, id, patience)?;
    asked.answer(outlive, id, clock::boot() + patience)
}

/// A question that was sent to a keeper. Many can be sent before the first answer is awaited.
#[derive(Debug)]
pub struct PendingLook(Option<Connection>);

impl PendingLook {
    pub fn of(outlive: &Outlive, id: &JobId, patience: Duration) -> Result<PendingLook, Error> {
        let connection = reach_within(outlive, id, patience)?;
        if let Some(connection) = &connection {
            connection.send(&Request::Look)?;
        }
        Ok(PendingLook(connection))
    }

    /// Waits for the answer until this moment.
    pub fn answer(
        self,
        outlive: &Outlive,
        id: &JobId,
        until: BootTime,
    ) -> Result<LookResult, Error> {
        let Some(mut connection) = self.0 else {
            return Ok(LookResult::Seen(KeeperView::default()));
        };
        let answer = match connection.receive_until(id, until) {
            // No keeper refuses this, so a process of the job answers in its place. What the keeper sees is unknown.
            Err(
                Error::RefusedByKeeper { .. } | Error::ReadsNothing(_) | Error::NotResizable(_),
            ) => {
                return Ok(LookResult::Silent);
            }
            answer => answer?,
        };
        match answer {
            Some(Answer::Reply(Reply::Look {
                processes,
                awaiting,
                line_mode,
            })) => Ok(LookResult::Seen(KeeperView {
                processes,
                awaiting,
                line_mode,
            })),
            Some(Answer::Reply(_)) => Ok(LookResult::Silent),
            // Another keeper has taken over, or the job is over.
            Some(Answer::KeeperGone) if clock::boot() < until => {
                PendingLook::of(outlive, id, PATIENCE)?.answer(outlive, id, until)
            }
            Some(Answer::KeeperGone) | None => Ok(LookResult::Silent),
        }
    }
}

/// Sends a request to a keeper and waits for the answer, as long as the keeper is alive.
pub fn ask(
    outlive: &Outlive,
    id: &JobId,
    connection: &mut Connection,
    request: &Request,
) -> Result<Answer, Error> {
    connection.send(request)?;
    answer(outlive, id, connection)
}

/// Waits for the answer to the last request. Some answers take long, such as a stop with its grace
/// period. So a silent keeper is asked for a sign of life, less and less often. If it gives none, it is
/// suspended.
pub fn answer(outlive: &Outlive, id: &JobId, connection: &mut Connection) -> Result<Answer, Error> {
    let mut pause = SIGN_OF_LIFE;
    loop {
        let until = clock::boot() + pause;
        if let Some(answer) = connection.receive_until(id, until)? {
            return Ok(answer);
        }
        match look(outlive, id, SIGN_OF_LIFE) {
            Ok(LookResult::Silent) => return Err(Error::NoAnswer(id.clone())),
            Err(error) if error.is_silence() => return Err(Error::NoAnswer(id.clone())),
            // The answer, or the end of the connection, will tell about any other problem.
            Ok(LookResult::Seen(_)) | Err(_) => pause = (pause * 2).min(Duration::from_secs(60)),
        }
    }
}

/// Even on the busiest machine, a keeper that is not suspended answers within this time.
const SIGN_OF_LIFE: Duration = Duration::from_secs(4);
