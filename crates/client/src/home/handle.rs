//! The front door: the verbs as methods of [`Outlive`] and of [`JobHandle`].

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::inbox::{EventId, Inbox, Receipt};
use crate::jobs::naming;
use crate::output::Look;
use crate::verbs::label::{self, ChangeLabels};
use crate::verbs::list::{self, Filter, Listing};
use crate::verbs::log::{self, Log, Part};
use crate::verbs::post::{self, Posted};
use crate::verbs::prune::{self, Prune, Pruned};
use crate::verbs::run::{self, Run};
use crate::verbs::send::{self, Send, Sent};
use crate::verbs::show;
use crate::verbs::signal::{self, SendSignal, Signaled};
use crate::verbs::stop::{self, Stop};
use crate::verbs::wait::{self, Wait, WaitFor, Waited};
use crate::verbs::watch::{self, ChangeWatch};
use crate::view;
use outlive_api::job::Job;
use outlive_api::log::Screen;
use outlive_core::JobId;
use outlive_core::signal::Signal;
use std::time::Duration;

impl Outlive {
    /// Starts a job. Returns once its command has been executed, or could not be: then the job has ended, and
    /// [`JobHandle::wait`] tells why.
    ///
    /// ```no_run
    /// use outlive::{Outlive, Run};
    /// let job = Outlive::open()?.run(Run::shell("make -j8").name("build"))?;
    /// println!("{} {:?}", job.id(), job.wait()?.exit_code);
    /// # Ok::<(), outlive::Error>(())
    /// ```
    pub fn run(&self, run: Run) -> Result<JobHandle, Error> {
        let outlive = self.clone().speaking_for(run.session.as_ref());
        let started = run::run(&outlive, run)?;
        Ok(JobHandle {
            id: started.job.id,
            outlive,
            notes: started.notes,
            already_ran: started.already,
        })
    }

    /// The job of this id, of this name, or the only one whose id begins like this.
    pub fn job(&self, text: &str) -> Result<JobHandle, Error> {
        Ok(self.handle(self.find(text)?))
    }

    /// The job of this id, which need not exist.
    pub fn handle(&self, id: JobId) -> JobHandle {
        JobHandle {
            outlive: self.clone(),
            id,
            notes: Vec::new(),
            already_ran: false,
        }
    }

    /// The jobs that run, and those that ended last.
    pub fn list(&self, filter: &Filter) -> Result<Listing, Error> {
        list::list(self, filter)
    }

    /// The inbox of a session: what it has not been told yet.
    pub fn inbox(&self, session: &str) -> Result<Inbox, Error> {
        Inbox::open(self, naming::label("the session", session)?)
    }

    /// Puts work that was done elsewhere into a session's inbox.
    pub fn post(&self, post: post::NewPost) -> Result<(EventId, Posted), Error> {
        post::post(self, post)
    }

    /// Removes ended jobs.
    pub fn prune(&self, prune: &Prune) -> Result<Pruned, Error> {
        prune::prune(self, prune)
    }
}

/// One job, with its verbs as methods. It holds nothing open: dropping it changes nothing, and any process
/// can have another handle of the same job.
#[derive(Clone, Debug)]
pub struct JobHandle {
    outlive: Outlive,
    id: JobId,
    notes: Vec<String>,
    already_ran: bool,
}

impl JobHandle {
    /// The id of the job.
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The home, on behalf of the caller that started or found the job. The methods of
    /// [`Log`](crate::verbs::log::Log) take it.
    pub fn outlive(&self) -> &Outlive {
        &self.outlive
    }

    /// Whether nothing was started, because a job that `unless_running` accepts ran already.
    pub fn already_ran(&self) -> bool {
        self.already_ran
    }

    /// Notes about the start: where it differs from what a reader of the command would expect.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The job as it is now.
    pub fn show(&self) -> Result<Job, Error> {
        show::show(&self.outlive, &self.id)
    }

    /// Waits until the job has ended. If the caller is the job's session, it is recorded as told of the end just
    /// before this returns. To record it after the answer has been used, call [`wait_for`](JobHandle::wait_for).
    pub fn wait(&self) -> Result<Job, Error> {
        let waited = self.wait_for(WaitFor::End, None)?;
        told_if_possible(&waited.receipt);
        let job = waited.jobs.into_iter().next();
        job.ok_or_else(|| Error::NoSuchJob(self.id.to_string()))
    }

    /// Waits until this has come, until the job has ended, or for at most this long. Call
    /// [`told`](crate::inbox::Receipt::told) on its `receipt` once the answer has been used.
    pub fn wait_for(&self, what: WaitFor, timeout: Option<Duration>) -> Result<Waited, Error> {
        let wait = Wait {
            what,
            timeout,
            ..Wait::default()
        };
        wait::wait(&self.outlive, std::slice::from_ref(&self.id), wait)
    }

    /// Stops the job and every process of it: TERM, a grace period, then KILL. Returns when nothing of it is
    /// left. That it has ended already is no error. If the caller is the job's session, it counts as told of the end.
    pub fn stop(&self) -> Result<Job, Error> {
        self.stop_with(&Stop::default())
    }

    /// The same with another grace period, or with a reason for the record.
    pub fn stop_with(&self, stop: &Stop) -> Result<Job, Error> {
        let stopped = stop::stop_one(&self.outlive, &self.id, stop)?;
        told_if_possible(&stopped.receipt);
        Ok(stopped.job)
    }

    /// Changes what the running job is watched for, and of which ends its session is told.
    pub fn watch(&self, asked: &ChangeWatch) -> Result<Job, Error> {
        watch::watch(&self.outlive, &self.id, asked)
    }

    /// Changes the labels of the job, which may have ended.
    pub fn label(&self, asked: &ChangeLabels) -> Result<Job, Error> {
        label::label(&self.outlive, &self.id, asked)
    }

    /// Sends one signal to every process of the job.
    pub fn signal(&self, signal: Signal) -> Result<Signaled, Error> {
        signal::signal(&self.outlive, &self.id, SendSignal { signal })
    }

    /// Types a line into the job's input, which must be a pipe or a terminal.
    pub fn send_line(&self, text: &str) -> Result<Sent, Error> {
        self.send(&Send {
            text: text.into(),
            enter: true,
            ..Send::default()
        })
    }

    /// Writes to the job's input.
    pub fn send(&self, send: &Send) -> Result<Sent, Error> {
        send::send(&self.outlive, &self.id, send)
    }

    /// A part of the output, to be read as text, as lines or as bytes.
    pub fn log(&self, part: &Part) -> Result<Log, Error> {
        log::log(&self.outlive, &self.id, part)
    }

    /// The last lines of the output as text.
    pub fn tail(&self, lines: u64) -> Result<String, Error> {
        let log = self.log(&Part::LastLines(lines))?;
        let text = log.text(Look::Plain(view::Options::default()));
        let path = self.outlive.job_dir(&self.id).output();
        Ok(text.map_err(Error::io("cannot read", path))?.text)
    }

    /// What a person would see on the job's terminal now.
    pub fn screen(&self) -> Result<Screen, Error> {
        log::screen(&self.outlive, &self.id)
    }
}

/// Records that the caller was told. If that fails, on a full disk for example, the session is told once more. The
/// answer is not withheld for it.
fn told_if_possible(receipt: &Receipt) {
    let _ = receipt.told();
}
