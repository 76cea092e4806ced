use super::*;
use crate::clocks::WallTime;
use proptest::prelude::*;

mod agents;

const RULES: Rules = Rules {
    claim: Duration::from_millis(100),
    attempts: 4,
    keep: Duration::from_millis(5000),
};
const EVENTS: [u64; 3] = [3, 7, 9];

fn at(boot: u32, ms: u64) -> BootMoment {
    BootMoment {
        boot: BootId(boot.to_string()),
        at: Moment {
            wall: WallTime::from_ms(ms),
            boot: BootTime::from_ms(ms),
        },
    }
}

fn claimed(by: &str, ms: u64) -> Line {
    Line {
        when: at(1, ms),
        of: None,
        seqs: vec![1],
        note: Note::Claimed {
            by: by.to_owned(),
            length: Millis(100),
            most: RULES.attempts,
            agent: None,
            instead_of: Vec::new(),
        },
    }
}

fn told_after(lines: &[Line]) -> Told {
    let mut told = Told::default();
    lines
        .iter()
        .for_each(|line| told.apply(line, &nobody_is_gone));
    told
}

#[test]
fn the_order_of_the_lines_decides_whose_claim_counts() {
    let told = told_after(&[claimed("a", 10), claimed("b", 10)]);
    assert_eq!(told.holder(1, &at(1, 50)), Some("a"));
    // It read the clock before the other claim was made, so it could not know of it.
    let told = told_after(&[claimed("a", 10), claimed("late", 5)]);
    assert_eq!(told.holder(1, &at(1, 50)), Some("a"));
    let told = told_after(&[claimed("a", 10), claimed("b", 110)]);
    assert_eq!(told.holder(1, &at(1, 150)), Some("b"));
    assert_eq!(told.holder(1, &at(1, 210)), None, "lapsed");
    assert_eq!(told.holder(1, &at(2, 120)), None, "of another boot");
    assert_eq!(told.of(1).map(|delivery| delivery.attempts), Some(2));
}

/// Two consumers see an event that may be claimed once more. The first one's claim arrives late.
#[test]
fn an_event_is_never_claimed_more_often_than_allowed() {
    let mut lines: Vec<Line> = (0..RULES.attempts)
        .map(|n| claimed("a", 200 * u64::from(n)))
        .collect();
    lines.push(claimed("late", 10_000));
    let told = told_after(&lines);
    assert_eq!(told.of(1).map(|delivery| delivery.attempts), Some(4));
    assert_eq!(told.holder(1, &at(1, 10_001)), None);
}

#[test]
fn a_claim_is_no_delivery() {
    let mut lines = vec![claimed("a", 10)];
    let deliveries = |lines: &[Line]| told_after(lines).of(1).map(|it| it.deliveries);
    assert_eq!(deliveries(&lines), Some(0));
    lines.push(Line {
        when: at(1, 20),
        of: None,
        seqs: vec![1],
        note: Note::Delivered,
    });
    assert_eq!(deliveries(&lines), Some(1));
    lines.push(claimed("b", 200));
    assert_eq!(deliveries(&lines), Some(1), "once is once");
}

/// A consumer that is killed between the claim and the delivery has delivered nothing.
#[test]
fn expired_claims_never_drop_an_event() {
    let claims = (0..50).map(|n| Line {
        note: Note::Claimed {
            by: "killed".to_owned(),
            length: Millis(100),
            most: u32::MAX,
            agent: None,
            instead_of: Vec::new(),
        },
        ..claimed("killed", 200 * n)
    });
    let mut lines: Vec<Line> = claims.collect();
    let rules = Rules {
        keep: Duration::from_millis(1_000_000),
        ..RULES
    };
    let due = |lines: &[Line]| {
        told_after(lines).due(1, &at(1, 0), &at(1, 20_000), &rules, &nobody_has_lost)
    };
    assert_eq!(due(&lines), Due::Now);
    for n in 0..u64::from(RULES.attempts) {
        assert_eq!(due(&lines), Due::Now, "after {n} deliveries");
        lines.push(Line {
            note: Note::Delivered,
            ..claimed("reads", 10_500 + n)
        });
    }
    assert_eq!(due(&lines), Due::GiveUp(DropReason::Attempts));
}

/// A late ack for a pruned job lands in the file of the next job with that id.
#[test]
fn a_line_about_another_job_with_the_same_id_does_not_count() {
    let acked = |of: Option<&str>| {
        let line = Line {
            of: of.map(|text| Incarnation::parse(text).expect("valid")),
            note: Note::Told { how: ToldBy::Inbox },
            ..claimed("a", 10)
        };
        serde_json::to_vec(&line).expect("encoded")
    };
    let settled = |line: &[u8], of: Option<&str>| {
        let of = of.map(|text| Incarnation::parse(text).expect("valid"));
        Told::parse(line, of.as_ref(), &nobody_is_gone).is_settled(1)
    };
    assert!(settled(&acked(Some("b")), Some("b")));
    assert!(!settled(&acked(Some("a")), Some("b")));
    assert!(!settled(&acked(Some("a")), None));
    assert!(settled(&acked(None), Some("b")), "the first release's");
}

#[test]
fn an_event_that_was_never_delivered_is_not_dropped_for_its_age() {
    let (happened, weekend) = (at(1, 0), at(1, RULES.keep.as_millis() as u64 * 10));
    let due =
        |lines: &[Line]| told_after(lines).due(1, &happened, &weekend, &RULES, &nobody_has_lost);
    assert_eq!(due(&[]), Due::Now);
    assert_eq!(due(&[claimed("a", 10)]), Due::Now, "a claim is no delivery");
    let delivered = Line {
        note: Note::Delivered,
        ..claimed("a", 20)
    };
    assert_eq!(due(&[delivered]), Due::GiveUp(DropReason::Age));
}

#[test]
fn a_shown_event_counts_as_shown_for_a_while() {
    let shown = Line {
        note: Note::Shown,
        ..claimed("a", 10)
    };
    let told = told_after(&[shown]);
    assert!(told.was_just_shown(1, &at(1, 20)));
    assert!(!told.was_just_shown(1, &at(1, 20 + SHOWN.as_millis() as u64)));
    assert!(!told.was_just_shown(2, &at(1, 20)));
}

#[test]
fn incomplete_lines_are_skipped() {
    let whole = serde_json::to_string(&claimed("a", 10)).expect("encoded");
    let text = format!("\n{}\n{whole}\n\n{}", &whole[..20], "{\"when\":");
    let told = Told::parse(text.as_bytes(), None, &nobody_is_gone);
    assert_eq!(told.holder(1, &at(1, 50)), Some("a"));
}

#[test]
fn a_closed_session_gets_no_more_events() {
    let closing = Line {
        when: at(1, 10),
        of: None,
        seqs: Vec::new(),
        note: Note::Dropped {
            why: DropReason::Session,
        },
    };
    let told = told_after(&[closing]);
    assert!(told.is_settled(99));
    assert_eq!(
        told.due(99, &at(1, 0), &at(1, 10), &RULES, &nobody_has_lost),
        Due::Settled
    );
}

/// One consumer. Between any two of its steps, others may act and it may die.
#[derive(Clone, Debug, Default)]
enum Consumer {
    #[default]
    Idle,
    /// It has read the file and the clock, and will claim the events that are due.
    Looked { when: BootMoment, due: Vec<u64> },
    /// Its claim is in the file. It has not checked yet whether the claim counts.
    Claimed { by: String },
    /// It knows which claims are its own, and delivers those that are still valid.
    Holds { by: String, seqs: Vec<u64> },
    /// It has delivered the events.
    Delivered { seqs: Vec<u64> },
}

#[derive(Clone, Debug)]
enum Op {
    Step(usize),
    Die(usize),
    Pass(u64),
    Reboot,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0usize..3).prop_map(Op::Step),
        2 => (0usize..3).prop_map(Op::Die),
        3 => (1u64..140).prop_map(Op::Pass),
        1 => Just(Op::Reboot),
    ]
}

/// The simulated file, and a simple record of who was told what.
#[derive(Default)]
struct World {
    lines: Vec<Line>,
    boot: u32,
    now: u64,
    consumers: [Consumer; 3],
    claims: u32,
    /// Each delivery and ack, in order.
    delivered: Vec<u64>,
    acked: Vec<u64>,
}

impl World {
    fn when(&self) -> BootMoment {
        at(self.boot, self.now)
    }

    fn told(&self) -> Told {
        told_after(&self.lines)
    }

    fn note(&mut self, when: BootMoment, seqs: Vec<u64>, note: Note) {
        let of = None;
        self.lines.push(Line {
            when,
            of,
            seqs,
            note,
        });
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Step(who) => self.step(*who),
            Op::Die(who) => self.consumers[*who] = Consumer::Idle,
            Op::Pass(ms) => self.now += ms,
            Op::Reboot => {
                self.boot += 1;
                self.consumers = Default::default();
            }
        }
    }

    fn step(&mut self, who: usize) {
        self.consumers[who] = match std::mem::take(&mut self.consumers[who]) {
            Consumer::Idle => self.look(),
            Consumer::Looked { when, due } => {
                self.claims += 1;
                let by = format!("{who}-{}", self.claims);
                let length = Millis::from(RULES.claim);
                self.note(
                    when,
                    due,
                    Note::Claimed {
                        by: by.clone(),
                        length,
                        most: u32::MAX,
                        agent: None,
                        instead_of: Vec::new(),
                    },
                );
                Consumer::Claimed { by }
            }
            Consumer::Claimed { by } => {
                let (told, when) = (self.told(), self.when());
                let mine = |seq: &u64| told.holder(*seq, &when) == Some(&by);
                let seqs: Vec<u64> = EVENTS.into_iter().filter(mine).collect();
                Consumer::Holds { by, seqs }
            }
            Consumer::Holds { by, seqs } => {
                let (told, when) = (self.told(), self.when());
                let mine = |seq: &u64| told.holder(*seq, &when) == Some(&by);
                let seqs: Vec<u64> = seqs.into_iter().filter(mine).collect();
                self.delivered.extend(&seqs);
                if !seqs.is_empty() {
                    self.note(when, seqs.clone(), Note::Delivered);
                }
                Consumer::Delivered { seqs }
            }
            Consumer::Delivered { seqs } => {
                let (told, when) = (self.told(), self.when());
                for seq in seqs {
                    let deliveries = told.of(seq).map_or(0, |delivery| delivery.deliveries);
                    let note = match deliveries > RULES.attempts {
                        true => Note::Dropped {
                            why: DropReason::Attempts,
                        },
                        false => Note::Told { how: ToldBy::Inbox },
                    };
                    self.acked.push(seq);
                    self.note(when.clone(), vec![seq], note);
                }
                Consumer::Idle
            }
        };
    }

    fn look(&mut self) -> Consumer {
        let (told, when) = (self.told(), self.when());
        let mut due = Vec::new();
        for seq in EVENTS {
            match told.due(seq, &at(0, 0), &when, &RULES, &nobody_has_lost) {
                Due::Now | Due::GiveUp(_) => due.push(seq),
                Due::Held { .. } | Due::Handed { .. } | Due::Settled => {}
            }
        }
        match due.is_empty() {
            true => Consumer::Idle,
            false => Consumer::Looked { when, due },
        }
    }

    /// How many consumers believe that they may deliver this event now.
    fn holders(&self, seq: u64) -> usize {
        let (told, when) = (self.told(), self.when());
        let holds = |consumer: &&Consumer| match consumer {
            Consumer::Holds { by, seqs } => {
                seqs.contains(&seq) && told.holder(seq, &when) == Some(by)
            }
            _ => false,
        };
        self.consumers.iter().filter(holds).count()
    }
}

proptest! {
    /// In whatever order consumers read, claim, die and ack: two never hold the same claim, an acked
    /// event is never delivered again, and no event is dropped too early.
    #[test]
    fn each_event_is_told_once_to_consumers_that_ack(ops in prop::collection::vec(op(), 0..120)) {
        let mut world = World { boot: 1, ..World::default() };
        for op in &ops {
            let before = world.acked.clone();
            let given = world.delivered.len();
            world.apply(op);
            for seq in EVENTS {
                prop_assert!(world.holders(seq) <= 1, "two hold {seq}");
            }
            for seq in &world.delivered[given..] {
                prop_assert!(!before.contains(seq), "{seq} was acked, and given again");
            }
            for seq in EVENTS {
                let told = world.told();
                let delivery = told.of(seq).cloned().unwrap_or_default();
                match delivery.settled {
                    None => prop_assert!(!world.acked.contains(&seq)),
                    Some(Settled::Told(_)) => prop_assert!(world.delivered.contains(&seq)),
                    Some(Settled::Dropped(_)) => {
                        prop_assert!(delivery.deliveries > RULES.attempts, "{seq} was dropped too soon");
                        prop_assert!(world.delivered.contains(&seq), "{seq} was dropped unsaid");
                    }
                }
            }
        }
        // A consumer that stays and keeps asking gets every event that was not told or dropped.
        world.consumers = Default::default();
        for _ in 0..40 {
            world.step(0);
            world.now += 30;
        }
        for seq in EVENTS {
            prop_assert!(world.told().is_settled(seq), "{seq} was forgotten");
        }
    }

    #[test]
    fn reading_arbitrary_bytes_never_panics(bytes: Vec<u8>) {
        let _ = Told::parse(&bytes, None, &nobody_is_gone);
    }
}
