//! What the streams of a wire carry: each kind of opening, and each call.

use super::greeting;
use super::journals::{self, Journals};
use super::standing::standing;
use super::stream::Stream;
use super::{Far, bad_input, bytes, exec, failed, failure, launching, programs, relay};
use crate::clock;
use crate::error::Error;
use crate::hooks::{self, FarHook};
use crate::verbs::doctor::doctor;
use crate::verbs::{prune, show};
use outlive_core::JobId;
use outlive_core::far::{Answer, Call, FarFailure, Launch, Launched, MAX_CALL, Opening};
use outlive_core::output;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Streams that are open at once. Each has a thread or two.
const MAX_STREAMS: usize = 4096;

impl Far {
    /// Begins to serve a stream. Whatever is wrong with it ends this stream only.
    pub(super) fn open(self: &Arc<Self>, stream: &Arc<Stream>, payload: &[u8]) {
        if let Err(failure) = self.try_to_open(stream, payload) {
            stream.end(Some(failure));
        }
    }

    fn try_to_open(
        self: &Arc<Self>,
        stream: &Arc<Stream>,
        payload: &[u8],
    ) -> Result<(), FarFailure> {
        if self.wire.count() > MAX_STREAMS {
            return Err(refused("too many streams are open"));
        }
        let opening: Opening =
            serde_json::from_slice(payload).map_err(|error| bad_input(&error.to_string()))?;
        self.refuse_before_hello(&opening)?;
        let (far, serving) = (Arc::clone(self), Arc::clone(stream));
        match opening {
            Opening::Journals => self.begin_journals(stream),
            Opening::Call(call) => {
                // Counted here, so that a launch that was read is carried out although the input ends.
                let busy = matches!(*call, Call::Launch(_)).then(|| self.busy.begin());
                start("call", None, move || {
                    far.call(&serving, *call);
                    drop(busy);
                })
            }
            Opening::Exec { program, ticket } => start("exec", None, move || {
                exec::serve(&far, &serving, program, ticket);
            }),
            Opening::LongCall => start("call", None, move || far.long_call(&serving)),
            Opening::Control { job } => start("control", Some(relay::STACK * 4), move || {
                relay::serve(&far, &serving, &job);
            }),
            Opening::Bytes {
                job,
                file,
                from,
                to,
            } => start("bytes", Some(relay::STACK * 4), move || {
                bytes::serve(&far, &serving, &job, file, (from, to));
            }),
        }
    }

    /// The first stream of a wire is the hello, and nothing else before its answer.
    fn refuse_before_hello(&self, opening: &Opening) -> Result<(), FarFailure> {
        let is_hello = matches!(opening, Opening::Call(call) if matches!(**call, Call::Hello(_)));
        let was_asked = match is_hello {
            true => self.hello_came.swap(true, Ordering::AcqRel),
            false => self.greeted.get().is_some(),
        };
        match (is_hello, was_asked) {
            (true, true) => Err(refused("this wire has had its hello")),
            (false, false) => Err(refused("the first call of a wire is the hello")),
            _ => Ok(()),
        }
    }

    fn begin_journals(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<(), FarFailure> {
        let greeted = self.greeted()?;
        let made = Journals::new(&self.outlive, greeted, stream, Arc::clone(&self.acks));
        let (journals, waker) = made.map_err(|error| failed(&error))?;
        if self.journals.set(Arc::clone(&journals)).is_err() {
            return Err(refused("this wire has a stream of journals"));
        }
        let (acks, near) = (Arc::clone(&self.acks), self.near()?);
        start("acks", None, move || acks.record(&near))?;
        let stream = Arc::clone(stream);
        start("journals", None, move || {
            journals::run(&journals, &waker);
            stream.end(None);
        })
    }

    /// Reads a call that is longer than a frame, and answers it.
    fn long_call(self: &Arc<Self>, stream: &Stream) {
        let mut text = Vec::new();
        while let Some(data) = stream.take() {
            if text.len() + data.len() > MAX_CALL {
                return stream.end(Some(bad_input("the call is too long")));
            }
            text.extend_from_slice(&data);
            if stream.used(data.len()).is_err() {
                return;
            }
        }
        if stream.is_over() {
            return;
        }
        match serde_json::from_slice(&text) {
            Ok(Call::Hello(_)) => stream.end(Some(refused("a hello is short"))),
            Ok(call) => {
                let _busy = matches!(call, Call::Launch(_)).then(|| self.busy.begin());
                self.call(stream, call);
            }
            Err(error) => stream.end(Some(bad_input(&error.to_string()))),
        }
    }

    fn call(self: &Arc<Self>, stream: &Stream, call: Call) {
        let about = about(&call);
        let has_launched = matches!(call, Call::Launch(_));
        let answer = self.answer(call).unwrap_or_else(Answer::Failed);
        if has_launched {
            hooks::reach_far(FarHook::Launched);
        }
        if let Some(journals) = self.journals() {
            for job in &about {
                if answer == Answer::Launch(Launched::There) {
                    journals.begin(job);
                }
                if journals.catch_up(job).is_err() {
                    break;
                }
            }
        }
        let sent = serde_json::to_vec(&answer).map(|text| stream.send(&text));
        match sent {
            Ok(_) => stream.end(None),
            Err(error) => stream.end(Some(failed(&error.into()))),
        }
        if has_launched {
            // As every start does, after its caller has the answer.
            prune::retain(&self.outlive);
        }
    }

    fn answer(&self, call: Call) -> Result<Answer, FarFailure> {
        if let Call::Hello(hello) = &call {
            let (greeted, greeting) = greeting::greet(&self.outlive, hello)?;
            let _ = self.greeted.set(greeted);
            return Ok(Answer::Hello(Box::new(greeting)));
        }
        if let Call::Ask { program, within_ms } = call {
            let by = clock::boot() + Duration::from_millis(within_ms);
            return exec::ask(program, by);
        }
        self.answer_greeted(call).map_err(|error| failure(&error))
    }

    fn answer_greeted(&self, call: Call) -> Result<Answer, Error> {
        Ok(match call {
            Call::Hello(_) | Call::Ask { .. } => unreachable!("they are answered before"),
            Call::Ended { ticket } => Answer::Ended(self.ends.take(&ticket)),
            Call::Launch(asked) => self.launch(*asked)?,
            Call::Standing { jobs } => {
                let greeted = self.greeted.get();
                let of = |greeted| {
                    jobs.iter()
                        .map(move |job| standing(&self.outlive, greeted, job))
                };
                Answer::Standing(greeted.into_iter().flat_map(of).collect::<Result<_, _>>()?)
            }
            Call::Look { job } => self.look(&job)?,
            Call::Remove { jobs } => self.remove(&jobs)?,
            Call::Doctor => {
                let report = serde_json::to_value(doctor(&self.outlive)?);
                Answer::Doctor(report.map_err(|error| {
                    Error::io("cannot encode", "the report")(io::Error::from(error))
                })?)
            }
            Call::Clean => Answer::Cleaned {
                removed: programs::clean()?,
            },
        })
    }

    fn launch(&self, asked: Launch) -> Result<Answer, Error> {
        match self.greeted.get() {
            Some(greeted) => launching::launch(self, greeted, asked).map(Answer::Launch),
            None => Ok(Answer::Failed(refused(
                "the first call of a wire is the hello",
            ))),
        }
    }

    fn look(&self, job: &JobId) -> Result<Answer, Error> {
        self.own(job)?;
        let spec = self.outlive.read_spec(job)?;
        let looked = show::with_usage(&self.outlive, job)?;
        let output_size = output::size_of(&self.outlive.job_dir(job), spec.bound());
        Ok(Answer::Look {
            job: Box::new(looked),
            output_size,
        })
    }

    /// What was acked before this call counts.
    fn remove(&self, jobs: &[JobId]) -> Result<Answer, Error> {
        let mut left = Vec::new();
        for job in jobs {
            self.acks.settle(job);
            match self.own(job) {
                Err(error) if error.is_no_such_job() => continue,
                other => other?,
            }
            let removed = prune::remove(&self.outlive, job);
            let reason = removed.unwrap_or_else(|error| Some(error.to_string()));
            left.extend(reason.map(|reason| (job.clone(), reason)));
        }
        Ok(Answer::Removed { left })
    }
}

/// The jobs that a call speaks of.
fn about(call: &Call) -> Vec<JobId> {
    match call {
        Call::Launch(asked) => vec![asked.spec.id.clone()],
        Call::Look { job } => vec![job.clone()],
        Call::Standing { jobs } => jobs.clone(),
        Call::Hello(_)
        | Call::Remove { .. }
        | Call::Doctor
        | Call::Clean
        | Call::Ask { .. }
        | Call::Ended { .. } => Vec::new(),
    }
}

fn refused(message: &str) -> FarFailure {
    FarFailure {
        code: "refused".to_owned(),
        message: message.to_owned(),
    }
}

fn start(
    name: &str,
    stack: Option<usize>,
    act: impl FnOnce() + Send + 'static,
) -> Result<(), FarFailure> {
    let mut thread = thread::Builder::new().name(name.to_owned());
    if let Some(stack) = stack {
        thread = thread.stack_size(stack);
    }
    thread.spawn(act).map(drop).map_err(|error| failed(&error))
}
