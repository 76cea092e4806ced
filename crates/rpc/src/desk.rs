//! Everything that waits: waits, outputs, inboxes and lists that are followed.
//!
//! One thread sleeps for all of them, in a [`Listener`] that has one connection for each running job, however many
//! follow it. It continues those whose job has news. What may have to wait for a disk or a network is continued on a
//! thread of the pool instead, and comes back.

mod events;
mod jobs;
mod lend;
mod orders;
mod output;
mod stream;
mod waits;

pub use events::{follow_events, inbox};
pub use jobs::follow_jobs;
pub use lend::place_lend;
pub use orders::Orders;
pub use output::follow_output;
pub use stream::Stream;
pub use waits::wait;

use crate::files::Files;
use crate::pool::Pool;
use orders::Order;
use outlive::listening::{self, BootTime, Heard, Listener, Next, Presence, Rung, Wanted};
use outlive::{Error, JobId, Outlive, clock};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use stream::Turn;

/// The number of a stream. It is never used again.
type Key = u64;

/// The thread that continues streams.
#[derive(Debug)]
pub struct Desk {
    outlive: Outlive,
    listener: Listener,
    orders: Arc<Orders>,
    pool: Pool,
    files: Arc<Files>,
    streams: HashMap<Key, Stream>,
    next_key: Key,
    /// The streams that want news of a job.
    by_job: HashMap<JobId, BTreeSet<Key>>,
    /// The jobs that have to be read, each once.
    to_read: VecDeque<JobId>,
    is_to_read: HashSet<JobId>,
    /// The streams that have more to send.
    ready: VecDeque<Key>,
}

impl Desk {
    pub fn new(outlive: &Outlive, pool: &Pool, files: &Arc<Files>) -> Result<Desk, Error> {
        let mut listener = Listener::new(outlive, 0);
        let orders = Arc::new(Orders::new(listener.waker()?));
        Ok(Desk {
            outlive: outlive.clone(),
            listener,
            orders,
            pool: pool.clone(),
            files: files.clone(),
            streams: HashMap::new(),
            next_key: 0,
            by_job: HashMap::new(),
            to_read: VecDeque::new(),
            is_to_read: HashSet::new(),
            ready: VecDeque::new(),
        })
    }

    pub fn orders(&self) -> Arc<Orders> {
        self.orders.clone()
    }

    /// Works until it is told to leave.
    pub fn work(mut self) {
        loop {
            for order in self.orders.take() {
                if let Order::Leave = order {
                    return;
                }
                self.obey(order);
            }
            self.read_some();
            for key in std::mem::take(&mut self.ready) {
                self.turn(key, None);
            }
            self.files.note_connections(self.listener.connections());
            let is_busy = !self.ready.is_empty() || !self.to_read.is_empty();
            let until = match is_busy {
                true => Some(clock::boot()),
                false => self.wake_at(),
            };
            match self.listener.sleep(until) {
                Ok(heard) => heard.into_iter().for_each(|heard| self.hear(heard)),
                // Polling fails only for want of memory.
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(100)),
            }
            self.listener.say_now();
            self.wake_late();
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Begin(stream) => self.begin(stream),
            Order::Swept => self.sweep(),
            Order::Resume(id) => self.resume(&id),
            Order::Turned(key, what, turn) => {
                if let Some(stream) = self.streams.get_mut(&key) {
                    let pending = stream.returned(what);
                    self.turned(key, turn, None);
                    self.catch_up(key, pending);
                }
            }
            Order::Connected(id, wanted, connection) => {
                match self.listener.connected(&id, wanted, connection) {
                    Ok(Next::Sleep) => {}
                    Ok(_) => self.read_later(&id),
                    Err(_) => self.listener.look_now_and_then(&id),
                }
            }
            Order::Leave => {}
        }
    }

    fn begin(&mut self, mut stream: Stream) {
        let key = self.next_key;
        self.next_key += 1;
        // From here on it is told of everything that is new. It begins with what is there.
        if stream.listens_to_home()
            && let Err(error) = self.listener.listen_to_home()
        {
            stream.request().refuse(error.failure());
            return;
        }
        stream.begin();
        self.streams.insert(key, stream);
        self.turn(key, None);
    }

    /// Removes the streams that were cancelled.
    fn sweep(&mut self) {
        let streams = self.streams.iter();
        let over = streams.filter(|(_, stream)| stream.request().is_over());
        let over: Vec<Key> = over.map(|(key, _)| *key).collect();
        over.into_iter().for_each(|key| self.end(key));
    }

    /// A stream may send more.
    fn resume(&mut self, id: &outlive_api::rpc::RequestId) {
        let mut streams = self.streams.iter();
        let Some((key, _)) = streams.find(|(_, stream)| stream.request().id() == id) else {
            return;
        };
        let key = *key;
        // What it has to send is at the end of what it has read by now.
        let jobs = self
            .streams
            .get_mut(&key)
            .map_or_else(Vec::new, Stream::jobs_to_resume);
        for job in jobs {
            self.by_job.entry(job.clone()).or_default().insert(key);
            self.read_later(&job);
        }
        self.ready.push_back(key);
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Job(id) => self.read_later(&id),
            Heard::Input(id) => {
                for key in self.keys_of(&id) {
                    self.tell(key, |stream| stream.input_awaited(&id));
                }
            }
            Heard::Home(rung) => self.rung(&rung),
            Heard::Woken => {}
        }
    }

    fn rung(&mut self, rung: &Rung) {
        let streams = self.streams.iter();
        let concerned = streams.filter(|(_, stream)| stream.listens_to_home());
        let concerned: Vec<Key> = concerned.map(|(key, _)| *key).collect();
        for key in concerned {
            self.tell(key, |stream| stream.rung(rung));
        }
    }

    fn tell(&mut self, key: Key, tell: impl FnOnce(&mut Stream)) {
        if let Some(stream) = self.streams.get_mut(&key) {
            tell(stream);
            self.ready.push_back(key);
        }
    }

    fn catch_up(&mut self, key: Key, pending: stream::Pending) {
        for id in pending.jobs {
            self.by_job.entry(id.clone()).or_default().insert(key);
            self.read_later(&id);
        }
        if let Some(rung) = pending.rung {
            self.tell(key, |stream| stream.rung(&rung));
        }
    }

    fn read_later(&mut self, id: &JobId) {
        if self.is_to_read.insert(id.clone()) {
            self.to_read.push_back(id.clone());
        }
    }

    /// Reads the jobs that have news, as they are now. Those that come up meanwhile are for the next round.
    fn read_some(&mut self) {
        for id in std::mem::take(&mut self.to_read) {
            self.is_to_read.remove(&id);
            self.read(&id);
        }
    }

    fn read(&mut self, id: &JobId) {
        let keys = self.keys_of(id);
        if keys.is_empty() {
            self.forget(id);
            return;
        }
        match listening::meet(&self.outlive, id) {
            Ok((presence, state)) => {
                for key in keys {
                    if let Some(stream) = self.streams.get_mut(&key) {
                        stream.heard(id, Ok(&state));
                        self.turn(key, Some(id));
                    }
                }
                self.listen(id, &presence);
            }
            Err(error) if is_shortage(&error) => self.listener.look_now_and_then(id),
            Err(error) => {
                for key in keys {
                    if let Some(stream) = self.streams.get_mut(&key) {
                        stream.heard(id, Err(&error));
                        self.turn(key, Some(id));
                    }
                }
                self.forget(id);
            }
        }
    }

    /// Asks for the news that are wanted of a job, which was just read.
    fn listen(&mut self, id: &JobId, presence: &Presence) {
        let streams = &self.streams;
        let wants = |key: &Key| streams.get(key).and_then(|stream| stream.wants(id));
        let Some(keys) = self.by_job.get_mut(id) else {
            return self.forget(id);
        };
        // One that is on another thread asks when it comes back.
        keys.retain(|key| wants(key).is_some());
        let Some(wanted) = keys.iter().filter_map(wants).reduce(Wanted::and) else {
            return self.forget(id);
        };
        match self.listener.want(id, presence, wanted) {
            Ok(Next::Sleep) => {}
            Ok(Next::Over | Next::ReadAgain) => self.read_later(id),
            Ok(Next::Connect) => self.connect(id.clone(), wanted),
            Ok(Next::NoRoom) => self.listener.look_now_and_then(id),
            Err(_) => self.listener.look_now_and_then(id),
        }
    }

    /// Asks for news after what was read before. If there are some already, they come at once.
    fn listen_again(&mut self, id: &JobId) {
        match listening::meet(&self.outlive, id) {
            Ok((presence, _)) => self.listen(id, &presence),
            Err(_) => self.read_later(id),
        }
    }

    /// Connects to a keeper at a place, on another thread.
    fn connect(&self, id: JobId, wanted: Wanted) {
        let (outlive, orders) = (self.outlive.clone(), self.orders.clone());
        self.pool.run(move || {
            let connection = listening::connect_far(&outlive, &id);
            orders.give(Order::Connected(id, wanted, connection));
        });
    }

    fn forget(&mut self, id: &JobId) {
        self.by_job.remove(id);
        self.listener.forget(id);
    }

    fn keys_of(&self, id: &JobId) -> Vec<Key> {
        let keys = self.by_job.get(id);
        keys.map_or_else(Vec::new, |keys| keys.iter().copied().collect())
    }

    /// Lets a stream send what it has. `reads` is the job that is being read for it.
    fn turn(&mut self, key: Key, reads: Option<&JobId>) {
        let Some(stream) = self.streams.get_mut(&key) else {
            return;
        };
        let Some(mut what) = stream.take() else {
            return;
        };
        if what.is_slow() {
            let (request, orders) = (stream.request().clone(), self.orders.clone());
            self.pool.run(move || {
                let turn = what.turn(&request);
                orders.give(Order::Turned(key, what, turn));
            });
            return;
        }
        let turn = what.turn(stream.request());
        stream.put_back(what);
        self.turned(key, turn, reads);
    }

    fn turned(&mut self, key: Key, turn: Turn, reads: Option<&JobId>) {
        match turn {
            Turn::Sleeps => {
                let new = self
                    .streams
                    .get_mut(&key)
                    .map_or_else(Vec::new, Stream::new_jobs);
                for id in new {
                    self.by_job.entry(id.clone()).or_default().insert(key);
                    if reads != Some(&id) {
                        self.read_later(&id);
                    }
                }
                let again = self.streams.get_mut(&key).and_then(Stream::listens_again);
                if let Some(id) = again.filter(|id| reads != Some(id)) {
                    self.by_job.entry(id.clone()).or_default().insert(key);
                    self.listen_again(&id);
                }
            }
            Turn::GoesOn => self.ready.push_back(key),
            Turn::Over(last) => {
                self.end(key);
                self.pool.run(last);
            }
        }
    }

    fn end(&mut self, key: Key) {
        self.streams.remove(&key);
        let mut unwanted = Vec::new();
        for (id, keys) in &mut self.by_job {
            if keys.remove(&key) && keys.is_empty() {
                unwanted.push(id.clone());
            }
        }
        unwanted.iter().for_each(|id| self.forget(id));
    }

    /// When a stream has to be continued although nothing was heard.
    fn wake_at(&self) -> Option<BootTime> {
        self.streams.values().filter_map(Stream::look_at).min()
    }

    fn wake_late(&mut self) {
        let now = clock::boot();
        let streams = self.streams.iter();
        let late = streams.filter(|(_, stream)| stream.look_at().is_some_and(|at| at <= now));
        let late: Vec<Key> = late.map(|(key, _)| *key).collect();
        for key in late {
            let jobs = self
                .streams
                .get_mut(&key)
                .map_or_else(Vec::new, Stream::jobs_to_look_at);
            jobs.iter().for_each(|id| self.read_later(id));
            self.ready.push_back(key);
        }
    }
}

/// Whether there were too few descriptors or too little memory just now. That passes.
fn is_shortage(error: &Error) -> bool {
    const TOO_MANY_FILES: [i32; 3] = [23, 24, 12];
    let Error::Io { source, .. } = error else {
        return false;
    };
    let code = source.raw_os_error();
    code.is_some_and(|code| TOO_MANY_FILES.contains(&code))
}
