//! Changes the configuration file as a text, so that comments and the order of keys stay.
//!
//! A table is added at the end, and a table that stands by itself is removed with its lines. Whatever is written, the
//! new text is read first: everything but this place must be as it was. So a file that is written in another way is
//! refused, and not damaged.

use crate::config::Config;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::random;
use etcetera::BaseStrategy;
use outlive_sys::lock::{self, Lock, LockResult};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use toml::de::DeTable;

use super::AddPlace;

/// The configuration file that is being changed. Another process that wants to change it waits.
#[derive(Debug)]
pub struct Draft {
    /// The file as it is named.
    pub file: PathBuf,
    pub config: Config,
    text: String,
    _lock: Lock,
}

impl Draft {
    /// Reads the file that is in use, else the user's own, which may not exist yet.
    pub fn open(outlive: &Outlive) -> Result<Draft, Error> {
        let _lock = take_lock(outlive)?;
        let config = outlive.config()?;
        let file = match &config.file {
            Some(file) => file.clone(),
            None => usual_file(outlive),
        };
        let text = match &config.file {
            Some(file) => fs::read_to_string(file).map_err(Error::io("cannot read", file))?,
            None => String::new(),
        };
        Ok(Draft {
            file,
            config,
            text,
            _lock,
        })
    }

    /// Removes the table of a place, if there is one.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        if !self.config.places.contains_key(name) {
            return Ok(());
        }
        let mut text = self.text.clone();
        while let Some(lines) = find(&text, name) {
            text.replace_range(lines, "");
        }
        let mut expected = self.config.clone();
        expected.places.remove(name);
        self.accept(text, expected, name)
    }

    /// Adds the table of a place that has none.
    pub fn add(&mut self, place: &AddPlace) -> Result<(), Error> {
        let mut text = self.text.clone();
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(&table(place));
        // By itself, the table may name no other place.
        let alone = AddPlace {
            via: None,
            ..place.clone()
        };
        let mut alone = Config::parse(&self.file, &table(&alone))?.places;
        if let Some(added) = alone.get_mut(&place.name) {
            added.settings.via.clone_from(&place.via);
        }
        let mut expected = self.config.clone();
        expected.places.extend(alone);
        self.accept(text, expected, &place.name)
    }

    fn accept(&mut self, text: String, mut expected: Config, name: &str) -> Result<(), Error> {
        expected.file = Some(self.file.clone());
        match Config::parse(&self.file, &text) {
            Ok(config) if config == expected => {
                self.config = config;
                self.text = text;
                Ok(())
            }
            _ => Err(PlaceError::NotEdited {
                file: self.file.clone(),
                name: name.to_owned(),
            }
            .into()),
        }
    }

    /// Replaces the file in one step. Its mode stays, and so does a link to it.
    pub fn write(self) -> Result<(), Error> {
        let real = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let written = || -> io::Result<()> {
            if let Some(directory) = real.parent() {
                fs::create_dir_all(directory)?;
            }
            let token = random::token().map_err(io::Error::other)?;
            let new = real.with_file_name(format!(".config.{token}"));
            // Values of variables may be secrets.
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&new)?;
            let replaced = write_all(&mut file, &self.text, &real);
            let replaced = replaced.and_then(|()| fs::rename(&new, &real));
            if replaced.is_err() {
                let _ = fs::remove_file(&new);
            }
            replaced
        };
        written().map_err(Error::io("cannot write", &self.file))
    }
}

fn write_all(file: &mut File, text: &str, like: &Path) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Ok(found) = fs::metadata(like) {
        file.set_permissions(found.permissions())?;
    }
    file.sync_all()
}

fn usual_file(outlive: &Outlive) -> PathBuf {
    match etcetera::choose_base_strategy() {
        Ok(strategy) => strategy.config_dir().join("outlive/config.toml"),
        Err(_) => outlive.home().root().join("config.toml"),
    }
}

/// Of this home. Two homes that share a file are changed by one person, one after the other.
fn take_lock(outlive: &Outlive) -> Result<Lock, Error> {
    outlive.prepare()?;
    let places = outlive.home().places();
    crate::home::outlive::make_private(&places)?;
    let path = places.join(".configuration");
    loop {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path);
        let taken = file.and_then(lock::take);
        match taken.map_err(Error::io("cannot lock", &path))? {
            LockResult::Acquired(lock) => return Ok(lock),
            // It is held while a small file is written.
            LockResult::Held => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// The lines of the first table of this place, with the empty line above them.
fn find(text: &str, name: &str) -> Option<Range<usize>> {
    let mut at = 0;
    let mut table: Option<Range<usize>> = None;
    let mut blank = None;
    for line in text.split_inclusive('\n') {
        let here = at..at + line.len();
        at = here.end;
        let trimmed = line.trim();
        match (&mut table, trimmed) {
            (None, _) if is_header_of(trimmed, name) => {
                table = Some(blank.take().unwrap_or(here.start)..here.end);
            }
            (None, "") => blank = Some(here.start),
            (None, _) => blank = None,
            (Some(_), _) if is_header(trimmed) => break,
            // A comment above the next table belongs to that one.
            (Some(_), comment) if comment.is_empty() || comment.starts_with('#') => {}
            (Some(table), _) => table.end = here.end,
        }
    }
    table
}

fn is_header(line: &str) -> bool {
    line.starts_with('[') && DeTable::parse(line).is_ok()
}

/// Whether a line begins the table `[place.NAME]` or one within it.
fn is_header_of(line: &str, name: &str) -> bool {
    if !line.starts_with('[') || line.starts_with("[[") {
        return false;
    }
    let Ok(parsed) = DeTable::parse(line) else {
        return false;
    };
    let place = parsed.get_ref().get("place");
    let named = place.and_then(|place| place.get_ref().as_table()?.get(name));
    named.is_some()
}

/// The table of a place.
fn table(place: &AddPlace) -> String {
    let mut text = format!("[place.{}]\n", key(&place.name));
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key} = {value}");
    };
    line("at", &quoted(&place.address));
    let texts = [
        ("via", &place.via),
        ("cwd", &place.cwd),
        ("home", &place.home),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            line(name, &quoted(value));
        }
    }
    if place.login {
        line("login", "true");
    }
    if !place.env.is_empty() {
        let pairs = place.env.iter();
        let pairs = pairs.map(|(name, value)| format!("{} = {}", key(name), quoted(value)));
        let pairs: Vec<String> = pairs.collect();
        line("env", &format!("{{ {} }}", pairs.join(", ")));
    }
    if let Some(fetch) = place.fetch {
        line("fetch", &quoted(fetch.as_str()));
    }
    if let Some(reach) = place.reach {
        let reach = match reach.subsec_nanos() {
            0 => format!("{}s", reach.as_secs()),
            _ => format!("{}ms", reach.as_millis().max(1)),
        };
        line("reach", &quoted(&reach));
    }
    text
}

/// A key, quoted if it must be.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match !name.is_empty() && name.bytes().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
