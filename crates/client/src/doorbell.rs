//! Turns configured doorbells into the commands that a job's keeper runs.
//!
//! ```text
//! configuration, --on-end ──resolve──► commands in the spec ──► the keeper runs them
//!                                                                 │ webhook, desktop
//!                          a web server, a desktop ◄──ring── `outlive doorbell ring NAME`
//! ```
//!
//! This module does not ring. The crate `outlive-doorbell` does, so that a program which only starts jobs
//! does not link a TLS library.

use crate::config::{Bell, Config, Kind};
use crate::error::Error;
use crate::home::outlive::Outlive;
use outlive_core::defaults::{DOORBELL_TIMEOUT, milliseconds};
pub use outlive_core::doorbell::{Doorbell, RingsOn};
use outlive_core::os_text::OsText;
use std::path::PathBuf;

/// The name of the doorbell that `run --on-end` adds.
pub const ON_END: &str = "on-end";

const PROGRAM: &str = "outlive";

/// The commands that ring for a new job: the one from `--on-end`, then the configured ones.
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
        on: RingsOn::End,
        timeout_ms: milliseconds(DOORBELL_TIMEOUT),
    });
    let configured = config.doorbells.iter().map(|bell| {
        Ok(Doorbell {
            name: bell.name.to_string(),
            argv: ring_it(outlive, bell)?,
            on: bell.on,
            timeout_ms: bell.patience().as_millis() as u64,
        })
    });
    given.map(Ok).into_iter().chain(configured).collect()
}

/// This program's own command for ringing a configured doorbell.
fn ring_it(outlive: &Outlive, bell: &Bell) -> Result<Vec<OsText>, Error> {
    let mut argv: Vec<OsText> = vec![
        own_program(outlive)?.into(),
        "--home".into(),
        outlive.home().root().to_owned().into(),
        "doorbell".into(),
        "ring".into(),
    ];
    if let Kind::Command(command) = &bell.kind {
        // Use the home of this start, whatever the configuration says later.
        argv.push(format!("--command={command}").as_str().into());
    }
    // A name may begin with a dash.
    argv.extend(["--".into(), bell.name.as_str().into()]);
    Ok(argv)
}

/// The path of `outlive`: this program, or the one beside a program that embeds the library, or the one
/// found on the PATH when it rings.
pub(crate) fn own_program(outlive: &Outlive) -> Result<PathBuf, Error> {
    let own = std::env::current_exe().map_err(Error::io("cannot find", "/proc/self/exe"))?;
    let beside = own.with_file_name(PROGRAM);
    Ok(match () {
        () if outlive.is_keeper && own.is_file() => own,
        // This also handles a program that was replaced while it ran.
        () if beside.is_file() => beside,
        () => PathBuf::from(PROGRAM),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn resolved(text: &str, on_end: Option<&str>) -> Vec<Doorbell> {
        let outlive = Outlive::open_at("/nonexistent/home").expect("it need not exist");
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
            timeout = "2m"
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
        assert_eq!(
            (bells[1].name.as_str(), bells[1].on),
            ("-x", RingsOn::Failure)
        );
        let rest = ["ring", "--command=cat > /tmp/x", "--", "mine"];
        assert_eq!(words(&bells[2])[4..], rest);
        assert_eq!((bells[2].on, bells[2].timeout_ms), (RingsOn::End, 120_000));
        assert_eq!(bells[1].timeout_ms, milliseconds(DOORBELL_TIMEOUT));
    }

    /// A keeper does not kill a webhook that may still answer.
    #[test]
    fn a_slow_webhook_gets_its_full_time() {
        let bell = "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"http://a\"\n";
        let time = |rest: &str| resolved(&format!("{bell}{rest}"), None)[0].timeout_ms;
        assert_eq!(time(""), 60_000);
        assert_eq!(time("timeout = \"2m\""), 125_000);
    }

    #[test]
    fn without_doorbells_nothing_rings() {
        assert_eq!(resolved("", None), []);
    }
}
