//! Arguments and paths in JSON.
//!
//! Strings of the operating system are bytes; JSON strings are Unicode. UTF-8 text is written as a
//! plain string and anything else as a list of bytes. So a job's arguments are stored exactly, and are
//! easy to read in the usual case.

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A string of the operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OsText(pub OsString);

impl OsText {
    /// The string as the system has it.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// The string as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The bytes of the string.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Text for people: bytes that are not UTF-8 are replaced.
    pub fn lossy(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }

    /// The same, without a copy of what is UTF-8.
    pub fn into_lossy(self) -> String {
        let text = self.0.into_string();
        text.unwrap_or_else(|bytes| bytes.to_string_lossy().into_owned())
    }
}

impl From<OsString> for OsText {
    fn from(text: OsString) -> OsText {
        OsText(text)
    }
}

impl From<PathBuf> for OsText {
    fn from(path: PathBuf) -> OsText {
        OsText(path.into_os_string())
    }
}

impl From<Vec<u8>> for OsText {
    fn from(bytes: Vec<u8>) -> OsText {
        OsText(OsString::from_vec(bytes))
    }
}

impl From<String> for OsText {
    fn from(text: String) -> OsText {
        OsText(text.into())
    }
}

/// For everything else that is a path or a text: `&str`, `&OsStr`, `&Path` and references to owned ones.
impl<T: AsRef<OsStr> + ?Sized> From<&T> for OsText {
    fn from(text: &T) -> OsText {
        OsText(text.as_ref().to_owned())
    }
}

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OsText, D::Error> {
        deserializer.deserialize_any(Forms)
    }
}

/// Takes both forms of the string. An untagged enum would copy it twice, and each job has several.
struct Forms;

impl<'de> Visitor<'de> for Forms {
    type Value = OsText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<OsText, E> {
        Ok(text.into())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<OsText, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OsText, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes.into())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for OsText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OsText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Text, or a list of bytes if they are not UTF-8",
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_survive_json(bytes: Vec<u8>) {
            let text = OsText(OsString::from_vec(bytes));
            let json = serde_json::to_string(&text).expect("bytes always encode");
            prop_assert_eq!(serde_json::from_str::<OsText>(&json).expect("decodes"), text);
        }
    }
}
