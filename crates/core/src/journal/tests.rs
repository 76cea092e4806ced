use super::*;
use crate::clocks::{BootTime, WallTime};
use crate::outcome::{End, EndedBy, Outcome};
use crate::process::{BootId, ProcRef};
use proptest::prelude::*;

const AT: Moment = Moment {
    wall: WallTime::from_ms(5),
    boot: BootTime::from_ms(5),
};

fn life() -> Vec<Event> {
    let process = ProcRef { pid: 4, started: 9 };
    vec![
        Event::Accepted {
            boot: BootId("boot".into()),
            host: None,
        },
        Event::Kept {
            how: crate::event::Keeping::Launched,
            keeper: process,
            standby: Some(process),
        },
        Event::Spawned {
            leader: process,
            output: None,
        },
        Event::Started,
        Event::StopRequested(crate::event::StopRequest {
            by: crate::event::StopCause::Stop,
            detail: Some("a\nb".into()),
            grace_ms: 0,
            session: None,
        }),
        Event::Ended(End {
            outcome: Outcome::Exited { code: 3 },
            ended_by: EndedBy::Stop,
            ended_by_session: None,
            ended_by_detail: None,
            duration_ms: Some(12),
            output_bytes: 7,
            dropped_bytes: 0,
            output_complete: true,
            lingering: 0,
            usage: None,
            attempt: None,
            not_restarted: None,
        }),
        Event::Closed {
            output_bytes: 7,
            dropped_bytes: 0,
            output_complete: true,
        },
    ]
}

fn written(events: &[Event]) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("journal");
    let mut writer = JournalWriter::open(&path).expect("opens");
    for event in events {
        writer
            .append(AT, std::slice::from_ref(event))
            .expect("appends");
    }
    std::fs::read(path).expect("reads")
}

proptest! {
    /// Wherever a journal is cut, reading it gives the complete lines before the cut. A writer that
    /// continues from there reaches the same state as one that was never interrupted.
    #[test]
    fn a_torn_line_is_ignored_then_sealed(cut in 0usize..2000) {
        let events = life();
        let whole = written(&events);
        let cut = cut.min(whole.len());
        let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();

        let read = Journal::parse(&whole[..cut]);
        prop_assert_eq!(&read.state, &Journal::parse(&written(&events[..lines])).state);
        prop_assert_eq!(read.damaged, 0);

        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("journal");
        std::fs::write(&path, &whole[..cut]).expect("writes");
        let mut writer = JournalWriter::open(&path).expect("opens");
        for event in &events[lines..] {
            writer.append(AT, std::slice::from_ref(event)).expect("appends");
        }
        let resumed = Journal::parse(&std::fs::read(&path).expect("reads"));
        prop_assert_eq!(&resumed.state, writer.state());
        prop_assert_eq!(resumed.state, Journal::parse(&whole).state);
    }

    /// Garbage between the lines is counted and hides no line.
    #[test]
    fn garbage_between_lines_hides_no_event(noise in prop::collection::vec("[^\n]{1,40}", 0..6), places in prop::collection::vec(0usize..8, 6)) {
        let whole = written(&life());
        let mut lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let noise: Vec<Vec<u8>> = noise.into_iter().map(|text| format!("{text}\n").into_bytes()).collect();
        for (text, place) in noise.iter().zip(places) {
            lines.insert(place.min(lines.len()), text);
        }
        let read = Journal::parse(&lines.concat());
        prop_assert_eq!(read.damaged, noise.len());
        prop_assert_eq!(read.state, Journal::parse(&whole).state);
    }

    #[test]
    fn parsing_arbitrary_bytes_never_fails(bytes: Vec<u8>) {
        Journal::parse(&bytes);
    }
}

#[test]
fn an_unknown_event_keeps_its_number_and_a_newer_format_is_never_appended_to() {
    let mut bytes = written(&life()[..1]);
    bytes.extend(b"{\"v\":3,\"seq\":2,\"at\":{},\"event\":{\"teleported\":{}}}\n");
    let read = Journal::parse(&bytes);
    assert_eq!((read.damaged, read.format, read.state.seq), (0, 3, 2));

    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("journal");
    std::fs::write(&path, &bytes).expect("writes");
    assert!(matches!(
        JournalWriter::open(&path),
        Err(WriterError::Newer(3))
    ));
    assert_eq!(std::fs::read(&path).expect("reads"), bytes);
}

#[test]
fn a_sequence_number_that_is_too_large_is_damage_and_appending_still_works() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("journal");
    let mut bytes = written(&life()[..2]);
    for forged in [
        r#"{"v":1,"seq":18446744073709551615,"at":{"wall_ms":1,"boot_ms":1},"event":"started"}"#,
        r#"{"v":1,"seq":18446744073709551615}"#,
    ] {
        bytes.extend_from_slice(forged.as_bytes());
        bytes.push(b'\n');
    }
    std::fs::write(&path, &bytes).expect("written");
    let mut writer = JournalWriter::open(&path).expect("opens");
    assert!(writer.is_damaged());
    for event in &life()[2..] {
        let appended = writer.append(AT, std::slice::from_ref(event));
        appended.expect("appends");
    }
    assert_eq!(
        writer.state().end().map(|end| &end.outcome),
        Some(&Outcome::Exited { code: 3 })
    );
    let read = Journal::parse(&std::fs::read(&path).expect("reads"));
    assert_eq!(read.state, *writer.state());
}
