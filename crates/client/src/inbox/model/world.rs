//! The world of the model check: a real home, what its actors do, and what must hold after a run.

use super::schedule::{Deviation, Run};
use crate::home::outlive::{Outlive, ids_in};
use crate::inbox::{Delivery, EventId, Inbox, Rules, Selection, Source};
use crate::launch::{self, NameClaim};
use crate::moment::{self, ahead};
use crate::random;
use crate::verbs::post::{self, NewPost};
use crate::verbs::prune::{self, Prune};
use outlive_api::event::EventKind;
use outlive_core::{Incarnation, JobId, Label, Spec};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const RULES: Rules = Rules {
    claim: Duration::from_secs(60),
    attempts: 8,
    keep: Duration::from_secs(48 * 60 * 60),
};

/// Something that is visible from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// `run` or `post` reported success.
    Created(Incarnation),
    Told {
        event: EventId,
        session: Label,
    },
    Acked(EventId),
    Pruned(Vec<EventId>),
}

pub struct World {
    directory: tempfile::TempDir,
    clock: Arc<AtomicU64>,
    /// The session of each job and post.
    owners: Mutex<HashMap<Incarnation, Label>>,
    seen: Mutex<Vec<Seen>>,
    /// Everything that is posted is one post.
    one_post: bool,
}

fn label(text: &str) -> Label {
    Label::parse(text).expect("a label")
}

fn job() -> JobId {
    JobId::parse("x").expect("an id")
}

impl World {
    pub fn new() -> World {
        // Every run makes a home and syncs it, which is fast in memory.
        let memory = Path::new("/dev/shm");
        let directory = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let world = World {
            directory: directory.expect("a directory"),
            clock: Arc::default(),
            owners: Mutex::default(),
            seen: Mutex::default(),
            one_post: false,
        };
        world.enter();
        world.outlive().prepare().expect("a home");
        world
    }

    /// A world in which everything that is posted is one post.
    pub fn with_one_post() -> World {
        World {
            one_post: true,
            ..World::new()
        }
    }

    pub fn enter(&self) {
        ahead::follow(self.clock.clone());
    }

    pub fn lapse(&self) {
        self.clock
            .fetch_add(RULES.claim.as_millis() as u64 + 1, Ordering::SeqCst);
    }

    fn outlive(&self) -> Outlive {
        let home: PathBuf = self.directory.path().join("home");
        Outlive::open_at(home).expect("a home")
    }

    fn saw(&self, seen: Seen) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(seen);
    }

    fn seen(&self) -> Vec<Seen> {
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    fn own(&self, incarnation: &Incarnation, session: &Label) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.insert(incarnation.clone(), session.clone());
    }

    /// Starts a job that ends as soon as somebody reads it, since it has no keeper.
    pub fn start(&self, session: &str) {
        let session = label(session);
        let incarnation = random::incarnation().expect("random bits");
        let spec: Spec = serde_json::from_value(serde_json::json!({
            "format": 1, "id": job(), "incarnation": incarnation, "session": session, "place": "local",
            "command": "x", "argv": ["x"], "cwd": "/", "grace_ms": 1, "notify": "end",
            "leftovers": "keep",
        }))
        .expect("a spec");
        self.own(&incarnation, &session);
        if let NameClaim::Claimed(_lock) =
            launch::make(&self.outlive(), &spec).expect("made or refused")
        {
            self.saw(Seen::Created(incarnation));
        }
    }

    fn tell(&self, delivery: &Delivery, session: &Label) {
        for told in delivery.events() {
            // A poster that was killed could not report the session of its post, but the post contains
            // it.
            if let (Some(incarnation), Some(owner)) =
                (&told.event.incarnation, told.data["goal"].as_str())
            {
                self.own(incarnation, &label(owner));
            }
            let (event, session) = (told.event.clone(), session.clone());
            self.saw(Seen::Told { event, session });
        }
    }

    /// Tells a session its new events, and acks them.
    pub fn consume(&self, session: &str) {
        let (outlive, session) = (self.outlive(), label(session));
        let inbox = Inbox::with_rules(&outlive, session.clone(), RULES);
        let Ok(claim) = inbox.claim(Selection::default()) else {
            return;
        };
        let delivery = claim.confirm();
        self.tell(&delivery, &session);
        let ids = delivery.ids();
        if delivery.told().is_ok() {
            ids.into_iter().for_each(|id| self.saw(Seen::Acked(id)));
        }
    }

    /// Acks events by the ids that were printed earlier.
    pub fn ack_late(&self, session: &str) {
        let (outlive, session) = (self.outlive(), label(session));
        let inbox = Inbox::with_rules(&outlive, session.clone(), RULES);
        let Ok(claim) = inbox.claim(Selection::default()) else {
            return;
        };
        let delivery = claim.confirm();
        self.tell(&delivery, &session);
        let ids = delivery.ids();
        let _ = delivery.delivered();
        for event in ids {
            // Meanwhile it may have been told again, acked and pruned; then there is no such event.
            if inbox.ack(std::slice::from_ref(&event)).is_ok() {
                self.saw(Seen::Acked(event));
            }
        }
    }

    pub fn prune(&self) {
        let asked = Prune {
            all: true,
            ..Prune::default()
        };
        if let Ok(pruned) = prune::prune_by(&self.outlive(), &asked, RULES) {
            self.saw(Seen::Pruned(pruned.dropped));
        }
    }

    pub fn close(&self, session: &str) {
        let outlive = self.outlive();
        let _ = Inbox::with_rules(&outlive, label(session), RULES).close();
    }

    pub fn post(&self, session: &str) {
        let asked = NewPost {
            session: label(session),
            task: None,
            kind: EventKind::Delegation,
            data: serde_json::json!({"goal": session}),
            id: Some(job()),
        };
        if let Ok((event, _)) = post::post(&self.outlive(), asked) {
            let incarnation = event.incarnation.expect("every post has one");
            self.own(&incarnation, &label(session));
            self.saw(Seen::Created(incarnation));
        }
    }

    /// All actors are done or dead. The next consumer gets everything that is left.
    fn settle(&self) {
        for _ in 0..3 {
            self.lapse();
            ["s", "t"]
                .into_iter()
                .for_each(|session| self.consume(session));
        }
    }

    pub fn check(&self, run: &Run) -> Result<(), String> {
        self.settle();
        let seen = self.seen();
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |event: &EventId| {
            let is_it =
                |seen: &&Seen| matches!(seen, Seen::Told { event: told, .. } if told == event);
            seen.iter().filter(is_it).count()
        };
        let quiet = !run.has(Deviation::Crash) && !run.has(Deviation::Lapse);
        for (at, one) in seen.iter().enumerate() {
            match one {
                Seen::Told { event, session } => {
                    let owner = event.incarnation.as_ref().and_then(|it| owners.get(it));
                    if owner != Some(session) {
                        return Err(format!(
                            "{session} was told of {event}, which is {owner:?}'s"
                        ));
                    }
                    if seen[..at].contains(&Seen::Acked(event.clone())) {
                        return Err(format!("{event} was told after its ack"));
                    }
                    let is_other = |seen: &Seen| matches!(seen, Seen::Told { event: other, .. } if other != event);
                    if self.one_post && seen.iter().any(is_other) {
                        return Err("a post of one id was told twice".to_owned());
                    }
                    if quiet && told(event) > 1 {
                        return Err(format!("{event} was told {} times", told(event)));
                    }
                }
                Seen::Created(incarnation) => {
                    let is_it = |seen: &Seen| matches!(seen, Seen::Told { event, .. } if event.incarnation.as_ref() == Some(incarnation));
                    if !seen.iter().any(is_it) {
                        return Err(format!(
                            "{incarnation} was started and never told: {seen:?}"
                        ));
                    }
                }
                Seen::Pruned(dropped) if !dropped.is_empty() => {
                    return Err(format!("{dropped:?} were pruned unsaid"));
                }
                Seen::Pruned(_) | Seen::Acked(_) => {}
            }
        }
        drop(owners);
        self.check_links()
    }

    /// Nothing that was told is in an inbox, and no inbox contains another session's job.
    fn check_links(&self) -> Result<(), String> {
        let outlive = self.outlive();
        for session in ["s", "t"] {
            for id in ids_in(&outlive.home().inbox(&label(session))).unwrap_or_default() {
                let source = Source::read(&outlive, &id).ok().flatten();
                if source.is_some() {
                    return Err(format!("the inbox of {session} still has {id}"));
                }
            }
        }
        let when = moment::when();
        when.map(drop).map_err(|error| error.to_string())
    }
}
