//! Rings one doorbell, and makes an event for testing it.

use crate::error::{Error, NotRung};
use crate::event::Event;
use crate::{desktop, program, webhook};
use outlive::api::event::{self, EventKind};
use outlive::config::{Bell, Config, Kind};
use outlive::inbox::EventId;
use outlive::{JobId, Timestamp};
use outlive_sys::clock;

/// Rings a configured doorbell once.
pub fn ring(config: &Config, name: &str, event_json: &[u8]) -> Result<(), Error> {
    let bell = config.doorbell(name).ok_or_else(|| no_such(config, name))?;
    ring_bell(bell, event_json).map_err(|why| Error::NotRung {
        name: name.to_owned(),
        why: Box::new(why),
    })
}

/// Replaces this process by `sh` with this command and event.
pub fn become_command(name: &str, command: &str, event_json: &[u8]) -> Error {
    Error::NotRung {
        name: name.to_owned(),
        why: Box::new(program::become_shell(command, event_json)),
    }
}

pub(crate) fn ring_bell(bell: &Bell, json: &[u8]) -> Result<(), NotRung> {
    let event = Event::parse(json)?;
    match &bell.kind {
        Kind::Webhook(webhook) => webhook::ring(webhook, &event, json),
        Kind::Desktop => desktop::ring(&event, bell.timeout),
        Kind::Command(command) => program::shell(command, json, bell.timeout),
    }
}

/// An event for testing a doorbell: like the end of a job called `test`.
pub fn sample(name: &str) -> Vec<u8> {
    let now = clock::wall_ms();
    let job = JobId::parse("test").expect("`test` is a valid id");
    let event = event::Event {
        event: EventId {
            source: job.clone(),
            seq: now,
            incarnation: None,
        },
        kind: EventKind::Ended,
        job,
        session: None,
        task: None,
        labels: outlive::Labels::new(),
        at: Timestamp::from_unix_ms(now),
        attempt: 0,
        last: None,
        data: serde_json::json!({
            "test": true,
            "outcome": { "kind": "exited", "code": 0 },
            "exit_code": 0,
        }),
        text: format!(
            "A test of the doorbell {name}\nNo job has ended; somebody ran `outlive doorbell test`."
        ),
    };
    serde_json::to_vec(&event).expect("an event has only string keys")
}

fn no_such(config: &Config, name: &str) -> Error {
    let names: Vec<&str> = config
        .doorbells
        .iter()
        .map(|bell| bell.name.as_str())
        .collect();
    let known = match (&config.file, names.is_empty()) {
        (Some(file), true) => format!("{} has none; add a [[doorbell]]", file.display()),
        (Some(file), false) => format!("{} has {}", file.display(), names.join(", ")),
        (None, _) => "there is no configuration; docs/configuration.md tells how".to_owned(),
    };
    Error::NoSuchDoorbell {
        name: name.to_owned(),
        known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_parses_as_an_event() {
        let sample = sample("ops");
        let full: event::Event = serde_json::from_slice(&sample).expect("an event of the contract");
        assert_eq!(full.kind, EventKind::Ended);
        let event = Event::parse(&sample).expect("is one");
        assert!(event.id.starts_with("test:"), "{event:?}");
        assert!(event.text.contains("ops"), "{event:?}");
    }
}
