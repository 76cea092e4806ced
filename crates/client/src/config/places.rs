//! `[place.NAME]`: places that have a name, and how jobs run there.

use super::error::{BadConfig, ValueError};
use super::section::Section;
use crate::places::{Place, Settings};
use outlive_api::place::Fetch;
use outlive_core::place::{Address, PlaceName};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Every place of the file, by its name.
pub fn read(top: &mut Section<'_>) -> Result<BTreeMap<String, Place>, BadConfig> {
    let tables = top.tables("place", check_name)?;
    let via = |section: &Section<'_>| section.peek("via").map(str::to_owned);
    let ways = tables.iter();
    let ways: BTreeMap<String, Option<String>> = ways
        .map(|(name, section)| (name.clone(), via(section)))
        .collect();
    let mut places = BTreeMap::new();
    for (name, mut section) in tables {
        let place = place(&name, &mut section, &ways)?;
        section.finish()?;
        places.insert(name, place);
    }
    Ok(places)
}

fn place(
    name: &str,
    section: &mut Section<'_>,
    ways: &BTreeMap<String, Option<String>>,
) -> Result<Place, BadConfig> {
    let mut settings = Settings::default();
    let address = section.needed_text("at", "at = \"ssh:host\"", address)?;
    let via = section.text("via", |via| {
        check_via(name, via, |name| ways.get(name).cloned()).map(|()| via.to_owned())
    })?;
    settings.via = via;
    settings.cwd = section.text("cwd", working_directory)?;
    settings.home = section.text("home", directory)?;
    settings.far_dir = section.text("far_dir", directory)?;
    settings.login = section.flag("login")?.unwrap_or_default();
    if let Some(variables) = section.section("env")? {
        settings.env = variables.pairs(check_variable)?;
    }
    settings.fetch = section.text("fetch", fetch)?;
    section.positive_duration("reach", &mut settings.reach)?;
    Ok(Place {
        name: name.to_owned(),
        address,
        settings,
    })
}

fn fetch(text: &str) -> Result<Fetch, ValueError> {
    match text {
        "end" => Ok(Fetch::End),
        "never" => Ok(Fetch::Never),
        _ => Err(ValueError::NoChoice {
            found: text.to_owned(),
            choices: "end, never",
        }),
    }
}

/// Whether the place of this name can be reached through that one. `way` tells of each configured place through which
/// one it is reached.
pub fn check_via(
    name: &str,
    via: &str,
    way: impl Fn(&str) -> Option<Option<String>>,
) -> Result<(), ValueError> {
    let mut passed = vec![name.to_owned()];
    let mut next = Some(via.to_owned());
    while let Some(at) = next {
        if passed.contains(&at) {
            return Err(ValueError::ViaItself(via.to_owned()));
        }
        next = way(&at).ok_or_else(|| ValueError::NoSuchVia(at.clone()))?;
        passed.push(at);
    }
    Ok(())
}

/// Whether a place can have this name. It must not look like an address, and `local` is this machine.
pub fn check_name(name: &str) -> Result<(), ValueError> {
    match PlaceName::parse(name) {
        Ok(PlaceName::Named(_)) => Ok(()),
        Ok(PlaceName::Local) => Err(ValueError::LocalPlace),
        Ok(PlaceName::At(_)) | Err(_) => Err(ValueError::NotPlaceName(name.to_owned())),
    }
}

/// The address of a place with a name.
pub fn address(text: &str) -> Result<Address, ValueError> {
    match PlaceName::parse(text) {
        Ok(PlaceName::At(Address::Command(words))) if shlex::split(&words).is_none() => {
            Err(ValueError::OpenQuote)
        }
        Ok(PlaceName::At(address)) => Ok(address),
        Ok(PlaceName::Local | PlaceName::Named(_)) => Err(ValueError::NotAddress(text.to_owned())),
        Err(why) => Err(ValueError::Place(why)),
    }
}

/// A directory there: absolute, or below the home directory of the user.
pub fn directory(text: &str) -> Result<PathBuf, ValueError> {
    let path = PathBuf::from(text);
    match (path.is_absolute() || text.starts_with("~/")) && !text.contains('\0') {
        true => Ok(path),
        false => Err(ValueError::NotFarDirectory(path)),
    }
}

/// The directory of jobs. A relative one is below the login directory, which is what `~` means.
pub fn working_directory(text: &str) -> Result<PathBuf, ValueError> {
    let path = match text.strip_prefix('~') {
        Some("") => ".",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => text,
    };
    match path.is_empty() || path.contains('\0') {
        true => Err(ValueError::NotFarDirectory(PathBuf::from(text))),
        false => Ok(PathBuf::from(path)),
    }
}

/// Whether a variable can be set to this value. The value may be a secret, so no error shows it.
pub fn check_variable(name: &str, value: &str) -> Result<(), ValueError> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    match is_name && !value.contains('\0') {
        true => Ok(()),
        false => Err(ValueError::BadVariable(name.to_owned())),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use crate::config::Config;
    use outlive_api::place::Fetch;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("/c.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_can_be_set() {
        let config = parse(
            r#"
            [place.gpu]
            at = "ssh:me@gpu1:2222"
            cwd = "/data/proj"
            home = "~/jobs"
            far_dir = "/opt/me"
            login = true
            env = { CUDA_VISIBLE_DEVICES = "0", A = "" }
            reach = "5s"
            fetch = "end"
            [place.box]
            at = "cmd:nsenter -t 1 -m sh"
            [place.inner]
            at = "docker:web?user=me"
            via = "gpu"
            fetch = "never"
            "#,
        )
        .unwrap();
        let gpu = &config.places["gpu"];
        assert_eq!(
            (gpu.name.as_str(), gpu.address.to_string()),
            ("gpu", "ssh:me@gpu1:2222".into())
        );
        let settings = &gpu.settings;
        assert_eq!(settings.cwd, Some(PathBuf::from("/data/proj")));
        assert_eq!(settings.home, Some(PathBuf::from("~/jobs")));
        assert_eq!(settings.far_dir, Some(PathBuf::from("/opt/me")));
        assert!(settings.login);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            settings.env,
            [pair("A", ""), pair("CUDA_VISIBLE_DEVICES", "0")]
        );
        assert_eq!(settings.reach, Duration::from_secs(5));
        assert_eq!(settings.fetch, Some(Fetch::End));
        assert_eq!(config.places["box"].settings, super::Settings::default());
        let inner = &config.places["inner"].settings;
        let expected = (Some("gpu"), Some(Fetch::Never));
        assert_eq!((inner.via.as_deref(), inner.fetch), expected);
    }

    /// The home directory there is not known here, but it is where a login begins.
    #[test]
    fn a_working_directory_may_be_below_the_login_directory() {
        for (written, meant) in [
            ("~", "."),
            ("~/a", "a"),
            ("a/b", "a/b"),
            ("/x", "/x"),
            ("~x", "~x"),
        ] {
            let config = parse(&format!("[place.p]\nat = \"ssh:h\"\ncwd = \"{written}\"")).unwrap();
            assert_eq!(
                config.places["p"].settings.cwd,
                Some(PathBuf::from(meant)),
                "{written}"
            );
        }
    }

    #[test]
    fn errors_name_the_line_the_key_and_what_to_write() {
        for (text, words) in [
            (
                "[place.p]\ncwd = \"/\"",
                "c.toml:1: place.p.at: missing; add at = \"ssh:host\"",
            ),
            (
                "[place.p]\nat = \"gpu\"",
                "place.p.at: \"gpu\" is not an address; write \"ssh:HOST\"",
            ),
            ("[place.p]\nat = \"local\"", "is not an address"),
            ("[place.p]\nat = \"ssh:-x\"", "it begins with a hyphen"),
            ("[place.p]\nat = \"lxd:x\"", "no kind of place"),
            (
                "[place.p]\nat = \"docker:-x\"",
                "\"-x\" is no name of a container: it begins with a hyphen",
            ),
            ("[place.p]\nat = \"cmd:a 'b\"", "a quote is not closed"),
            ("[place.local]\nat = \"ssh:h\"", "\"local\" is this machine"),
            (
                "[place.\"a:b\"]\nat = \"ssh:h\"",
                "\"a:b\" cannot be the name of a place",
            ),
            (
                "[place]\nx = 1",
                "c.toml:2: place.x: expected a table, found a number",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nvia = \"b\"",
                "c.toml:3: place.p.via: no place \"b\" is configured to go through",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nvia = \"p\"",
                "the way through \"p\" leads back to this place",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nvia = \"q\"\n[place.q]\nat = \"ssh:h\"\nvia = \"p\"",
                "leads back to this place",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nfetch = \"always\"",
                "place.p.fetch: \"always\" is not one of end, never",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nhome = \"jobs\"",
                "place.p.home: \"jobs\" is not a directory",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nlogin = \"yes\"",
                "place.p.login: expected true or false",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nenv = { A = 1 }",
                "place.p.env.A: expected a text in quotes, found a number",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nenv = { \"A=\" = \"s3cret\" }",
                "the variable \"A=\" cannot be set",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nreach = 0",
                "must be longer than 0",
            ),
            (
                "[place.p]\nat = \"ssh:h\"\nport = 22",
                "no key \"place.p.port\"; the keys here are at, via, cwd",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{words:?} is not in {error:?}");
            assert!(!error.contains("s3cret"));
        }
    }
}
