//! A model check of telling events: the real functions on a real directory, in every order.
//!
//! | story | what could go wrong |
//! |---|---|
//! | two consumers | both tell an event, or neither |
//! | a refused start | another session learns of a job, or its owner does not |
//! | an id used again | a late ack counts for the new job, or the new job's link is removed with the old one's |
//! | a paused launcher | its links are removed |
//! | a post made twice | it is told twice, or to the wrong session |
//!
//! After each run, whichever actors died and whichever claims expired: each event of a started job was
//! told to its session at least once, and never after its ack. Nobody was told about another session's
//! job. Nothing was dropped without a report. If no actor died and no claim expired: each event was
//! told exactly once.

mod schedule;

use super::{Delivery, EventId, Inbox, Rules, Selection, Source};
use crate::home::outlive::{Outlive, ids_in};
use crate::launch::{self, Named};
use crate::moment::{self, ahead};
use crate::random;
use crate::verbs::post::{self, NewPost};
use crate::verbs::prune::{self, Prune};
use outlive_core::notice::Kind;
use outlive_core::{Incarnation, JobId, Label, Spec};
use schedule::{Actor, Deviation, Limits, Run, Story, explore};
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

struct World {
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
    fn new() -> World {
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

    fn enter(&self) {
        ahead::follow(self.clock.clone());
    }

    fn lapse(&self) {
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
    fn start(&self, session: &str) {
        let session = label(session);
        let incarnation = random::incarnation().expect("random bits");
        let spec: Spec = serde_json::from_value(serde_json::json!({
            "format": 1, "id": job(), "incarnation": incarnation, "session": session, "place": "local",
            "command": "x", "argv": ["x"], "cwd": "/", "grace_ms": 1, "notify": "end",
            "leftovers": "keep",
        }))
        .expect("a spec");
        self.own(&incarnation, &session);
        if let Named::Yes(_lock) = launch::make(&self.outlive(), &spec).expect("made or refused") {
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
    fn consume(&self, session: &str) {
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
    fn ack_late(&self, session: &str) {
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

    fn prune(&self) {
        let asked = Prune {
            all: true,
            ..Prune::default()
        };
        if let Ok(pruned) = prune::prune_by(&self.outlive(), &asked, RULES) {
            self.saw(Seen::Pruned(pruned.dropped));
        }
    }

    fn close(&self, session: &str) {
        let outlive = self.outlive();
        let _ = Inbox::with_rules(&outlive, label(session), RULES).close();
    }

    fn post(&self, session: &str) {
        let asked = NewPost {
            session: label(session),
            task: None,
            kind: Kind::Delegation,
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

    fn check(&self, run: &Run) -> Result<(), String> {
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

fn story(begin: fn() -> World, actors: &'static [Actor<World>]) -> Story<World> {
    Story {
        begin,
        actors,
        enter: World::enter,
        lapse: World::lapse,
        check: World::check,
    }
}

fn holds(story: &Story<World>, limits: Limits) {
    match explore(story, limits) {
        // Fewer runs would mean that the steps at which actors pause are gone.
        Ok(runs) => assert!(runs > 100, "{runs} runs"),
        Err(why) => panic!("{why}"),
    }
}

const LIMITS: Limits = Limits {
    deviations: 2,
    crashes: 1,
    lapses: 1,
};

fn with_ended_job() -> World {
    let world = World::new();
    world.start("s");
    world
}

fn with_told_job() -> World {
    let world = with_ended_job();
    world.consume("s");
    world
}

const TWO_CONSUMERS: &[Actor<World>] = &[
    ("first", |world| world.consume("s")),
    ("second", |world| world.consume("s")),
];

#[test]
fn two_consumers_tell_each_event_once() {
    let limits = Limits {
        deviations: 3,
        ..LIMITS
    };
    holds(&story(with_ended_job, TWO_CONSUMERS), limits);
}

#[test]
fn a_refused_start_takes_nothing_from_the_owner() {
    let actors: &[Actor<World>] = &[
        ("thief", |world| world.start("t")),
        ("thief's consumer", |world| world.consume("t")),
        ("owner's consumer", |world| world.consume("s")),
    ];
    holds(&story(with_ended_job, actors), LIMITS);
    let closing: &[Actor<World>] = &[
        ("thief", |world| world.start("t")),
        ("thief's end", |world| world.close("t")),
        ("owner's consumer", |world| world.consume("s")),
    ];
    holds(&story(with_ended_job, closing), LIMITS);
}

#[test]
fn a_reused_id_is_another_job() {
    let actors: &[Actor<World>] = &[
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
        ("launcher", |world| world.start("s")),
    ];
    holds(&story(with_ended_job, actors), LIMITS);
    holds(&story(with_ended_job, LATE_ACK), LIMITS);
    let late: &[Actor<World>] = &[
        ("late consumer", |world| world.consume("s")),
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
        ("launcher", |world| world.start("s")),
    ];
    holds(&story(with_ended_job, late), LIMITS);
}

const LATE_ACK: &[Actor<World>] = &[
    ("late acker", |world| world.ack_late("s")),
    ("consumer", |world| world.consume("s")),
    ("pruner", World::prune),
    ("launcher", |world| world.start("s")),
];

/// `cargo test -p outlive model -- --ignored`: about an hour on two cores.
#[test]
#[ignore = "every interleaving with one more switch takes an hour"]
fn the_stories_hold_with_one_more_deviation() {
    let more = |deviations| Limits {
        deviations,
        ..LIMITS
    };
    holds(&story(with_ended_job, TWO_CONSUMERS), more(4));
    holds(&story(with_ended_job, LATE_ACK), more(3));
}

#[test]
fn a_pruner_never_removes_a_link_of_the_next_job() {
    let actors: &[Actor<World>] = &[
        ("pruner", World::prune),
        ("launcher", |world| world.start("t")),
        ("consumer", |world| world.consume("t")),
    ];
    holds(&story(with_told_job, actors), LIMITS);
    let two: &[Actor<World>] = &[
        ("pruner", World::prune),
        ("other pruner", World::prune),
        ("launcher", |world| world.start("s")),
    ];
    holds(&story(with_told_job, two), LIMITS);
}

#[test]
fn the_job_of_a_paused_launcher_is_found_when_it_continues() {
    let actors: &[Actor<World>] = &[
        ("launcher", |world| world.start("s")),
        ("sweeper", World::prune),
        ("consumer", |world| world.consume("s")),
    ];
    holds(&story(World::new, actors), LIMITS);
}

#[test]
fn a_post_made_twice_is_told_once() {
    let actors: &[Actor<World>] = &[
        ("poster", |world| world.post("s")),
        ("poster again", |world| world.post("s")),
        ("poster for another", |world| world.post("t")),
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
    ];
    let begin = || World {
        one_post: true,
        ..World::new()
    };
    holds(&story(begin, actors), LIMITS);
    // The second poster has checked before the first one's post is told and pruned.
    let late: &[Actor<World>] = &[
        ("late poster", |world| world.post("s")),
        ("poster", |world| world.post("s")),
        ("consumer", |world| world.consume("s")),
        ("pruner", World::prune),
    ];
    holds(&story(begin, late), LIMITS);
}
