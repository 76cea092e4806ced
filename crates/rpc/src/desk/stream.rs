//! A request that the desk continues until it is over.

use crate::under_way::Request;
use outlive::api::failure::Failure;
use outlive::listening::{BootTime, Rung, State, Wanted};
use outlive::{Error, JobId};
use std::fmt;
use std::sync::Arc;

/// What the desk can continue.
pub trait Continues: Send + fmt::Debug {
    /// It is told of all that happens from now on.
    fn begin(&mut self) {}

    /// Whether it wants to know what is started, posted and removed.
    fn listens_to_home(&self) -> bool {
        false
    }

    /// Something was started, posted or removed.
    fn rung(&mut self, _rung: &Rung) {}

    /// This job was read: it may have news.
    fn heard(&mut self, id: &JobId, state: Result<&State, &Error>);

    /// A process of this job waits for input.
    fn input_awaited(&mut self, _id: &JobId) {}

    /// The jobs of which it has begun to want news.
    fn new_jobs(&mut self) -> Vec<JobId>;

    /// The job of which it wants news again after a turn that was not about what was heard of it.
    fn listens_again(&mut self) -> Option<JobId> {
        None
    }

    /// The news that it wants of this job now.
    fn wants(&self, id: &JobId) -> Option<Wanted>;

    /// The jobs to read when it may send more.
    fn jobs_to_resume(&self) -> Vec<JobId> {
        Vec::new()
    }

    /// When to continue it although nothing was heard.
    fn look_at(&self) -> Option<BootTime> {
        None
    }

    /// The jobs to read then.
    fn jobs_to_look_at(&mut self) -> Vec<JobId> {
        Vec::new()
    }

    /// Whether its turn may take long. Then it is continued on another thread.
    fn is_slow(&self) -> bool {
        false
    }

    /// Sends what there is.
    fn turn(&mut self, request: &Request) -> Turn;
}

/// What is to be done at last: the answer, which may take a moment.
pub type Last = Box<dyn FnOnce() + Send>;

/// How a turn went.
pub enum Turn {
    /// Everything was sent, or nothing more may be sent now.
    Sleeps,
    /// There is more.
    GoesOn,
    Over(Last),
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Turn::Sleeps => "Sleeps",
            Turn::GoesOn => "GoesOn",
            Turn::Over(_) => "Over",
        })
    }
}

impl Turn {
    /// It failed.
    pub fn refuse(request: &Arc<Request>, failure: Failure) -> Turn {
        let request = request.clone();
        Turn::Over(Box::new(move || {
            request.refuse(failure);
        }))
    }

    /// Nobody wants it any more.
    pub fn unwanted() -> Turn {
        Turn::Over(Box::new(|| {}))
    }
}

/// One request, and how it is continued.
#[derive(Debug)]
pub struct Stream {
    request: Arc<Request>,
    /// `None` while another thread continues it.
    what: Option<Box<dyn Continues>>,
    listens_to_home: bool,
    pending: Pending,
}

/// What came while another thread continued it.
#[derive(Debug, Default)]
pub struct Pending {
    pub jobs: Vec<JobId>,
    pub rung: Option<Rung>,
}

impl Stream {
    pub fn new(request: &Arc<Request>, what: impl Continues + 'static) -> Stream {
        Stream {
            request: request.clone(),
            listens_to_home: what.listens_to_home(),
            what: Some(Box::new(what)),
            pending: Pending::default(),
        }
    }

    pub fn request(&self) -> &Arc<Request> {
        &self.request
    }

    pub fn listens_to_home(&self) -> bool {
        self.listens_to_home
    }

    pub fn take(&mut self) -> Option<Box<dyn Continues>> {
        self.what.take()
    }

    pub fn put_back(&mut self, what: Box<dyn Continues>) {
        self.what = Some(what);
    }

    /// It comes back from another thread. Returns what came meanwhile.
    pub fn returned(&mut self, what: Box<dyn Continues>) -> Pending {
        self.put_back(what);
        std::mem::take(&mut self.pending)
    }

    pub fn begin(&mut self) {
        if let Some(what) = &mut self.what {
            what.begin();
        }
    }

    pub fn heard(&mut self, id: &JobId, state: Result<&State, &Error>) {
        match &mut self.what {
            Some(what) => what.heard(id, state),
            None if self.pending.jobs.contains(id) => {}
            None => self.pending.jobs.push(id.clone()),
        }
    }

    pub fn input_awaited(&mut self, id: &JobId) {
        if let Some(what) = &mut self.what {
            what.input_awaited(id);
        }
    }

    pub fn rung(&mut self, rung: &Rung) {
        let Some(what) = &mut self.what else {
            let before = self.pending.rung.take();
            self.pending.rung = Some(match (before, rung) {
                (Some(Rung::For(mut before)), Rung::For(ids)) => {
                    before.extend(ids.iter().cloned());
                    Rung::For(before)
                }
                (None, rung) => rung.clone(),
                _ => Rung::ForAnything,
            });
            return;
        };
        what.rung(rung);
    }

    pub fn new_jobs(&mut self) -> Vec<JobId> {
        let what = self.what.as_mut();
        what.map_or_else(Vec::new, |what| what.new_jobs())
    }

    pub fn listens_again(&mut self) -> Option<JobId> {
        self.what.as_mut()?.listens_again()
    }

    pub fn wants(&self, id: &JobId) -> Option<Wanted> {
        self.what.as_ref()?.wants(id)
    }

    pub fn jobs_to_resume(&mut self) -> Vec<JobId> {
        let what = self.what.as_ref();
        what.map_or_else(Vec::new, |what| what.jobs_to_resume())
    }

    pub fn look_at(&self) -> Option<BootTime> {
        self.what.as_ref()?.look_at()
    }

    pub fn jobs_to_look_at(&mut self) -> Vec<JobId> {
        let what = self.what.as_mut();
        what.map_or_else(Vec::new, |what| what.jobs_to_look_at())
    }
}
