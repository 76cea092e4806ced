//! Reads a part of a request whose type is also stored in job directories.
//!
//! A stored value may have been written by a newer version, so these types ignore keys that they do not know. In a
//! request such a key is a mistake of the caller.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// For `#[serde(deserialize_with)]`: refuses keys that the type does not know.
pub fn read<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Serialize + DeserializeOwned,
{
    let given = Value::deserialize(from)?;
    let value: T = serde_json::from_value(given.clone()).map_err(Error::custom)?;
    let known = serde_json::to_value(&value).map_err(Error::custom)?;
    match unknown(&given, &known) {
        Some(key) => Err(Error::custom(format!("unknown field `{key}`"))),
        None => Ok(value),
    }
}

/// A key that was given and is not part of what was read. A null may be left out.
fn unknown<'a>(given: &'a Value, known: &Value) -> Option<&'a str> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given.iter().find_map(|(key, value)| match known.get(key) {
                Some(known) => unknown(value, known),
                None => (!value.is_null()).then_some(key.as_str()),
            })
        }
        (Value::Array(given), Value::Array(known)) => {
            let mut pairs = given.iter().zip(known);
            pairs.find_map(|(given, known)| unknown(given, known))
        }
        _ => None,
    }
}
