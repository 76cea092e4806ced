//! The keys of `[place.NAME]` for places that can only run one command and return its text.

use super::bells;
use super::error::{BadConfig, ValueError};
use super::section::Section;
use crate::places::{Calls, Secrets};
use outlive_core::place::Address;
use std::time::Duration;

/// Longer answers would not be kept there until they are fetched.
const ANSWERS: (u64, u64) = (1024, 256 * 1024);
const ANSWERS_AS_TEXT: (&str, &str) = ("1K", "256K");

const LONGEST_PATIENCE: Duration = Duration::from_secs(10 * 60);

pub fn read(section: &mut Section<'_>, address: &Address) -> Result<Calls, BadConfig> {
    if !address.is_one_shot() {
        for key in [
            "answer",
            "patience",
            "listen",
            "secrets",
            "token_env",
            "token_file",
        ] {
            section.refuse(key, || ValueError::NoCalls)?;
        }
        return Ok(Calls::default());
    }
    let usual = Calls::default();
    let mut answer = usual.answer as u64;
    section.limited_size("answer", &mut answer, ANSWERS, ANSWERS_AS_TEXT)?;
    let mut patience = Duration::ZERO;
    let is_given = section.has("patience");
    if is_given {
        section.limited_duration("patience", &mut patience, LONGEST_PATIENCE)?;
    }
    let listen = section.flag("listen")?.unwrap_or(usual.listen);
    let secrets = section.text("secrets", |text| match (text, address) {
        ("argv", _) => Ok(Secrets::Argv),
        ("stdin", Address::Text(_)) => Ok(Secrets::Stdin),
        _ => Err(ValueError::NoChoice {
            found: text.to_owned(),
            choices: match address {
                Address::Text(_) => "argv, stdin",
                _ => "argv",
            },
        }),
    })?;
    let token = match address {
        Address::Swerex(_) => bells::secret(section, "token_env", "token_file")?,
        _ => {
            for key in ["token_env", "token_file"] {
                section.refuse(key, || ValueError::OtherKind("swerex:"))?;
            }
            None
        }
    };
    Ok(Calls {
        answer: answer as usize,
        patience: is_given.then_some(patience),
        listen,
        secrets,
        token,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use crate::config::{Config, Secret};
    use std::path::Path;

    fn calls(lines: &str) -> Result<Calls, String> {
        let text = format!("[place.p]\n{lines}");
        let config = Config::parse(Path::new("/c.toml"), &text);
        let config = config.map_err(|error| error.to_string())?;
        Ok(config.places["p"].settings.calls.clone())
    }

    #[test]
    fn every_key_can_be_set() {
        assert_eq!(calls("at = \"text:sh -c\"").unwrap(), Calls::default());
        let swerex = calls(
            "at = \"swerex:http://h:8000\"\nanswer = \"64K\"\npatience = \"5s\"\nlisten = false\n\
             secrets = \"argv\"\ntoken_env = \"REX\"",
        );
        let expected = Calls {
            answer: 64 * 1024,
            patience: Some(Duration::from_secs(5)),
            listen: false,
            secrets: Some(Secrets::Argv),
            token: Some(Secret::Variable("REX".to_owned())),
        };
        assert_eq!(swerex.unwrap(), expected);
        let stdin = calls("at = \"text:docker exec -i w sh -c\"\nsecrets = \"stdin\"").unwrap();
        assert_eq!(stdin.secrets, Some(Secrets::Stdin));
    }

    #[test]
    fn errors_say_what_to_write() {
        for (lines, words) in [
            (
                "at = \"ssh:h\"\nanswer = \"1M\"",
                "c.toml:3: place.p.answer: only places that can",
            ),
            (
                "at = \"cmd:sh\"\nlisten = false",
                "(text:, swerex:, caller:)",
            ),
            ("at = \"text:x\"\nanswer = 10", "must be from 1K to 256K"),
            (
                "at = \"text:x\"\nanswer = \"1M\"",
                "must be from 1K to 256K",
            ),
            ("at = \"text:x\"\npatience = 0", "must be longer than 0"),
            (
                "at = \"text:x\"\nsecrets = \"yes\"",
                "\"yes\" is not one of argv, stdin",
            ),
            (
                "at = \"caller:x\"\nsecrets = \"stdin\"",
                "\"stdin\" is not one of argv",
            ),
            (
                "at = \"text:x\"\ntoken_env = \"A\"",
                "only swerex: places have this",
            ),
            (
                "at = \"swerex:http://h\"\ntoken_env = \"A\"\ntoken_file = \"/f\"",
                "token_env is set as well",
            ),
            ("at = \"text:'\"", "a quote is not closed"),
        ] {
            let error = calls(lines).unwrap_err();
            assert!(error.contains(words), "{words:?} is not in {error:?}");
        }
    }
}
