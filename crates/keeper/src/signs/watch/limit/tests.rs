use super::*;
use proptest::prelude::*;

/// A match with a number, so that tests can tell matches apart.
fn numbered(number: u64) -> Match {
    Match {
        offset: number,
        end: number,
        pattern: Some(0),
        text: String::new(),
    }
}

fn watch(spacing_ms: u64, strikes: u32, limit: Option<u64>) -> Watch {
    Watch {
        patterns: Vec::new(),
        limit,
        spacing_ms,
        strikes,
    }
}

fn at(ms: u64) -> BootTime {
    BootTime::from_ms(ms)
}

/// The reports of a keeper that wakes when it should, with their times, for matches at these times.
fn told(watch: &Watch, matches: &[u64], until: u64) -> Vec<(u64, Event)> {
    let mut limit = Limit::new(watch);
    let mut told = Vec::new();
    let mut wake = |limit: &mut Limit, before: u64| {
        while let Some(due) = limit.due_at().filter(|due| *due <= at(before)) {
            told.extend(limit.tick(due).map(|event| (due.ms(), event)));
        }
    };
    let mut events = Vec::new();
    for (number, came) in matches.iter().enumerate() {
        wake(&mut limit, *came);
        events.extend(
            limit
                .matched(at(*came), || numbered(number as u64))
                .map(|event| (*came, event)),
        );
    }
    wake(&mut limit, until);
    told.extend(events);
    told.sort_by_key(|(at, _)| *at);
    told
}

/// The newest of this many matches.
fn lines(count: u64, last: u64) -> Vec<String> {
    let first = (last + 1).saturating_sub(count.min(20));
    let all = (first..=last).map(|number| numbered(number).text);
    all.filter(|_| count > 1).collect()
}

fn matched(count: u64, last: u64) -> Event {
    Event::Matched {
        count,
        last: numbered(last),
        lines: lines(count, last),
        over: false,
    }
}

fn last_matched(count: u64, last: u64) -> Event {
    Event::Matched {
        count,
        last: numbered(last),
        lines: lines(count, last),
        over: true,
    }
}

fn disabled(untold: u64) -> Event {
    Event::Disabled { untold }
}

#[test]
fn reports_of_a_keeper_that_wakes_in_time() {
    type Row<'a> = (&'a str, (u32, Option<u64>), &'a [u64], Vec<(u64, Event)>);
    let table: Vec<Row<'_>> = vec![
        ("nothing", (3, None), &[], vec![]),
        ("one, at once", (3, None), &[5], vec![(5, matched(1, 0))]),
        (
            "a second is told when the spacing is over",
            (3, None),
            &[0, 1],
            vec![(0, matched(1, 0)), (100, matched(1, 1))],
        ),
        (
            "many are counted, and the last is told",
            (3, None),
            &[0, 1, 2, 99],
            vec![(0, matched(1, 0)), (100, matched(3, 3))],
        ),
        (
            "with the spacing over, at once again",
            (3, None),
            &[0, 100, 200],
            vec![
                (0, matched(1, 0)),
                (100, matched(1, 1)),
                (200, matched(1, 2)),
            ],
        ),
        (
            "what comes when the spacing ends is counted in the next",
            (3, None),
            &[0, 50, 100],
            vec![
                (0, matched(1, 0)),
                (100, matched(1, 1)),
                (200, matched(1, 2)),
            ],
        ),
        (
            "the third busy spacing in a row is the last",
            (3, None),
            &[0, 1, 101, 201, 202, 203, 301],
            vec![
                (0, matched(1, 0)),
                (100, matched(1, 1)),
                (200, matched(1, 2)),
                (300, disabled(3)),
            ],
        ),
        (
            "a spacing that is not busy clears the strikes",
            (2, None),
            &[0, 1, 250, 251, 450, 451, 551],
            vec![
                (0, matched(1, 0)),
                (100, matched(1, 1)),
                (250, matched(1, 2)),
                (350, matched(1, 3)),
                (450, matched(1, 4)),
                (550, matched(1, 5)),
                (650, disabled(1)),
            ],
        ),
        (
            "one strike is enough where so asked",
            (1, None),
            &[0, 1, 2],
            vec![(0, matched(1, 0)), (100, disabled(2))],
        ),
        (
            "without strikes it goes on",
            (0, None),
            &[0, 1, 101, 201, 301],
            vec![
                (0, matched(1, 0)),
                (100, matched(1, 1)),
                (200, matched(1, 2)),
                (300, matched(1, 3)),
                (400, matched(1, 4)),
            ],
        ),
        (
            "a one-shot is over at once",
            (3, Some(1)),
            &[7, 8, 500],
            vec![(7, last_matched(1, 0))],
        ),
        (
            "up to the limit all are told",
            (3, Some(3)),
            &[0, 1, 2, 3, 500],
            vec![(0, matched(1, 0)), (100, last_matched(2, 2))],
        ),
        (
            "a limit reached when idle",
            (3, Some(2)),
            &[0, 500, 900],
            vec![(0, matched(1, 0)), (500, last_matched(1, 1))],
        ),
        (
            "what reaches the limit is told, though it is a strike",
            (1, Some(2)),
            &[0, 1],
            vec![(0, matched(1, 0)), (100, last_matched(1, 1))],
        ),
        ("no match is wanted", (3, Some(0)), &[0, 1], vec![]),
    ];
    for (name, (strikes, limit), matches, events) in table {
        assert_eq!(
            told(&watch(100, strikes, limit), matches, 10_000),
            events,
            "{name}"
        );
    }
}

#[test]
fn a_late_keeper_reports_the_count_and_begins_a_spacing_then() {
    let mut limit = Limit::new(&watch(100, 3, None));
    assert!(limit.matched(at(0), || numbered(0)).is_some());
    assert_eq!(limit.matched(at(10), || numbered(1)), None);
    assert_eq!(limit.due_at(), Some(at(100)));
    assert_eq!(limit.tick(at(99)), None);
    assert_eq!(limit.matched(at(250), || numbered(2)), Some(matched(1, 1)));
    assert_eq!(limit.due_at(), Some(at(350)));
    assert_eq!(limit.tick(at(350)), Some(matched(1, 2)));
}

#[test]
fn waiting_matches_are_reported_at_the_end() {
    let mut limit = Limit::new(&watch(100, 3, Some(3)));
    limit.matched(at(0), || numbered(0));
    limit.matched(at(1), || numbered(1));
    assert_eq!(limit.clone().finish(), Some(matched(1, 1)));
    limit.matched(at(2), || numbered(2));
    assert!(!limit.wants_more());
    assert_eq!(limit.finish(), Some(last_matched(2, 2)));
    assert_eq!(limit.finish(), None);
    assert_eq!(limit.matched(at(500), || numbered(3)), None);
}

#[test]
fn the_journaled_state_keeps_its_format() {
    let mut limit = Limit::new(&watch(100, 3, None));
    let written = r#"{"seen":0,"strikes":0,"phase":"idle"}"#;
    assert_eq!(
        serde_json::to_string(limit.state()).expect("written"),
        written
    );
    limit.matched(at(5), || numbered(0));
    limit.matched(at(6), || numbered(1));
    let written = r#"{"seen":2,"strikes":0,"phase":{"spacing":{"until_ms":105,"waiting":{"count":1,"last":{"offset":1,"end":1,"pattern":0,"text":""}}}}}"#;
    assert_eq!(
        serde_json::to_string(limit.state()).expect("written"),
        written
    );
    let read: State = serde_json::from_str(written).expect("read");
    assert_eq!(&read, limit.state());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Match,
    Tick,
    /// Another keeper continues from the journal.
    TakenOver,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        4 => Just(Step::Match),
        2 => Just(Step::Tick),
        1 => Just(Step::TakenOver),
    ];
    prop::collection::vec((0..40u64, step), 0..200)
}

proptest! {
    #[test]
    fn events_keep_their_distance_and_no_match_is_lost(
        steps in steps(), spacing in 1..100u64, strikes in 0..5u32, most in prop::option::of(0..40u64),
    ) {
        let watch = watch(spacing, strikes, most);
        let mut limit = Limit::new(&watch);
        let (mut now, mut last_event) = (0, None);
        let (mut seen, mut told) = (0, 0);
        for (later, step) in steps {
            now += later;
            let event = match step {
                Step::Match => {
                    let before = limit.state().seen;
                    let event = limit.matched(at(now), || numbered(seen));
                    seen += limit.state().seen - before;
                    event
                }
                Step::Tick => limit.tick(at(now)),
                Step::TakenOver => {
                    let journaled = serde_json::to_string(limit.state()).expect("written");
                    limit = Limit::resume(&watch, serde_json::from_str(&journaled).expect("read"));
                    None
                }
            };
            if let Some(event) = event {
                prop_assert!(last_event.is_none_or(|last| now >= last + spacing));
                last_event = Some(now);
                told += match event {
                    Event::Matched { count, last, .. } => {
                        prop_assert_eq!(last.offset, told + count - 1, "the last of those told");
                        count
                    }
                    Event::Disabled { untold } => untold,
                };
            }
            let waiting = match &limit.state().phase {
                Phase::Spacing { waiting: Some(waiting), .. } => waiting.count,
                _ => 0,
            };
            prop_assert_eq!(told + waiting, seen);
            prop_assert_eq!(limit.due_at().is_some(), waiting > 0);
            prop_assert!(most.is_none_or(|most| seen <= most));
            prop_assert!(strikes == 0 || limit.state().strikes <= strikes);
        }
    }

    #[test]
    fn a_takeover_changes_no_report(steps in steps(), strikes in 0..5u32) {
        let watch = watch(50, strikes, None);
        let (mut one, mut many) = (Limit::new(&watch), Limit::new(&watch));
        let mut now = 0;
        for (later, step) in steps {
            now += later;
            many = Limit::resume(&watch, many.state().clone());
            let both = match step {
                Step::Match => [&mut one, &mut many].map(|limit| limit.matched(at(now), || numbered(now))),
                Step::Tick | Step::TakenOver => [&mut one, &mut many].map(|limit| limit.tick(at(now))),
            };
            prop_assert_eq!(&both[0], &both[1]);
        }
    }
}
