//! What a job waits for before it starts, as its files and locks say.

use crate::home::outlive::Outlive;
use outlive_api::job::{Job, WaitingFor};
use outlive_core::queue::{Key, QueueDir};
use outlive_core::spec::Queue;
use outlive_core::{Home, JobDir, JobId, Label, Phase, Spec, State, layout};
use outlive_sys::lock;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What the job waits for; `None` if it has everything, or has begun.
pub(crate) fn waiting_for(dir: &JobDir, spec: &Spec, state: &State) -> Option<WaitingFor> {
    if state.phase != Phase::Accepted || !spec.may_wait() {
        return None;
    }
    let (home, own) = dir.place().ok()?;
    let queue = || {
        let queue = spec.queue.as_ref()?;
        in_queue(&home.queue(&queue.name), queue, &Key::of(spec))
    };
    let lock = || held_lock(&home, spec.lock.as_ref()?, &own);
    after(&home, dir, spec).or_else(queue).or_else(lock)
}

/// The job without the IDs of other sessions' jobs. To a session, such jobs do not exist.
pub(crate) fn without_strangers(outlive: &Outlive, mut job: Job) -> Job {
    let (Some(session), Some(waiting)) = (outlive.calling_session(), &mut job.waiting_for) else {
        return job;
    };
    let is_own = |id: &JobId| {
        let spec = outlive.read_spec(id);
        spec.is_ok_and(|spec| spec.session.as_ref() == Some(session))
    };
    match waiting {
        WaitingFor::Lock { holder, .. } => *holder = holder.take().filter(is_own),
        WaitingFor::After { after } => after.retain(is_own),
        WaitingFor::Queue { .. } => {}
    }
    job
}

/// The jobs that must end first and have not.
fn after(home: &Home, dir: &JobDir, spec: &Spec) -> Option<WaitingFor> {
    if spec.after.is_empty() || dir.after_met().exists() {
        return None;
    }
    let runs = |id: &JobId| {
        let journal = home.job(id).read_journal();
        journal.is_ok_and(|journal| journal.state.end().is_none())
    };
    let ids = spec.after.iter().map(|after| after.job.clone());
    let after: Vec<JobId> = ids.filter(runs).collect();
    (!after.is_empty()).then_some(WaitingFor::After { after })
}

/// Its place in the queue, until its turn has come.
fn in_queue(dir: &QueueDir, queue: &Queue, own: &Key) -> Option<WaitingFor> {
    let is_in_line = |path: &Path| layout::open(path).and_then(|file| lock::is_owned(&file));
    if !is_in_line(&dir.line(own)).ok()? {
        return None;
    }
    let tickets = dir.tickets().ok()?;
    let before = tickets.iter().take_while(|ticket| ticket.key != *own);
    let waiting = before.filter(|ticket| is_in_line(&dir.line(&ticket.key)).unwrap_or(false));
    Some(WaitingFor::Queue {
        queue: queue.name.clone(),
        position: u32::try_from(waiting.count()).map_or(u32::MAX, |before| before + 1),
        width: dir.width(),
    })
}

/// The lock that it waits for, if another job has it.
fn held_lock(home: &Home, lock: &Label, own: &JobId) -> Option<WaitingFor> {
    let mut file = File::open(home.lock(lock)).ok()?;
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    let holder = JobId::parse(&text).ok();
    let is_taken = lock::is_taken(&file).unwrap_or(true);
    (is_taken && holder.as_ref() != Some(own)).then(|| WaitingFor::Lock {
        lock: lock.clone(),
        holder,
    })
}
