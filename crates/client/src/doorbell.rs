//! Doorbells: what is rung when a job has ended.
//!
//! ```text
//! configuration, --on-end ──resolve──► commands in the spec ──► the keeper runs them
//!                                                                 │ webhook, desktop
//!                          a web server, a desktop ◄──ring── `outlive doorbell ring NAME`
//! ```
//!
//! A doorbell only says that there is something to hear; the inbox is the truth. So one that fails
//! is tried again by the keeper for a while and then given up, and one that rings twice does no harm:
//! every event has an id.
//!
//! | module | owns |
//! |---|---|
//! | `doorbell/event.rs` | what of an event a doorbell reads |
//! | `doorbell/webhook.rs` | posting it to a web server |
//! | `doorbell/signature.rs`, `doorbell/secret.rs` | proving to that server who posted it |
//! | `doorbell/trust.rs` | whom to believe that it is that server |
//! | `doorbell/desktop.rs` | showing it on this machine's desktop |
//! | `doorbell/program.rs` | running a command with it |
//! | `doorbell/error.rs` | why one did not ring |

mod desktop;
mod error;
mod event;
mod program;
mod secret;
mod signature;
mod trust;
mod webhook;
#[cfg(test)]
mod webhook_tests;

use crate::config::{Bell, Config, Kind};
use crate::error::Error;
use crate::moment;
use crate::outlive::Outlive;
pub use error::NotRung;
use event::Event;
pub use outlive_core::doorbell::{Doorbell, On};
use std::path::PathBuf;
use std::time::Duration;

/// What the doorbell of `run --on-end` is called.
pub const ON_END: &str = "on-end";
/// The largest event that is read.
pub const MAX_EVENT: u64 = 1 << 20;

/// What a program on this machine is given to ring.
const PATIENCE: Duration = Duration::from_secs(10);
const PROGRAM: &str = "outlive";

/// The commands that ring for a new job: the one given with `--on-end`, then what is configured.
pub fn resolve(
    outlive: &Outlive,
    config: &Config,
    on_end: Option<&str>,
) -> Result<Vec<Doorbell>, Error> {
    if let Some(command) = on_end.filter(|command| command.contains('\0')) {
        return Err(Error::Nul(command.to_owned()));
    }
    let given = on_end.map(|command| Doorbell {
        name: ON_END.to_owned(),
        argv: ["sh", "-c", command].map(Into::into).to_vec(),
        on: On::End,
    });
    let configured = config.doorbells.iter().map(|bell| {
        Ok(Doorbell {
            name: bell.name.to_string(),
            argv: match &bell.kind {
                Kind::Command(command) => ["sh", "-c", command.as_str()].map(Into::into).to_vec(),
                Kind::Webhook(_) | Kind::Desktop => vec![
                    own_program(outlive)?.into(),
                    "--home".into(),
                    outlive.home().root().to_owned().into(),
                    "doorbell".into(),
                    "ring".into(),
                    // A name may begin with a dash.
                    "--".into(),
                    bell.name.as_str().into(),
                ],
            },
            on: bell.on,
        })
    });
    given.map(Ok).into_iter().chain(configured).collect()
}

/// Where `outlive` is: this program, or for one that embeds it the program beside it, or whichever is
/// found when it is rung.
fn own_program(outlive: &Outlive) -> Result<PathBuf, Error> {
    let own = std::env::current_exe().map_err(Error::io("cannot find", "/proc/self/exe"))?;
    let beside = own.with_file_name(PROGRAM);
    Ok(match () {
        () if outlive.is_keeper && own.is_file() => own,
        // Also what replaced this program while it ran.
        () if beside.is_file() => beside,
        () => PathBuf::from(PROGRAM),
    })
}

/// Rings a configured doorbell once.
pub fn ring(config: &Config, name: &str, event_json: &[u8]) -> Result<(), Error> {
    let bell = config.doorbell(name).ok_or_else(|| no_such(config, name))?;
    ring_bell(bell, event_json).map_err(|why| Error::NotRung {
        name: name.to_owned(),
        why: Box::new(why),
    })
}

fn ring_bell(bell: &Bell, json: &[u8]) -> Result<(), NotRung> {
    let event = Event::parse(json)?;
    match &bell.kind {
        Kind::Webhook(webhook) => webhook::ring(webhook, &event, json),
        Kind::Desktop => desktop::ring(&event, PATIENCE),
        Kind::Command(command) => program::shell(command, json, PATIENCE),
    }
}

/// An event for trying a doorbell: like that of a job's end, of a job called `test`.
pub fn sample(name: &str) -> Vec<u8> {
    let now = moment::now().wall_ms;
    serde_json::json!({
        "event": format!("test:{now}"),
        "kind": "ended",
        "job": "test",
        "session": null,
        "at": outlive_core::words::timestamp(now),
        "data": { "test": true, "outcome": { "kind": "exited", "code": 0 }, "exit_code": 0 },
        "text": format!("A test of the doorbell {name}\nNo job has ended; somebody ran `outlive doorbell test`."),
    })
    .to_string()
    .into_bytes()
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
    use std::path::Path;

    fn resolved(text: &str, on_end: Option<&str>) -> Vec<Doorbell> {
        let outlive = Outlive::open(Some("/nonexistent/home".into())).expect("it need not exist");
        let config = Config::parse(Path::new("c.toml"), text).expect("is right");
        resolve(&outlive, &config, on_end).expect("resolves")
    }

    #[test]
    fn every_doorbell_becomes_a_command() {
        let text = r#"
            [[doorbell]]
            name = "-x"
            kind = "desktop"
            on = "failure"
            [[doorbell]]
            name = "mine"
            kind = "command"
            command = "cat > /tmp/x"
        "#;
        let bells = resolved(text, Some("date"));
        let words = |bell: &Doorbell| -> Vec<String> {
            bell.argv.iter().map(|word| word.lossy()).collect()
        };
        assert_eq!(bells[0].name, "on-end");
        assert_eq!(words(&bells[0]), ["sh", "-c", "date"]);
        let rest = [
            "--home",
            "/nonexistent/home",
            "doorbell",
            "ring",
            "--",
            "-x",
        ];
        assert_eq!(words(&bells[1])[1..], rest);
        assert_eq!((bells[1].name.as_str(), bells[1].on), ("-x", On::Failure));
        assert_eq!(words(&bells[2]), ["sh", "-c", "cat > /tmp/x"]);
        assert_eq!(bells[2].on, On::End);
    }

    #[test]
    fn nothing_asked_is_nothing_rung() {
        assert_eq!(resolved("", None), []);
    }

    #[test]
    fn the_sample_is_an_event() {
        let sample = sample("ops");
        let event = Event::parse(&sample).expect("is one");
        assert!(event.id.starts_with("test:"), "{event:?}");
        assert!(event.text.contains("ops"), "{event:?}");
    }
}
