//! What arrives and is no message: the reply to it, under the request's id where that can be read.
//!
//! Both transports use this, because the library answers such input without an id, or not at all.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, Read};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The most bytes of a message. A request starts a job or writes to one, and needs far less.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Input that is no message.
#[derive(Debug)]
pub struct Malformed {
    id: Option<RequestId>,
    error: ErrorData,
}

impl Malformed {
    /// The reply. JSON-RPC requires the id `null` where none can be read; the library would leave it out.
    pub fn reply(&self) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "error": self.error})
    }
}

/// The message in these bytes. `None` for what needs neither service nor an answer: a notification or an answer that
/// is unknown to the protocol.
pub fn read(bytes: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Malformed> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let unreadable = match serde_json::from_slice(bytes) {
        Ok(message) => return Ok(Some(message)),
        Err(unreadable) => unreadable,
    };
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) if is_a_question(&value) => Err(Malformed {
            id: id_in(bytes),
            error: ErrorData::invalid_request(format!("not a valid request: {unreadable}"), None),
        }),
        Ok(_) => Ok(None),
        // Half of a surrogate pair, or invalid UTF-8, makes the request invalid but not its id.
        Err(_) => Err(Malformed {
            id: id_in(bytes),
            error: ErrorData::parse_error(
                "not valid JSON (is every string valid UTF-8, without half of a surrogate pair?)",
                None,
            ),
        }),
    }
}

/// The reply to a request that the library does not know. It does not know `tools/call` either if its parameters are wrong.
pub fn unknown_request(method: &str) -> ErrorData {
    match method {
        "tools/call" => ErrorData::invalid_params(
            "`tools/call` needs `name`, a text; `arguments` is an object",
            None,
        ),
        _ => ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("there is no method {method:?}, or its parameters are wrong"),
            None,
        ),
    }
}

/// Whether its sender may wait for an answer: it is neither a notification nor an answer itself.
fn is_a_question(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let is_notification = has("method") && !has("id");
    !is_notification && !has("result") && !has("error")
}

fn id_in(from: impl Read) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Header {
        id: RequestId,
    }
    let header = serde_json::from_reader::<_, Header>(from).ok();
    header.map(|header| header.id)
}

/// A message that is longer than [`MAX_MESSAGE`]. Its bytes are searched for the id as they come, and not kept.
#[derive(Debug)]
pub struct TooLong {
    parts: mpsc::Sender<Vec<u8>>,
    id: JoinHandle<Option<RequestId>>,
}

impl TooLong {
    /// Begins with the bytes that have come so far.
    pub fn begin(bytes: Vec<u8>) -> TooLong {
        let (parts, coming) = mpsc::channel(1);
        let parts_read = Parts {
            coming,
            part: io::Cursor::new(bytes),
        };
        TooLong {
            parts,
            id: tokio::task::spawn_blocking(|| id_in(parts_read)),
        }
    }

    /// More bytes have come. If this is cancelled, they were not taken.
    pub async fn push(&self, bytes: &[u8]) {
        // This fails if the bytes so far are not JSON. Then there is nothing to search for.
        let _ = self.parts.send(bytes.to_vec()).await;
    }

    /// The message is complete.
    pub async fn end(self) -> Malformed {
        drop(self.parts);
        Malformed {
            id: self.id.await.ok().flatten(),
            error: ErrorData::invalid_request(
                format!(
                    "the message is longer than {} MiB; write what is large into a file, and name the file",
                    MAX_MESSAGE >> 20
                ),
                None,
            ),
        }
    }
}

/// Reads the parts of a message on a thread of its own.
#[derive(Debug)]
struct Parts {
    coming: mpsc::Receiver<Vec<u8>>,
    part: io::Cursor<Vec<u8>>,
}

impl Read for Parts {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.part.read(into)? {
                0 => match self.coming.blocking_recv() {
                    Some(part) => self.part = io::Cursor::new(part),
                    None => return Ok(0),
                },
                read => return Ok(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code and the id of the reply; `None` if there is none.
    fn reply(bytes: &[u8]) -> Option<(Value, Value)> {
        let reply = read(bytes).err()?.reply();
        assert!(
            reply
                .as_object()
                .is_some_and(|reply| reply.contains_key("id"))
        );
        Some((reply["error"]["code"].clone(), reply["id"].clone()))
    }

    #[test]
    fn each_malformed_message_has_its_code_and_the_id_that_can_be_read() {
        for (bytes, code, id) in [
            (&b"nonsense"[..], -32700, json!(null)),
            (b"{\"id\":3,\"method\":", -32700, json!(null)),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\xff\"}",
                -32700,
                json!(3),
            ),
            (
                br#"{"jsonrpc":"2.0","id":"x","method":"\ud800"}"#,
                -32700,
                json!("x"),
            ),
            (b"[]", -32600, json!(null)),
            (b"7", -32600, json!(null)),
            (b"{}", -32600, json!(null)),
            (
                br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                -32600,
                json!(null),
            ),
            (
                br#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#,
                -32600,
                json!(4),
            ),
            (
                br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":7}"#,
                -32600,
                json!(5),
            ),
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(reply(bytes), Some((json!(code), id)), "{text}");
        }
    }

    #[test]
    fn nobody_is_answered_who_does_not_wait_for_an_answer() {
        for bytes in [
            &br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#[..],
            b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            br#"{"jsonrpc":"2.0","method":"$/lsp","params":7}"#,
            br#"{"jsonrpc":"2.0","id":{},"result":7,"error":8}"#,
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"an echo"}}"#,
        ] {
            assert_eq!(reply(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
