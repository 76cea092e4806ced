//! What the threads of a courier share: whether there is a wire, who wants one, and who listens.

use super::bells::Bells;
use super::claims::Claims;
use super::containers::Graveyard;
use super::haste::Haste;
use super::journals::Clerk;
use super::log::Log;
use super::replicas::Replicas;
use super::retries::Retries;
use super::wire::Wire;
use crate::clock;
use crate::home::outlive::Outlive;
use crate::places::dial::Tidings;
use crate::places::records::{self, Known, Silence};
use crate::places::{Place, Unreached};
use outlive_core::far::{HomeId, Instance};
use outlive_core::{BootTime, JobId, WallTime};
use outlive_sys::control::Stream;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a courier stays after its last client.
const STAY: Duration = Duration::from_secs(60);
/// While the place is heard, the time of that is written down this often.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// A courier, as all its threads know it.
pub struct Courier {
    pub outlive: Outlive,
    pub place: Place,
    /// The name of this home for others.
    pub home: HomeId,
    pub log: Log,
    pub replicas: Replicas,
    pub claims: Claims,
    pub clerk: Clerk,
    pub bells: Bells,
    pub haste: Haste,
    pub gone_containers: Graveyard,
    desk: Mutex<Desk>,
    changed: Condvar,
}

struct Desk {
    wire: Option<Arc<Wire>>,
    /// Attempts are numbered. A request that comes wants one that begins after it came.
    begun: u64,
    wanted: u64,
    failed: u64,
    why: Unreached,
    retries: Retries,
    /// Clients that want the wire to be there all the time.
    listeners: HashMap<u64, Arc<Stream>>,
    next_listener: u64,
    /// Starts that were sent and are not answered.
    patient: usize,
    clients: usize,
    alone_since: BootTime,
    silence: Option<Silence>,
    /// When the place was last heard, as it is written down.
    heard_at: Option<WallTime>,
    leaving: bool,
    /// Jobs with doorbells that ring here.
    bells: usize,
}

/// A client that is there.
pub struct Client(Arc<Courier>);

impl Drop for Client {
    fn drop(&mut self) {
        let mut desk = self.0.desk();
        desk.clients -= 1;
        desk.alone_since = clock::boot();
        self.0.changed.notify_all();
    }
}

impl Desk {
    /// Lets the wire know whether somebody listens.
    fn attend(&self) {
        let is_listened = self.is_listened();
        self.wire.iter().for_each(|wire| wire.attend(is_listened));
    }

    /// Whether the place is to be tried again and again.
    fn is_listened(&self) -> bool {
        !self.listeners.is_empty() || self.patient > 0 || self.bells > 0
    }
}

impl Courier {
    pub fn new(outlive: Outlive, place: Place, home: HomeId) -> Courier {
        let now = clock::boot();
        let known = records::read_known(&outlive, &place);
        Courier {
            log: Log::of(&records::directory(&outlive, &place)),
            outlive,
            place,
            home,
            replicas: Replicas::default(),
            claims: Claims::default(),
            clerk: Clerk::default(),
            bells: Bells::default(),
            haste: Haste::default(),
            gone_containers: Graveyard::default(),
            desk: Mutex::new(Desk {
                wire: None,
                begun: 0,
                wanted: 0,
                failed: 0,
                why: Unreached::TimedOut,
                retries: Retries::new(now),
                listeners: HashMap::new(),
                next_listener: 0,
                patient: 0,
                clients: 0,
                alone_since: now,
                silence: known.and_then(|known| known.unreached),
                heard_at: None,
                leaving: false,
                bells: 0,
            }),
            changed: Condvar::new(),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, desk: MutexGuard<'a, Desk>, by: Option<BootTime>) -> MutexGuard<'a, Desk> {
        let left = by.map(|by| by.since(clock::boot()));
        match left {
            None => self
                .changed
                .wait(desk)
                .unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                let waited = self.changed.wait_timeout(desk, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    /// The wire, which is opened if there is none. Fails when attempts that began after this call have failed: the second
    /// one, because the first may have met the end of an earlier connection, or the first if a second would not help.
    pub fn wire(&self, by: BootTime) -> Result<Arc<Wire>, Unreached> {
        let mut desk = self.desk();
        let mut wanted = desk.begun + 1;
        let mut has_failed = false;
        loop {
            if let Some(wire) = usable(&desk) {
                return Ok(wire);
            }
            if desk.failed >= wanted {
                if has_failed || !desk.why.may_pass() {
                    return Err(desk.why.clone());
                }
                has_failed = true;
                wanted = desk.begun + 1;
            }
            if clock::boot() >= by {
                return Err(Unreached::TimedOut);
            }
            desk.wanted = desk.wanted.max(wanted);
            self.changed.notify_all();
            desk = self.wait(desk, Some(by));
        }
    }

    /// The wire, if there is one now.
    pub fn wire_now(&self) -> Option<Arc<Wire>> {
        usable(&self.desk())
    }

    /// The wire, for which this waits through failed attempts.
    pub fn wire_until(&self, by: BootTime) -> Result<Arc<Wire>, Unreached> {
        let mut desk = self.desk();
        desk.patient += 1;
        desk.wanted = desk.wanted.max(desk.begun + 1);
        self.changed.notify_all();
        let found = loop {
            if let Some(wire) = usable(&desk) {
                break Ok(wire);
            }
            if clock::boot() >= by {
                break Err(desk.why.clone());
            }
            desk = self.wait(desk, Some(by));
        };
        desk.patient -= 1;
        found
    }

    /// Waits until the place is to be tried. Returns the number of the attempt; `None` when the courier leaves.
    pub fn wait_until_wanted(&self) -> Option<u64> {
        let mut desk = self.desk();
        loop {
            if desk.leaving {
                return None;
            }
            let now = clock::boot();
            let is_due = desk.is_listened() && now >= desk.retries.next();
            let is_wanted = desk.wanted > desk.begun || is_due;
            let earliest = desk.retries.earliest();
            if is_wanted && now < earliest {
                desk = self.wait(desk, Some(earliest));
                continue;
            }
            if is_wanted {
                desk.retries.begin(is_due);
                desk.begun += 1;
                desk.wanted = desk.wanted.max(desk.begun);
                return Some(desk.begun);
            }
            let by = desk.is_listened().then_some(desk.retries.next());
            desk = self.wait(desk, by);
        }
    }

    pub fn reached(&self, wire: &Arc<Wire>) {
        self.change(|desk| {
            desk.wire = Some(Arc::clone(wire));
            desk.retries.reached(clock::boot());
            desk.silence = None;
            let at = clock::wall();
            tell(desk, &Tidings::Reached { at });
        });
    }

    /// The wire is over: nobody gets it any more.
    pub fn lose(&self, wire: &Arc<Wire>) {
        let mut desk = self.desk();
        desk.wire.take_if(|mine| Arc::ptr_eq(mine, wire));
        desk.heard_at = Some(wall_of(wire.heard()));
    }

    /// Writes down now and then that the place was heard.
    pub fn note_heard(&self, wire: &Wire) {
        let heard_at = wall_of(wire.heard());
        let mut desk = self.desk();
        let is_known = |before: WallTime| heard_at < before + NOTED_EVERY;
        if desk.heard_at.is_some_and(is_known) {
            return;
        }
        desk.heard_at = Some(heard_at);
        if let Some(known) = records::read_known(&self.outlive, &self.place) {
            self.write_known(&Known { heard_at, ..known });
        }
    }

    /// Tells who listens that the replica of this job has news.
    pub fn tell_changed(&self, job: &JobId) {
        let job = job.clone();
        tell(&mut self.desk(), &Tidings::Changed { job });
    }

    /// The home that answers there.
    pub fn far_home(&self) -> Option<HomeId> {
        let wire = usable(&self.desk())?;
        wire.greeting()
            .map(|greeting| greeting.instance.home.clone())
    }

    /// An attempt has failed, or a wire was lost. Writes down that the place is not reached.
    pub fn unreached(&self, number: u64, why: &Unreached) {
        self.log.note(&format!("not reached: {why}"));
        let mut desk = self.desk();
        desk.wire = None;
        desk.failed = number;
        desk.why = why.clone();
        let is_understood = !matches!(why, Unreached::NotUnderstood(_));
        desk.retries.failed(clock::boot(), is_understood);
        let since = desk
            .silence
            .as_ref()
            .map_or_else(clock::wall, |silence| silence.since);
        let silence = Silence {
            since,
            why: why.to_string(),
        };
        desk.silence = Some(silence.clone());
        if let Some(known) = records::read_known(&self.outlive, &self.place) {
            self.write_known(&Known {
                unreached: Some(silence.clone()),
                heard_at: desk.heard_at.unwrap_or(known.heard_at),
                ..known
            });
        }
        tell(&mut desk, &Tidings::Unreached(silence));
        self.changed.notify_all();
    }

    /// Writes down that the place has answered as this instance, whose jobs are those of the place.
    pub fn note_contact(&self, instance: &Instance) {
        self.desk().heard_at = Some(clock::wall());
        let known = records::read_known(&self.outlive, &self.place);
        let known = known.map(|known| known.instance);
        // The first contact counts as long as its home answers. Its container may have been started again.
        let earlier = known.filter(|known| known.home == instance.home);
        self.write_known(&Known {
            instance: Instance {
                container: instance.container.clone(),
                ..earlier.unwrap_or_else(|| instance.clone())
            },
            heard_at: clock::wall(),
            unreached: None,
        });
    }

    fn write_known(&self, known: &Known) {
        if let Err(error) = records::write_known(&self.outlive, &self.place, known) {
            self.log
                .note(&format!("cannot write what is known of it: {error}"));
        }
    }

    /// A client has come. It is there until this is dropped.
    pub fn arrived(self: &Arc<Courier>) -> Client {
        self.desk().clients += 1;
        Client(Arc::clone(self))
    }

    /// Tells this client of each change from now on.
    pub fn listen(&self, client: &Arc<Stream>) -> u64 {
        let mut desk = self.desk();
        let number = desk.next_listener;
        desk.next_listener += 1;
        if !desk.is_listened() {
            desk.retries = Retries::new(clock::boot());
        }
        desk.listeners.insert(number, Arc::clone(client));
        desk.attend();
        if desk.wire.is_some() {
            say(client, &Tidings::Reached { at: clock::wall() });
        } else if let Some(silence) = &desk.silence {
            say(client, &Tidings::Unreached(silence.clone()));
        }
        self.changed.notify_all();
        number
    }

    pub fn unlisten(&self, number: u64) {
        self.change(|desk| drop(desk.listeners.remove(&number)));
    }

    /// Waits until nobody needs this courier.
    pub fn wait_until_unneeded(&self) {
        let mut desk = self.desk();
        while !desk.leaving {
            let is_needed = desk.clients > 0 || desk.bells > 0;
            let until = desk.alone_since + STAY;
            if !is_needed && clock::boot() >= until {
                break;
            }
            desk = self.wait(desk, (!is_needed).then_some(until));
        }
        desk.leaving = true;
        self.changed.notify_all();
    }

    /// Ends the courier now.
    pub fn leave(&self) {
        self.change(|desk| desk.leaving = true);
    }

    fn change(&self, change: impl FnOnce(&mut Desk)) {
        let mut desk = self.desk();
        change(&mut desk);
        desk.attend();
        self.changed.notify_all();
    }

    /// How many jobs have doorbells that ring here.
    pub fn keep_for_bells(&self, jobs: usize) {
        self.change(|desk| desk.bells = jobs);
    }
}

/// The wall clock at a time of the boot clock.
fn wall_of(time: BootTime) -> WallTime {
    clock::wall() - clock::boot().since(time)
}

fn usable(desk: &Desk) -> Option<Arc<Wire>> {
    let wire = desk.wire.as_ref().filter(|wire| !wire.is_lost())?;
    match wire.is_stale() {
        false => Some(Arc::clone(wire)),
        // The machine was suspended, and the far end has left meanwhile.
        true => {
            wire.cut(Unreached::TimedOut);
            None
        }
    }
}

fn tell(desk: &mut Desk, tidings: &Tidings) {
    desk.listeners.retain(|_, client| say(client, tidings));
}

/// Returns whether it was said. A client that does not read so few lines is not waited for.
fn say(client: &Stream, tidings: &Tidings) -> bool {
    let Ok(mut line) = serde_json::to_vec(tidings) else {
        return true;
    };
    line.push(b'\n');
    let is_said = client.write(&line).is_ok_and(|count| count == line.len());
    if !is_said {
        client.shut();
    }
    is_said
}
