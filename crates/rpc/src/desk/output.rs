//! `follow_output`: an output by byte cursor, until the job has ended and all of it was sent.

use super::stream::{Continues, Stream, Turn};
use crate::calls::{Call, Refused};
use crate::under_way::Request;
use outlive::api::failure::Failure;
use outlive::api::rpc::{FollowOutput, OutputEnd, OutputPart};
use outlive::listening::{BootTime, Following, State, Wanted};
use outlive::verbs::show;
use outlive::{Chunk, Error, JobId, LOCAL, clock};
use std::sync::Arc;
use std::time::Duration;

/// So much of one output is sent before another one has its turn.
const AT_ONCE: u64 = 256 * 1024;

/// A place that has news of nothing more often than this in a row is not believed.
const MAX_IN_VAIN: u32 = 10;

/// When to try again if a place was lost while its output was read, or is not believed.
const LOST_AGAIN: Duration = Duration::from_secs(1);

/// An output that is followed. Its job is not protected from pruning, which would take one more descriptor: it is read so
/// soon after its end that only `prune --all` at that very moment could remove it, and then that is said.
#[derive(Debug)]
struct Output {
    call: Arc<Call>,
    following: Following,
    state: Option<State>,
    /// All that there was has been sent.
    is_caught_up: bool,
    is_new: bool,
    /// How many turns in a row had nothing to send.
    in_vain: u32,
    /// A turn has ended since its job was listened to.
    is_deaf: bool,
    /// Its place was lost.
    look_at: Option<BootTime>,
    failed: Option<Failure>,
}

pub fn follow_output(call: &Arc<Call>) -> Result<Stream, Refused> {
    let asked: FollowOutput = call.read()?;
    let mut following = Following::new(&call.outlive, &asked.job, asked.from)?;
    following = match (asked.stream, asked.apart) {
        (Some(stream), _) => following.of_stream(stream),
        (None, true) => following.telling_streams(),
        (None, false) => following,
    };
    let output = Output {
        call: call.clone(),
        following,
        state: None,
        is_caught_up: false,
        is_new: true,
        in_vain: 0,
        is_deaf: false,
        look_at: None,
        failed: None,
    };
    Ok(Stream::new(&call.request, output))
}

impl Continues for Output {
    fn heard(&mut self, _: &JobId, state: Result<&State, &Error>) {
        match state {
            Ok(state) => self.state = Some(state.clone()),
            Err(error) => self.failed = Some(error.failure()),
        }
    }

    fn new_jobs(&mut self) -> Vec<JobId> {
        match std::mem::take(&mut self.is_new) {
            true => vec![self.following.id().clone()],
            false => Vec::new(),
        }
    }

    fn listens_again(&mut self) -> Option<JobId> {
        std::mem::take(&mut self.is_deaf).then(|| self.following.id().clone())
    }

    fn wants(&self, _: &JobId) -> Option<Wanted> {
        let state = self.state.as_ref()?;
        let wanted = self.following.wanted(state);
        match (self.is_caught_up, self.look_at) {
            (true, _) => Some(wanted),
            // Its courier tells when it is reached.
            (false, Some(_)) => Some(Wanted::events_after(state.seq)),
            (false, None) => None,
        }
    }

    fn jobs_to_resume(&self) -> Vec<JobId> {
        match self.is_caught_up {
            true => Vec::new(),
            false => vec![self.following.id().clone()],
        }
    }

    fn look_at(&self) -> Option<BootTime> {
        self.look_at
    }

    fn jobs_to_look_at(&mut self) -> Vec<JobId> {
        self.look_at = None;
        vec![self.following.id().clone()]
    }

    fn is_slow(&self) -> bool {
        self.following.place() != LOCAL && self.state.is_some()
    }

    fn turn(&mut self, request: &Request) -> Turn {
        if let Some(failure) = self.failed.take() {
            return Turn::refuse(&self.call.request, failure);
        }
        let Some(state) = &self.state else {
            return Turn::Sleeps;
        };
        self.is_caught_up = false;
        let begun_at = self.following.position();
        loop {
            if !request.has_room() {
                return Turn::Sleeps;
            }
            if self.following.position() - begun_at >= AT_ONCE {
                return Turn::GoesOn;
            }
            let sent = match self.following.read(&self.call.outlive, state) {
                Ok(Some(Chunk::Bytes { at, bytes, stream })) => {
                    request.part(OutputPart::Bytes { at, stream }, Some(&bytes))
                }
                Ok(Some(Chunk::Missing(range))) => {
                    let dropped = [range.start, range.end];
                    request.part(OutputPart::Dropped { dropped }, None)
                }
                Ok(Some(Chunk::Ended | Chunk::OutOfTime)) => return self.answer(),
                Ok(None) => {
                    self.is_deaf = true;
                    let is_idle = self.following.position() == begun_at;
                    self.in_vain = if is_idle {
                        self.in_vain.saturating_add(1)
                    } else {
                        0
                    };
                    let is_far = self.following.place() != LOCAL;
                    if is_far && self.in_vain > MAX_IN_VAIN {
                        self.look_at = Some(clock::boot() + LOST_AGAIN);
                        return Turn::Sleeps;
                    }
                    self.is_caught_up = true;
                    return Turn::Sleeps;
                }
                Err(error) if error.is_unreached() => {
                    self.look_at = Some(clock::boot() + LOST_AGAIN);
                    self.is_deaf = true;
                    return Turn::Sleeps;
                }
                Err(error) => return Turn::refuse(&self.call.request, error.failure()),
            };
            if sent.is_err() {
                return Turn::unwanted();
            }
        }
    }
}

impl Output {
    fn answer(&self) -> Turn {
        let (call, at) = (self.call.clone(), self.following.position());
        let id = self.following.id().clone();
        Turn::Over(Box::new(move || {
            let _ = match show::show(&call.outlive, &id) {
                Ok(job) => call
                    .request
                    .answer(OutputEnd { job, at }, Vec::new(), false),
                Err(error) => call.request.refuse(error.failure()),
            };
        }))
    }
}
