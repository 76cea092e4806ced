//! One thread that listens for the news of every job that somebody follows, however many do.
//!
//! ```text
//!   subscriptions ─ want(job, news) ─► hub (one thread, asleep in the listener) ─ has news ─► mailbox of each
//! ```
//!
//! What is wanted is wanted once: a subscription reads what there is, says what it wants then, and sleeps without a thread.
//! A mailbox has each job at most once, so one that nobody empties does not grow.

use outlive::listening::{self, Heard, Listener, Next, Rung, State, Waker, Wanted};
use outlive::{Error, JobId, Outlive};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::Notify;

/// How many connections the listener has room for before it asks for more.
const CONNECTIONS: usize = 256;

/// The thread that listens.
#[derive(Clone, Debug)]
pub struct Hub {
    asks: Sender<Ask>,
    waker: Waker,
    next: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Ask {
    /// Tell this mailbox of every change in the home.
    Home(u64, Arc<Mailbox>),
    Want(u64, Arc<Mailbox>, JobId, Wanted),
    /// A connection to a keeper at a place was made, or could not be.
    Connected(
        JobId,
        Wanted,
        Box<Result<Option<listening::Connection>, Error>>,
    ),
    /// Nobody reads this mailbox any more.
    Forget(u64),
}

/// What was heard and not read yet.
#[derive(Debug, Default)]
pub struct News {
    pub jobs: BTreeSet<JobId>,
    /// Jobs and posts that are new, changed or gone.
    pub rung: Option<Rung>,
}

#[derive(Debug, Default)]
struct Mailbox {
    news: Mutex<News>,
    arrived: Notify,
}

fn lock(news: &Mutex<News>) -> MutexGuard<'_, News> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailbox {
    fn job(&self, id: &JobId) {
        lock(&self.news).jobs.insert(id.clone());
        self.arrived.notify_one();
    }

    fn rung(&self, rung: &Rung) {
        let mut news = lock(&self.news);
        news.rung = Some(match (news.rung.take(), rung) {
            (Some(Rung::For(mut before)), Rung::For(ids)) => {
                let new = ids.iter().filter(|id| !before.contains(id)).cloned();
                let new: Vec<JobId> = new.collect();
                before.extend(new);
                Rung::For(before)
            }
            (None, rung) => rung.clone(),
            _ => Rung::ForAnything,
        });
        drop(news);
        self.arrived.notify_one();
    }
}

/// One subscription.
#[derive(Debug)]
pub struct Watcher {
    hub: Hub,
    number: u64,
    mailbox: Arc<Mailbox>,
}

impl Watcher {
    /// Asks for news of this job once.
    pub fn want(&self, id: &JobId, wanted: Wanted) {
        let mailbox = self.mailbox.clone();
        self.hub
            .ask(Ask::Want(self.number, mailbox, id.clone(), wanted));
    }

    /// Asks for everything that is started, removed or posted, from now on.
    pub fn want_home(&self) {
        self.hub.ask(Ask::Home(self.number, self.mailbox.clone()));
    }

    /// Waits for news.
    pub async fn news(&self) -> News {
        loop {
            let news = std::mem::take(&mut *lock(&self.mailbox.news));
            if !news.jobs.is_empty() || news.rung.is_some() {
                return news;
            }
            self.mailbox.arrived.notified().await;
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.hub.ask(Ask::Forget(self.number));
    }
}

impl Hub {
    /// Starts the thread, which ends with the process.
    pub fn start(outlive: &Outlive) -> Result<Hub, Error> {
        let mut listener = Listener::new(outlive, CONNECTIONS);
        listener.listen_to_home()?;
        let waker = listener.waker()?;
        let (asks, asked) = mpsc::channel();
        let hub = Hub {
            asks,
            waker,
            next: Arc::default(),
        };
        let desk = Desk {
            outlive: outlive.clone(),
            listener,
            wants: HashMap::new(),
            home: HashMap::new(),
            hub: hub.clone(),
        };
        let thread = thread::Builder::new().name("listener".to_owned());
        let started = thread.spawn(move || desk.run(&asked));
        started.map_err(|source| Error::Io {
            what: "cannot start",
            path: "a thread".into(),
            source,
        })?;
        Ok(hub)
    }

    /// A new subscription, which wants nothing yet.
    pub fn watcher(&self) -> Watcher {
        Watcher {
            hub: self.clone(),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            mailbox: Arc::default(),
        }
    }

    fn ask(&self, ask: Ask) {
        // It fails only when the process ends.
        let _ = self.asks.send(ask);
        self.waker.wake();
    }
}

/// Who wants news of one job.
#[derive(Debug, Default)]
struct Wants {
    /// Those who were told, or want to be.
    by: HashMap<u64, Option<(Arc<Mailbox>, Wanted)>>,
}

impl Wants {
    fn together(&self) -> Option<Wanted> {
        let each = self.by.values().flatten().map(|(_, wanted)| *wanted);
        each.reduce(Wanted::and)
    }
}

/// The thread's own.
struct Desk {
    outlive: Outlive,
    listener: Listener,
    wants: HashMap<JobId, Wants>,
    home: HashMap<u64, Arc<Mailbox>>,
    hub: Hub,
}

impl Desk {
    fn run(mut self, asked: &Receiver<Ask>) {
        loop {
            // What several ask in a row is asked of the keeper once.
            let mut touched = BTreeSet::new();
            for ask in asked.try_iter() {
                touched.extend(self.take(ask));
            }
            touched.iter().for_each(|id| self.listen(id));
            // It fails if there is no memory or no descriptor left. The subscriptions look again then.
            let heard = self
                .listener
                .sleep(None)
                .unwrap_or_else(|_| self.everything());
            for heard in heard {
                match heard {
                    Heard::Job(id) | Heard::Input(id) => self.tell(&id),
                    Heard::Home(rung) => self.home.values().for_each(|mailbox| mailbox.rung(&rung)),
                    Heard::Woken => {}
                }
            }
        }
    }

    fn everything(&self) -> Vec<Heard> {
        thread::sleep(std::time::Duration::from_millis(100));
        self.wants.keys().cloned().map(Heard::Job).collect()
    }

    fn take(&mut self, ask: Ask) -> Option<JobId> {
        match ask {
            Ask::Home(number, mailbox) => {
                self.home.insert(number, mailbox);
                None
            }
            Ask::Want(number, mailbox, id, wanted) => {
                let wants = self.wants.entry(id.clone()).or_default();
                wants.by.insert(number, Some((mailbox, wanted)));
                Some(id)
            }
            Ask::Connected(id, wanted, connection) => {
                let next = self.listener.connected(&id, wanted, *connection);
                if !matches!(next, Ok(Next::Sleep)) {
                    self.tell(&id);
                }
                None
            }
            Ask::Forget(number) => {
                self.home.remove(&number);
                let listener = &mut self.listener;
                self.wants.retain(|id, wants| {
                    wants.by.remove(&number);
                    if wants.by.is_empty() {
                        listener.forget(id);
                    }
                    !wants.by.is_empty()
                });
                None
            }
        }
    }

    /// Tells everybody who wants news of this job.
    fn tell(&mut self, id: &JobId) {
        let wants = self.wants.get_mut(id);
        for (mailbox, _) in wants
            .into_iter()
            .flat_map(|wants| wants.by.values_mut())
            .filter_map(Option::take)
        {
            mailbox.job(id);
        }
    }

    /// Asks for all that is wanted of this job.
    fn listen(&mut self, id: &JobId) {
        let Some(wanted) = self.wants.get(id).and_then(Wants::together) else {
            return;
        };
        if self.listener.listens(id, wanted) {
            return;
        }
        let Ok((presence, state)) = listening::meet(&self.outlive, id) else {
            return self.tell(id);
        };
        if is_past(&state, wanted) {
            return self.tell(id);
        }
        match self.listener.want(id, &presence, wanted) {
            Ok(Next::Sleep) => {}
            Ok(Next::NoRoom) => self.listener.look_now_and_then(id),
            Ok(Next::Connect) => self.connect(id, wanted),
            Ok(Next::Over | Next::ReadAgain) | Err(_) => self.tell(id),
        }
    }

    /// Connects to a keeper at a place, on a thread of its own, because that waits for a network.
    fn connect(&self, id: &JobId, wanted: Wanted) {
        let (outlive, hub, id) = (self.outlive.clone(), self.hub.clone(), id.clone());
        let work = move || {
            let connection = Box::new(listening::connect_far(&outlive, &id));
            hub.ask(Ask::Connected(id, wanted, connection));
        };
        let _: io::Result<_> = thread::Builder::new().spawn(work);
    }
}

/// Whether the wanted event has come already.
fn is_past(state: &State, wanted: Wanted) -> bool {
    state.seq > wanted.after
}
