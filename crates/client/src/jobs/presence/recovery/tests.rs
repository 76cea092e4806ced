use super::*;
use outlive_core::event::Record;
use outlive_core::{BootId, BootTime, ProcRef, WallTime};

fn state(events: &[Event]) -> State {
    let mut state = State::default();
    for (seq, event) in (1..).zip(events) {
        let at = Moment {
            wall: WallTime::from_ms(1),
            boot: BootTime::from_ms(1),
        };
        state.apply(&Record {
            v: 1,
            seq,
            at,
            event: event.clone(),
        });
    }
    state
}

#[test]
fn only_a_job_that_may_be_running_is_adopted() {
    let accepted = Event::Accepted {
        boot: BootId("now".into()),
        host: None,
    };
    let spawned = Event::Spawned {
        leader: ProcRef { pid: 1, started: 1 },
        output: None,
    };
    let lost = Outcome::Lost {
        reason: String::new(),
    };
    let ended = Event::Ended(End::unseen(lost, 0, 0));
    let closed = Event::Closed {
        output_bytes: 0,
        dropped_bytes: 0,
        output_complete: true,
    };

    let running = state(&[accepted.clone(), spawned.clone(), Event::Started]);
    assert_eq!(remedy(&running, None, false, None), Remedy::Adopt);
    assert!(matches!(
        remedy(&running, None, false, Some(GoneReason::Restarted)),
        Remedy::Settle(Outcome::Lost { .. })
    ));
    // A job in a container that has ended cannot be running either.
    assert!(matches!(
        remedy(&running, None, false, Some(GoneReason::NamespaceEnded)),
        Remedy::Settle(Outcome::Lost { .. })
    ));
    let spawning = state(&[accepted.clone(), spawned.clone()]);
    assert_eq!(remedy(&spawning, None, false, None), Remedy::Adopt);
    let waiting = state(std::slice::from_ref(&accepted));
    assert!(matches!(
        remedy(&waiting, None, true, None),
        Remedy::Settle(Outcome::Lost { .. })
    ));
    assert!(matches!(
        remedy(&waiting, None, false, None),
        Remedy::Settle(Outcome::NotStarted { .. })
    ));
    assert!(matches!(
        remedy(&waiting, None, false, Some(GoneReason::NamespaceEnded)),
        Remedy::Settle(Outcome::NotStarted { .. })
    ));
    // Its start may have been in a journal line that the power loss removed.
    assert!(matches!(
        remedy(&waiting, None, false, Some(GoneReason::Restarted)),
        Remedy::Settle(Outcome::Lost { .. })
    ));
    assert!(matches!(
        remedy(&state(&[]), None, false, None),
        Remedy::Settle(Outcome::Lost { .. })
    ));
    let lingering = state(&[accepted.clone(), spawned.clone(), ended.clone()]);
    assert_eq!(remedy(&lingering, None, false, None), Remedy::Adopt);
    assert_eq!(
        remedy(&lingering, None, false, Some(GoneReason::Restarted)),
        Remedy::Close
    );
    assert_eq!(
        remedy(
            &state(&[accepted, spawned, ended, closed]),
            None,
            false,
            Some(GoneReason::Restarted)
        ),
        Remedy::Nothing
    );
}
