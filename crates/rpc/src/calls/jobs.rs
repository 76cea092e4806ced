//! Jobs: starting, finding, showing and ending them, and writing to them.

use super::{Call, Refused, jobs_of};
use outlive::api::job::JobList;
use outlive::api::os_text::OsText;
use outlive::api::reply::{ResizeReply, SendReply, SignalReply, StopFailure, StopReply};
use outlive::api::request::{
    ChangeLabels, ChangeWatch, ForJob, ForJobs, Send, SendSignal, Show, Stop,
};
use outlive::api::rpc::{Find, Found, Started};
use outlive::verbs::list::{self, Filter};
use outlive::verbs::stop::{self, StoppedPart, Stops};
use outlive::verbs::{adopt, label, resize, run, send, show, signal, watch};
use outlive::{Adopt, JobId, Outlive, Run, Size, words};

pub fn run(call: &Call) -> Result<(), Refused> {
    let asked: Run = call.read()?;
    let outlive = call.outlive.clone().speaking_for(asked.session.as_ref());
    started(call, run::run(&outlive, asked)?)
}

pub fn adopt(call: &Call) -> Result<(), Refused> {
    let asked: Adopt = call.read()?;
    let outlive = call.outlive.clone().speaking_for(asked.session.as_ref());
    started(call, adopt::adopt(&outlive, asked)?)
}

fn started(call: &Call, started: run::Started) -> Result<(), Refused> {
    let run::Started {
        job,
        notes,
        already,
        receipt,
        ..
    } = started;
    call.answer_telling(Started { job, already }, notes, vec![receipt])
}

pub fn find(call: &Call) -> Result<(), Refused> {
    let Find { text, any_session } = call.read()?;
    let job = match any_session {
        true => call.outlive.find_of_any_session(&text)?,
        false => call.outlive.find(&text)?,
    };
    call.answer(Found { job })
}

pub fn list(call: &Call) -> Result<(), Refused> {
    let asked: Filter = call.read()?;
    let listing = list::list(&call.outlive, &asked)?;
    let unreadable = listing.unreadable.iter();
    let notes = unreadable.map(|(id, why)| format!("cannot show job {id}: {why}"));
    let notes = notes.collect();
    call.answer_with(JobList { jobs: listing.jobs }, notes)
}

pub fn show(call: &Call) -> Result<(), Refused> {
    let ForJob { job, request } = call.read::<ForJob<Show>>()?;
    let view = show::view(&call.outlive, &job, request)?;
    call.answer(&view)?;
    if call.speaker.is_some() {
        show::seen(&call.outlive, &view.job);
    }
    Ok(())
}

pub fn watch(call: &Call) -> Result<(), Refused> {
    let asked: ForJobs<ChangeWatch> = call.read()?;
    let ids = jobs_of(&call.outlive, asked.jobs, asked.select.as_ref())?;
    let each = ids
        .iter()
        .map(|id| watch::watch(&call.outlive, id, &asked.request));
    let jobs = each.collect::<Result<_, _>>()?;
    call.answer(JobList { jobs })
}

pub fn label(call: &Call) -> Result<(), Refused> {
    let asked: ForJobs<ChangeLabels> = call.read()?;
    let ids = jobs_of(&call.outlive, asked.jobs, asked.select.as_ref())?;
    let each = ids
        .iter()
        .map(|id| label::label(&call.outlive, id, &asked.request));
    let jobs = each.collect::<Result<_, _>>()?;
    call.answer(JobList { jobs })
}

pub fn stop(call: &Call) -> Result<(), Refused> {
    let asked: ForJobs<Stop> = call.read()?;
    let ids = jobs_of(&call.outlive, asked.jobs, asked.select.as_ref())?;
    // A wrong id may be a mistake, so nothing is stopped then.
    for id in &ids {
        exists(&call.outlive, id)?;
    }
    let how = Stop {
        detail: asked.request.detail.clone().or_else(|| Some(who(call))),
        ..asked.request
    };
    let Stops { stopped, failed } = stop::stop_all(&call.outlive, &ids, &how);
    let mut notes = Vec::new();
    for one in &stopped {
        let id = &one.job.id;
        notes.extend(match one.what {
            StoppedPart::TheJob => None,
            StoppedPart::Leftovers => Some(format!(
                "{id} had already ended; the processes that it left behind were stopped"
            )),
            StoppedPart::Doorbell => Some(format!(
                "{id} had already ended; its doorbell is not rung again"
            )),
            StoppedPart::AlreadyEnded => Some(format!("{id} had already ended")),
        });
    }
    let failed = failed.iter().map(|(id, error)| StopFailure {
        id: id.clone(),
        error: error.failure(),
    });
    let reply = StopReply {
        failed: failed.collect(),
        jobs: stopped.iter().map(|one| one.job.clone()).collect(),
    };
    let receipts = stopped.into_iter().map(|one| one.receipt);
    call.answer_telling(reply, notes, receipts.collect())
}

fn exists(outlive: &Outlive, id: &JobId) -> Result<(), Refused> {
    match outlive.job_dir(id).path().is_dir() {
        true => Ok(()),
        // This says why.
        false => Ok(outlive.find(id.as_str()).map(drop)?),
    }
}

/// Who asked for the stop, for the job's record.
fn who(call: &Call) -> String {
    match &call.speaker {
        Some(session) => format!("session {}", words::name(session)),
        None => format!("outlive rpc, pid {}", std::process::id()),
    }
}

pub fn signal(call: &Call) -> Result<(), Refused> {
    let ForJob { job, request } = call.read::<ForJob<SendSignal>>()?;
    let signaled = signal::signal(&call.outlive, &job, request)?;
    call.answer(SignalReply {
        id: job,
        signal: request.signal,
        reached: signaled.reached,
        denied: signaled.denied,
    })
}

pub fn send(call: &Call) -> Result<(), Refused> {
    let ForJob { job, mut request } = call.read::<ForJob<Send>>()?;
    if let Some(raw) = &call.raw {
        if request.text != OsText::default() {
            return Err(Refused::bad(
                "give the text in `text` or as raw bytes, not both",
            ));
        }
        request.text = OsText::from(raw.clone());
    }
    let sent = send::send(&call.outlive, &job, &request)?;
    let reply = SendReply {
        id: job,
        sent: true,
        repeated: sent.repeated,
    };
    call.answer_with(reply, sent.notes)
}

pub fn resize(call: &Call) -> Result<(), Refused> {
    let ForJob { job, request } = call.read::<ForJob<Size>>()?;
    resize::resize(&call.outlive, &job, request)?;
    call.answer(ResizeReply {
        id: job,
        size: request,
    })
}
