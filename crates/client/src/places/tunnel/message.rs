//! What a call says: a head, which is one line of JSON, and bytes of the wire.
//!
//! ```text
//!  request   {"tunnel":"…","call":7,"at":512,"had":4096,…}\n<bytes of the wire from position 512 on>
//!  answer    {"tunnel":"…","call":7,"taken":530,"at":4096,…}\n<bytes of the wire from position 4096 on>
//! ```
//! Both directions of the wire are streams of bytes with positions. So a call that is executed twice brings nothing twice,
//! and what is lost with a call is in the next one.

use crate::places::Unreached;
use outlive_core::os_text::OsText;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Names a tunnel, for ever: 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TunnelId(String);

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub tunnel: TunnelId,
    /// Calls of a tunnel are numbered. When a later one has come, an earlier one waits no longer.
    pub call: u64,
    /// Starts the far end, if this tunnel never had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<Begin>,
    /// The home there; else the far end looks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<OsText>,
    /// The position of the bytes that follow.
    pub at: u64,
    /// Up to here, this side has what the far end said.
    pub had: u64,
    /// How long the call waits there for something to answer.
    pub patience_ms: u64,
    /// How long the far end stays after this call if no other one comes.
    pub stay_ms: u64,
    /// The longest answer, as a line.
    pub limit: usize,
    /// The wire is over after these bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
}

/// How a far end begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Of the program that it must be.
    pub digest: String,
    /// Later calls are made with arguments that others there can see.
    pub shown: bool,
}

/// The answer of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub tunnel: TunnelId,
    pub call: u64,
    /// Up to here, the far end has what this side sent.
    pub taken: u64,
    /// The position of the bytes that follow.
    pub at: u64,
    /// The home there, so that later calls find it in any environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<OsText>,
    /// More bytes wait there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The wire is over after these bytes, for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Unreached>,
}

impl TunnelId {
    /// Reads an id that came from outside. It becomes part of a path, so nothing else is accepted.
    pub fn parse(text: &str) -> Option<TunnelId> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 16 && text.bytes().all(is_hex)).then(|| TunnelId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TunnelId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<TunnelId, &'static str> {
        TunnelId::parse(&text).ok_or("the id of a tunnel has 16 hexadecimal digits")
    }
}

impl From<TunnelId> for String {
    fn from(id: TunnelId) -> String {
        id.0
    }
}

/// A message as bytes.
pub fn encode(head: &impl Serialize, bytes: &[u8]) -> Vec<u8> {
    let mut message = serde_json::to_vec(head).unwrap_or_default();
    message.push(b'\n');
    message.extend_from_slice(bytes);
    message
}

/// The head and the bytes of a message. `None` if it is none.
pub fn decode<Head: DeserializeOwned>(message: &[u8]) -> Option<(Head, &[u8])> {
    let end = memchr::memchr(b'\n', message)?;
    let head = serde_json::from_slice(&message[..end]).ok()?;
    Some((head, &message[end + 1..]))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn messages_survive() {
        let request = Request {
            tunnel: TunnelId::parse("0123456789abcdef").unwrap(),
            call: 7,
            begin: None,
            home: Some("/a \"b\"\n".into()),
            at: 1,
            had: 2,
            patience_ms: 3,
            stay_ms: 4,
            limit: 5,
            ends: false,
        };
        let bytes = b"\n{}\n\xff\0";
        let message = encode(&request, bytes);
        assert_eq!(decode(&message), Some((request, &bytes[..])));
        for wrong in ["", "{}", "{}\n", "x\n"] {
            assert_eq!(decode::<Request>(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_id_of_a_tunnel_is_a_safe_name() {
        for text in [
            "",
            "..",
            "0123456789ABCDEF",
            "0123456789abcde/",
            "0123456789abcdef0",
        ] {
            assert_eq!(TunnelId::parse(text), None, "{text}");
        }
    }
}
