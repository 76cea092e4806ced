use super::*;
use crate::clocks::WallTime;
use crate::outcome::EndedBy;
use crate::outcome::Outcome;
use proptest::prelude::*;

fn event() -> impl Strategy<Value = Event> {
    let process = (1..100i32, 0..5u64).prop_map(|(pid, started)| ProcRef { pid, started });
    prop_oneof![
        Just(Event::Accepted {
            boot: BootId("b".into()),
            host: None,
        }),
        process.clone().prop_map(|keeper| Event::Kept {
            how: Keeping::Launched,
            keeper,
            standby: None
        }),
        process.clone().prop_map(|keeper| Event::Kept {
            how: Keeping::Adopted,
            keeper,
            standby: None
        }),
        process.prop_map(|leader| Event::Spawned {
            leader,
            output: None,
        }),
        Just(Event::Started),
        Just(Event::StopRequested(crate::event::StopRequest {
            by: StopCause::Stop,
            detail: None,
            grace_ms: 0,
            session: None
        })),
        Just(Event::StopRequested(crate::event::StopRequest {
            by: StopCause::Timeout,
            detail: None,
            grace_ms: 0,
            session: None
        })),
        (0..50u64, 0..50u64).prop_map(|(from, to)| Event::Gap { from, to }),
        Just(Event::LogBase { offset: 3, from: 0 }),
        (0..50u64).prop_map(|output| Event::Resized {
            size: Size::DEFAULT,
            output
        }),
        (0..3u64).prop_map(matched),
        Just(Event::WatchDisabled {
            matches: 1,
            untold: 0,
            resume: serde_json::json!(1)
        }),
        Just(Event::WatchOverflow {
            silence_ms: 1,
            resume: serde_json::json!(2)
        }),
        Just(Event::WatchResumed {
            silenced: 1,
            resume: serde_json::json!(3)
        }),
        Just(Event::Ready),
        Just(Event::Quiet {
            after_ms: 1,
            resume: serde_json::json!(4)
        }),
        Just(Event::AwaitingInput {
            awaiting: crate::control::InputKind::Line,
            resume: serde_json::json!(5)
        }),
        Just(Event::Rung {
            doorbell: "b".into(),
            attempt: 1,
            failure: None
        }),
        (0..300i32).prop_map(|code| Event::Ended(end(code))),
        (1..9u32).prop_map(|number| {
            Event::AttemptEnded(crate::event::AttemptEnd {
                number,
                end: end(1),
                next_at: BootTime::from_ms(7),
            })
        }),
        Just(lingering_ended()),
        Just(Event::Closed {
            output_bytes: 9,
            dropped_bytes: 0,
            output_complete: true,
        }),
    ]
}

fn lingering_ended() -> Event {
    Event::LingeringEnded(crate::event::LingeringEnded {
        lingering: 2,
        ended_by: EndedBy::Itself,
        seen: true,
        output_bytes: 9,
    })
}

/// A keeper may be killed after it recorded this and before it closed the job. The next keeper must not
/// record it again.
#[test]
fn the_end_of_lingering_processes_counts_once() {
    let accepted = Event::Accepted {
        boot: BootId("b".into()),
        host: None,
    };
    let left = End {
        lingering: 2,
        ..end(0)
    };
    let events = [
        accepted,
        lingering_ended(),
        Event::Ended(left),
        lingering_ended(),
        lingering_ended(),
    ];
    let mut state = State::default();
    let taken: Vec<(Applied, u32)> = records(&events)
        .iter()
        .map(|record| (state.apply(record), state.lingering()))
        .collect();
    use Applied::{Changed, Ignored};
    let expected = [
        (Changed, 0),
        (Ignored, 0),
        (Changed, 2),
        (Changed, 0),
        (Ignored, 0),
    ];
    assert_eq!(taken, expected);
    assert_eq!(state.lingering_ended.map(|at| at.wall.ms()), Some(3));
}

fn matched(count: u64) -> Event {
    let last = crate::watch::Match {
        offset: 1,
        end: 2,
        pattern: None,
        text: "x".into(),
    };
    Event::Matched(crate::event::Matched {
        count,
        last,
        pattern: None,
        lines: Vec::new(),
        looked_back: false,
        resume: serde_json::json!(3),
    })
}

fn end(code: i32) -> End {
    End {
        outcome: Outcome::Exited { code },
        ended_by: EndedBy::Itself,
        ended_by_detail: None,
        ended_by_session: None,
        duration_ms: Some(1),
        output_bytes: 9,
        dropped_bytes: 0,
        output_complete: true,
        lingering: 0,
        usage: None,
        attempt: None,
        not_restarted: None,
    }
}

fn records(events: &[Event]) -> Vec<Record> {
    events
        .iter()
        .enumerate()
        .map(|(place, event)| Record {
            v: 1,
            seq: place as u64 + 1,
            at: Moment {
                wall: WallTime::from_ms(place as u64),
                boot: BootTime::from_ms(place as u64),
            },
            event: event.clone(),
        })
        .collect()
}

fn rank(phase: &Phase) -> u8 {
    match phase {
        Phase::Unwritten => 0,
        // The next attempt goes the same way.
        Phase::Accepted | Phase::Backoff { .. } => 1,
        Phase::Spawned(_) => 2,
        Phase::Running(_) => 3,
        Phase::Stopping(..) => 4,
        Phase::Ended {
            tail: Tail::Lingering,
            ..
        } => 5,
        Phase::Ended {
            tail: Tail::Closed { .. },
            ..
        } => 6,
    }
}

proptest! {
    /// Whatever events come in whatever order, an attempt never goes back to an earlier phase, the first end
    /// stays, and an ignored event changes only the sequence number.
    #[test]
    fn phases_only_advance_and_the_first_end_wins(events in prop::collection::vec(event(), 0..40)) {
        let mut state = State::default();
        let mut first_end = None;
        for record in records(&events) {
            let before = state.clone();
            let applied = state.apply(&record);
            let begins_again = matches!(record.event, Event::AttemptEnded(_)) && before.end().is_none();
            prop_assert!(begins_again || rank(&state.phase) >= rank(&before.phase));
            if let (Event::Ended(end), None) = (&record.event, &first_end) {
                first_end = Some(end.clone());
            }
            prop_assert_eq!(state.end(), first_end.as_ref());
            if applied == Applied::Ignored {
                prop_assert_eq!(&State { seq: before.seq, ..state.clone() }, &before);
            }
        }
    }

    /// Reading lines twice, for example from a copied journal, changes nothing.
    #[test]
    fn duplicated_records_change_nothing(events in prop::collection::vec(event(), 0..30), repeats in prop::collection::vec(1..4usize, 30)) {
        let mut once = State::default();
        let mut often = State::default();
        for (record, times) in records(&events).iter().zip(repeats) {
            once.apply(record);
            for _ in 0..times {
                often.apply(record);
            }
        }
        prop_assert_eq!(once, often);
    }

    #[test]
    fn a_stop_ends_a_job_only_after_it_was_requested(stop_first: bool, signaled: bool) {
        let leader = ProcRef { pid: 7, started: 7 };
        let mut events = vec![
            Event::Accepted { boot: BootId("b".into()), host: None, },
            Event::Spawned {
            leader,
            output: None,
        },
            Event::Started,
        ];
        if stop_first {
            events.push(Event::StopRequested(crate::event::StopRequest { by: StopCause::Stop, detail: Some("me".into()), grace_ms: 0, session: None }));
            events.push(Event::StopRequested(crate::event::StopRequest { by: StopCause::Timeout, detail: None, grace_ms: 0, session: None }));
        }
        let mut state = State::default();
        records(&events).iter().for_each(|record| { state.apply(record); });
        let expected = match (stop_first, signaled) {
            (true, _) => (EndedBy::Stop, Some("me".to_owned())),
            (false, true) => (EndedBy::Signal, None),
            (false, false) => (EndedBy::Itself, None),
        };
        let ender = state.ended_by(signaled);
        prop_assert_eq!((ender.by, ender.detail), expected);
    }
}

/// The record of a job of which one attempt failed. If there is `more`, another attempt runs.
fn after_a_failure(more: &[Event]) -> Vec<Record> {
    let spawned = |pid, output| Event::Spawned {
        leader: ProcRef { pid, started: 7 },
        output,
    };
    let failed = Event::AttemptEnded(crate::event::AttemptEnd {
        number: 1,
        end: end(3),
        next_at: BootTime::from_ms(1003),
    });
    let mut events = vec![
        Event::Accepted {
            boot: BootId("b".into()),
            host: None,
        },
        spawned(7, None),
        Event::Started,
        failed,
    ];
    if !more.is_empty() {
        events.extend([spawned(8, Some(20)), Event::Started]);
    }
    events.extend_from_slice(more);
    records(&events)
}

fn folded(records: &[Record]) -> State {
    let mut state = State::default();
    for record in records {
        assert_eq!(state.apply(record), Applied::Changed, "{record:?}");
    }
    state
}

#[test]
fn between_two_attempts_a_job_has_no_process_and_a_time_for_the_next() {
    let state = folded(&after_a_failure(&[]));
    assert_eq!(state.phase.job_state().as_str(), "waiting");
    assert_eq!(state.phase.leader(), None);
    assert_eq!((state.restarts(), state.attempt()), (1, 1));
    // One second after the failure, on both clocks.
    let next = state.next_attempt().map(|at| (at.wall.ms(), at.boot.ms()));
    assert_eq!(next, Some((1003, 1003)));
    assert_eq!(state.started().map(|at| at.wall.ms()), Some(2));
}

#[test]
fn a_stop_between_two_attempts_ends_the_job_and_keeps_the_outcome() {
    let stop = Event::StopRequested(crate::event::StopRequest {
        by: StopCause::Stop,
        detail: Some("me".into()),
        grace_ms: 0,
        session: None,
    });
    let mut state = folded(&after_a_failure(&[]));
    assert!(!state.is_stopped_early() && state.ended_by(false).by == EndedBy::Itself);
    let at = Moment::default();
    let seq = state.seq + 1;
    state.apply(&Record {
        v: 1,
        seq,
        at,
        event: stop,
    });
    assert!(state.is_stopped_early() && state.is_stopped_for_good());
    let end = state.end_in_pause("why", 30, 0).expect("an end");
    assert_eq!(end.outcome, Outcome::Exited { code: 3 });
    assert_eq!((end.ended_by, end.not_restarted), (EndedBy::Stop, None));
}

#[test]
fn a_stop_during_a_timeout_ends_the_job_and_not_only_the_attempt() {
    let request = |by| {
        Event::StopRequested(crate::event::StopRequest {
            by,
            detail: None,
            grace_ms: 0,
            session: None,
        })
    };
    let timed_out = folded(&after_a_failure(&[request(StopCause::Timeout)]));
    assert!(!timed_out.is_stopped_for_good());
    let stopped = [request(StopCause::Timeout), request(StopCause::Stop)];
    let state = folded(&after_a_failure(&stopped));
    assert!(state.is_stopped_for_good());
    assert_eq!(state.ended_by(true).by, EndedBy::Stop);
}

#[test]
fn every_attempt_of_a_journal_is_listed_with_its_output() {
    let mut journal = Vec::new();
    for record in after_a_failure(&[Event::Ended(end(0))]) {
        serde_json::to_writer(&mut journal, &record).expect("JSON");
        journal.push(b'\n');
    }
    let listed: Vec<_> = attempts::all(&journal)
        .iter()
        .map(|one| (one.number, one.exit_code, one.output.from, one.output.to))
        .collect();
    assert_eq!(listed, [(1, Some(3), 0, Some(20)), (2, Some(0), 20, None)]);
}

/// No process could be created for the second attempt. Or there was none, because somebody stopped the job.
#[test]
fn an_end_without_a_process_says_which_attempt_it_was() {
    for (attempt, over_in_pause) in [(2, false), (1, true)] {
        let mut records = after_a_failure(&[]);
        let last = End {
            attempt: Some(attempt),
            ..end(3)
        };
        let seq = records.len() as u64 + 1;
        let at = Moment::default();
        let event = Event::Ended(last);
        records.push(Record {
            v: 1,
            seq,
            at,
            event,
        });
        let state = folded(&records);
        assert_eq!(state.attempt(), attempt);
        let attempts = state.attempts.expect("one has ended");
        assert_eq!(attempts.over_in_pause, over_in_pause);
    }
}

/// A program that knows no attempts must not write to such a journal.
#[test]
fn only_the_end_of_an_attempt_has_the_newer_format() {
    let formats: Vec<u32> = after_a_failure(&[])
        .iter()
        .map(|record| record.event.format())
        .collect();
    assert_eq!(formats, [1, 1, 1, 2]);
}
