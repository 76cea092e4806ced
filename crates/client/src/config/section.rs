//! Reads one table of the file: each key is read once, and a key that nobody reads is unknown.

use super::error::{BadConfig, ValueError};
use outlive_core::units;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table that is being read.
#[derive(Debug)]
pub struct Section<'a> {
    file: &'a Path,
    text: &'a str,
    /// What precedes its keys in errors: nothing, or for example `inbox.`.
    prefix: String,
    /// Where it begins.
    at: usize,
    /// The keys that were not read yet.
    left: DeTable<'a>,
    /// The keys that were read.
    asked: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// Parses the whole file.
    pub fn parse(file: &'a Path, text: &'a str) -> Result<Section<'a>, BadConfig> {
        let table = DeTable::parse(text).map_err(|error| BadConfig::Syntax {
            file: file.to_owned(),
            line: line(text, error.span().map_or(0, |span| span.start)),
            message: error.message().replace('\n', "; "),
        })?;
        Ok(Section {
            file,
            text,
            prefix: String::new(),
            at: 0,
            left: table.into_inner(),
            asked: Vec::new(),
        })
    }

    /// `[key]`
    pub fn section(&mut self, key: &'static str) -> Result<Option<Section<'a>>, BadConfig> {
        let Some((at, value)) = self.take(key) else {
            return Ok(None);
        };
        self.inner(key, at, value).map(Some)
    }

    /// `[[key]]`, each
    pub fn sections(&mut self, key: &'static str) -> Result<Vec<Section<'a>>, BadConfig> {
        let Some((at, value)) = self.take(key) else {
            return Ok(Vec::new());
        };
        let DeValue::Array(tables) = value else {
            return Err(self.wrong_at(at.start, key, ValueError::NotTables(key)));
        };
        tables
            .into_iter()
            .map(|table| {
                let at = table.span();
                self.inner(key, at, table.into_inner())
            })
            .collect()
    }

    /// `[key.NAME]`, each with its name, which `check` may refuse.
    pub fn tables(
        &mut self,
        key: &'static str,
        check: impl Fn(&str) -> Result<(), ValueError>,
    ) -> Result<Vec<(String, Section<'a>)>, BadConfig> {
        let Some(named) = self.section(key)? else {
            return Ok(Vec::new());
        };
        let mut tables = Vec::new();
        for (name, table) in named.left.iter() {
            let (at, name) = (name.span().start, name.get_ref());
            check(name).map_err(|why| named.wrong_at(at, name, why))?;
            let table_at = table.span();
            let inner = match table.get_ref() {
                DeValue::Table(_) => named.inner("NAME", table_at, table.get_ref().clone())?,
                other => {
                    let (key, found) = ("place.NAME", self::name(other));
                    return Err(named.wrong_at(at, name, ValueError::NotTable { key, found }));
                }
            };
            let prefix = format!("{}{name}.", named.prefix);
            tables.push((name.to_string(), Section { prefix, ..inner }));
        }
        Ok(tables)
    }

    /// All keys of this table with their texts, each of which `check` may refuse.
    pub fn pairs(
        self,
        check: impl Fn(&str, &str) -> Result<(), ValueError>,
    ) -> Result<Vec<(String, String)>, BadConfig> {
        let mut pairs = Vec::new();
        for (key, value) in self.left.iter() {
            let at = value.span().start;
            let text = match value.get_ref() {
                DeValue::String(text) => text,
                other => {
                    let why = ValueError::NotText(name(other));
                    return Err(self.wrong_at(at, key.get_ref(), why));
                }
            };
            check(key.get_ref(), text).map_err(|why| self.wrong_at(at, key.get_ref(), why))?;
            pairs.push((key.get_ref().to_string(), text.to_string()));
        }
        Ok(pairs)
    }

    fn inner(
        &self,
        key: &'static str,
        at: Range<usize>,
        value: DeValue<'a>,
    ) -> Result<Section<'a>, BadConfig> {
        match value {
            DeValue::Table(left) => Ok(Section {
                file: self.file,
                text: self.text,
                prefix: format!("{}{key}.", self.prefix),
                at: at.start,
                left,
                asked: Vec::new(),
            }),
            other => {
                let found = name(&other);
                Err(self.wrong_at(at.start, key, ValueError::NotTable { key, found }))
            }
        }
    }

    /// Replaces `duration` by the value of the key, if it is present.
    pub fn duration(
        &mut self,
        key: &'static str,
        duration: &mut Duration,
    ) -> Result<(), BadConfig> {
        let read = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Ok(units::parse_duration(text)?),
            // A bare number means seconds here, as everywhere.
            DeValue::Integer(number) => Ok(units::parse_duration(&number.to_string())?),
            other => Err(ValueError::NotDuration(name(other))),
        };
        if let Some(given) = self.value(key, read)? {
            *duration = given;
        }
        Ok(())
    }

    /// Like [`duration`](Section::duration), but zero is refused.
    pub fn positive_duration(
        &mut self,
        key: &'static str,
        duration: &mut Duration,
    ) -> Result<(), BadConfig> {
        let at = self.place(key);
        self.duration(key, duration)?;
        match duration.is_zero() {
            true => Err(self.wrong_at(at, key, ValueError::NoTime)),
            false => Ok(()),
        }
    }

    /// Like [`positive_duration`](Section::positive_duration), with an upper limit.
    pub fn limited_duration(
        &mut self,
        key: &'static str,
        duration: &mut Duration,
        most: Duration,
    ) -> Result<(), BadConfig> {
        let at = self.place(key);
        self.positive_duration(key, duration)?;
        match *duration > most {
            true => Err(self.wrong_at(at, key, ValueError::TooLong(most))),
            false => Ok(()),
        }
    }

    /// Replaces `count` by the value of the key, if it is present.
    pub fn count(&mut self, key: &'static str, count: &mut u32) -> Result<(), BadConfig> {
        let read = |value: &DeValue<'_>| {
            value
                .as_integer()
                .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok())
                .filter(|number| *number > 0)
                .ok_or(ValueError::NotCount)
        };
        if let Some(given) = self.value(key, read)? {
            *count = given;
        }
        Ok(())
    }

    /// Like [`count`](Section::count), but zero is allowed.
    pub fn number(&mut self, key: &'static str, number: &mut u32) -> Result<(), BadConfig> {
        let read = |value: &DeValue<'_>| {
            value
                .as_integer()
                .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok())
                .ok_or(ValueError::NotNumber)
        };
        if let Some(given) = self.value(key, read)? {
            *number = given;
        }
        Ok(())
    }

    /// Replaces `size` by the value of the key in bytes, if it is present.
    pub fn size(&mut self, key: &'static str, size: &mut u64) -> Result<(), BadConfig> {
        let read = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Ok(units::parse_size(text)?),
            DeValue::Integer(number) => Ok(units::parse_size(&number.to_string())?),
            other => Err(ValueError::NotSize(name(other))),
        };
        if let Some(given) = self.value(key, read)? {
            *size = given;
        }
        Ok(())
    }

    /// `true` or `false`
    pub fn flag(&mut self, key: &'static str) -> Result<Option<bool>, BadConfig> {
        self.value(key, |value| match value {
            DeValue::Boolean(flag) => Ok(*flag),
            other => Err(ValueError::NotFlag(name(other))),
        })
    }

    /// Parses each text of a list with `read`. One text is a list of one.
    pub fn texts<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, ValueError>,
    ) -> Result<Vec<T>, BadConfig> {
        Ok(self.texts_if_given(key, read)?.unwrap_or_default())
    }

    /// The same; `None` if the key is not there.
    pub fn texts_if_given<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, ValueError>,
    ) -> Result<Option<Vec<T>>, BadConfig> {
        let one = |value: &DeValue<'_>| match value {
            DeValue::String(text) => read(text),
            other => Err(ValueError::NotText(name(other))),
        };
        let read = |value: &DeValue<'_>| match value {
            DeValue::Array(items) => items.iter().map(|item| one(item.get_ref())).collect(),
            other => one(other).map(|one| vec![one]),
        };
        self.value(key, read)
    }

    /// Parses the text of a key with `read`.
    pub fn text<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, ValueError>,
    ) -> Result<Option<T>, BadConfig> {
        self.value(key, |value| match value {
            DeValue::String(text) => read(text),
            other => Err(ValueError::NotText(name(other))),
        })
    }

    /// Like [`text`](Section::text), for a key that must be present.
    pub fn needed_text<T>(
        &mut self,
        key: &'static str,
        example: &'static str,
        read: impl FnOnce(&str) -> Result<T, ValueError>,
    ) -> Result<T, BadConfig> {
        let given = self.text(key, read)?;
        given.ok_or_else(|| self.wrong_at(self.at, key, ValueError::Missing(example)))
    }

    /// The text of a key that is read later.
    pub fn peek(&self, key: &str) -> Option<&str> {
        match self.left.get(key)?.get_ref() {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    fn value<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'a>) -> Result<T, ValueError>,
    ) -> Result<Option<T>, BadConfig> {
        let Some((at, value)) = self.take(key) else {
            return Ok(None);
        };
        match read(&value) {
            Ok(given) => Ok(Some(given)),
            Err(why) => Err(self.wrong_at(at.start, key, why)),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<(Range<usize>, DeValue<'a>)> {
        self.asked.push(key);
        let value = self.left.remove(key)?;
        Some((value.span(), value.into_inner()))
    }

    /// The position of a key's value, or of the section if the key is missing.
    fn place(&self, key: &str) -> usize {
        let value = self.left.get(key);
        value.map_or(self.at, |value| value.span().start)
    }

    fn wrong_at(&self, at: usize, key: &str, why: ValueError) -> BadConfig {
        BadConfig::Wrong {
            file: self.file.to_owned(),
            line: line(self.text, at),
            key: format!("{}{key}", self.prefix),
            why,
        }
    }

    /// Refuses the keys that were not read.
    pub fn finish(self) -> Result<(), BadConfig> {
        let unknown: Option<&Spanned<Cow<'_, str>>> =
            self.left.keys().min_by_key(|key| key.span().start);
        match unknown {
            None => Ok(()),
            Some(key) => Err(BadConfig::UnknownKey {
                file: self.file.to_owned(),
                line: line(self.text, key.span().start),
                key: format!("{}{}", self.prefix, key.get_ref()),
                known: self.asked,
            }),
        }
    }
}

/// Lines count from 1.
fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The type of a value, for people.
fn name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
