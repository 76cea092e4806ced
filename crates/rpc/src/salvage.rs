//! The id of a message that cannot be read, so that its sender learns which one it was.

use outlive_api::rpc::{MAX_ID, RequestId};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// The `id` in these bytes, if it comes before what is wrong with them.
pub fn id_in(bytes: &[u8]) -> Option<RequestId> {
    let mut found = None;
    let mut from = serde_json::Deserializer::from_slice(bytes);
    // What is wrong is reported by somebody else.
    let _ = Header(&mut found).deserialize(&mut from);
    found
}

/// The id in this value, if it is one.
pub fn id_of(value: &Value) -> Option<RequestId> {
    let id = RequestId::deserialize(value).ok()?;
    match &id {
        RequestId::Text(text) if text.len() > MAX_ID => None,
        _ => Some(id),
    }
}

/// Notes the id when it comes by.
struct Header<'a>(&'a mut Option<RequestId>);

impl<'de> DeserializeSeed<'de> for Header<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Header<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => *self.0 = id_of(&map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_before_what_is_wrong() {
        let number = Some(RequestId::Number(3));
        let text = Some(RequestId::Text("a".to_owned()));
        for (bytes, id) in [
            (&br#"{"id":3,"verb":"#[..], &number),
            (br#"{"id":3,"verb":nonsense}"#, &number),
            (b"{\"id\":3,\"verb\":\"\xff\"}", &number),
            (b"{\"verb\":\"\xff\",\"id\":3}", &number),
            (br#"{"verb":"\ud800","id":3}"#, &number),
            (br#"{"id":"a","request":[[["#, &text),
            (br#"{"request":{"id":4},"id":3}"#, &number),
            (br#"{"verb":nonsense,"id":3}"#, &None),
            (br#"{"id":{"a":1},"verb":"x"}"#, &None),
            (br#"{"id":1.5}"#, &None),
            (br#"[{"id":3}]"#, &None),
            (b"", &None),
        ] {
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(id_in(bytes), *id, "{shown}");
        }
        let long = format!("{{\"id\":{:?}}}", "x".repeat(MAX_ID + 1));
        assert_eq!(id_in(long.as_bytes()), None);
    }
}
