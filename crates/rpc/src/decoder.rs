//! Bytes become messages, however they are cut.

use crate::salvage::{id_in, id_of};
use outlive_api::rpc::{Ask, MAX_BYTES, MAX_ID, MAX_LINE, Message, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Something that the harness wrote.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A message, with the raw bytes that followed it.
    Message(Message, Option<Vec<u8>>),
    /// No message.
    Malformed(Malformed),
}

/// Why a line is no message.
#[derive(Clone, Debug, PartialEq)]
pub struct Malformed {
    /// The id of the request, if it can be read.
    pub id: Option<RequestId>,
    /// What is wrong.
    pub reason: String,
}

/// So much of a line that is too long is kept, because its id probably stands there.
const KEPT: usize = 64 * 1024;

/// Reads messages from a stream of bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// What comes before this was taken.
    taken: usize,
    /// Between that and this there is no newline.
    looked: usize,
    reads: Reads,
}

/// What the next bytes are.
#[derive(Debug, Default)]
enum Reads {
    #[default]
    Line,
    /// The rest of a line that is too long, of which this is the beginning.
    RestOfLine(Vec<u8>),
    /// The raw bytes of this message.
    Raw(Message, usize),
    /// So many raw bytes that nobody wants.
    Unwanted(u64, Malformed),
}

impl Decoder {
    /// More bytes have come. Call [`next_input`](Decoder::next_input) until it returns nothing.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.looked -= self.taken;
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message, as soon as all of it has come.
    pub fn next_input(&mut self) -> Option<Input> {
        loop {
            match std::mem::take(&mut self.reads) {
                Reads::Line => match self.line() {
                    Some(line) => {
                        if let Some(input) = self.begin(&line) {
                            return Some(input);
                        }
                    }
                    None if self.left() > MAX_LINE => {
                        let mut beginning = self.take(self.left());
                        beginning.truncate(KEPT);
                        self.reads = Reads::RestOfLine(beginning);
                    }
                    None => return None,
                },
                Reads::RestOfLine(beginning) => match self.line() {
                    Some(_) => return Some(too_long(&beginning)),
                    None => {
                        self.pass(self.left());
                        self.reads = Reads::RestOfLine(beginning);
                        return None;
                    }
                },
                Reads::Raw(message, count) if self.left() >= count => {
                    let bytes = self.take(count);
                    return Some(Input::Message(message, Some(bytes)));
                }
                Reads::Unwanted(left, malformed) => {
                    let here = left.min(self.left() as u64);
                    self.pass(here as usize);
                    if here == left {
                        return Some(Input::Malformed(malformed));
                    }
                    self.reads = Reads::Unwanted(left - here, malformed);
                    return None;
                }
                other @ Reads::Raw(..) => {
                    self.reads = other;
                    return None;
                }
            }
        }
    }

    /// The next whole line, without its newline.
    fn line(&mut self) -> Option<Vec<u8>> {
        let found = self.buffer[self.looked..].iter().position(|b| *b == b'\n');
        let Some(at) = found else {
            self.looked = self.buffer.len();
            return None;
        };
        let mut line = self.take(self.looked + at + 1 - self.taken);
        line.pop();
        Some(line)
    }

    /// How many bytes were not taken yet.
    fn left(&self) -> usize {
        self.buffer.len() - self.taken
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let bytes = self.buffer[self.taken..self.taken + count].to_vec();
        self.pass(count);
        bytes
    }

    fn pass(&mut self, count: usize) {
        self.taken += count;
        self.looked = self.taken;
    }

    /// Reads a line. Nothing is returned for an empty one, and for one whose raw bytes have yet to come.
    fn begin(&mut self, line: &[u8]) -> Option<Input> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        if line.len() > MAX_LINE {
            return Some(too_long(line));
        }
        let message = match message(line) {
            Ok(message) => message,
            Err(malformed) => return Some(Input::Malformed(malformed)),
        };
        let Message::Ask(Ask {
            id,
            bytes: Some(count),
            ..
        }) = &message
        else {
            return Some(Input::Message(message, None));
        };
        self.reads = match usize::try_from(*count) {
            Ok(few) if *count <= MAX_BYTES => Reads::Raw(message, few),
            _ => {
                let id = Some(id.clone());
                let reason = format!(
                    "at most {MAX_BYTES} raw bytes may follow a line, not {count}; send them in parts"
                );
                Reads::Unwanted(*count, Malformed { id, reason })
            }
        };
        None
    }
}

fn too_long(beginning: &[u8]) -> Input {
    Input::Malformed(Malformed {
        id: id_in(beginning),
        reason: format!(
            "the line is longer than {} MiB; write what is large into a file, and name the file",
            MAX_LINE >> 20
        ),
    })
}

/// The keys that say what kind of message it is.
const KINDS: [&str; 5] = ["verb", "cancel", "taken", "told", "answer"];

fn message(line: &[u8]) -> Result<Message, Malformed> {
    let value: Value = serde_json::from_slice(line).map_err(|error| Malformed {
        id: id_in(line),
        reason: format!("not JSON in UTF-8: {error}"),
    })?;
    let Value::Object(keys) = value else {
        return Err(Malformed {
            id: None,
            reason: "a message is a JSON object".to_owned(),
        });
    };
    let id = keys.get("id").and_then(id_of);
    let refuse = |reason: String| Malformed {
        id: id.clone(),
        reason,
    };
    if let Some(given) = keys.get("id").filter(|_| id.is_none()) {
        let shown = given.to_string();
        return Err(refuse(format!(
            "an id is an integer or a text of at most {MAX_ID} bytes, not {}",
            shown.chars().take(40).collect::<String>()
        )));
    }
    let mut kinds = KINDS.into_iter().filter(|kind| keys.contains_key(*kind));
    let kind = kinds.next();
    let read = match kind {
        Some("verb") => typed(keys).map(Message::Ask),
        Some("cancel") => typed(keys).map(Message::Cancel),
        Some("taken") => typed(keys).map(Message::Taken),
        Some("told") => typed(keys).map(Message::Told),
        Some(_) => typed(keys).map(Message::Answer),
        None => Err(
            "a message has one of the keys \"verb\", \"cancel\", \"taken\", \"told\" and \"answer\"".to_owned(),
        ),
    };
    read.map_err(refuse)
}

fn typed<T: DeserializeOwned>(keys: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(keys)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_api::rpc::Cancel;
    use proptest::prelude::*;

    fn read(bytes: &[u8], size: usize) -> Vec<Input> {
        let (mut decoder, mut inputs) = (Decoder::default(), Vec::new());
        for piece in bytes.chunks(size.max(1)) {
            decoder.push(piece);
            inputs.extend(std::iter::from_fn(|| decoder.next_input()));
        }
        inputs
    }

    /// The id and the reason of the only input, which is no message.
    fn refused(bytes: &[u8]) -> (Option<RequestId>, String) {
        match &read(bytes, 1 << 20)[..] {
            [Input::Malformed(Malformed { id, reason })] => (id.clone(), reason.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_line_that_is_no_message_is_refused_with_its_id_and_a_reason() {
        for (line, id, reason) in [
            (&b"nonsense"[..], None, "not JSON"),
            (b"[1]", None, "a JSON object"),
            (br#"{"id":7}"#, Some(7), "one of the keys"),
            (br#"{"id":7,"verb":1}"#, Some(7), "expected a string"),
            (br#"{"id":7,"verb":"show","reqest":{}}"#, Some(7), "reqest"),
            (
                b"{\"id\":7,\"verb\":\"\xff\"}",
                Some(7),
                "not JSON in UTF-8",
            ),
            (br#"{"id":1.5,"verb":"show"}"#, None, "an id is"),
            (br#"{"verb":"show"}"#, None, "missing field `id`"),
            (br#"{"cancel":[]}"#, None, "did not match"),
            (br#"{"taken":1}"#, None, "missing field `sent`"),
        ] {
            let (found, why) = refused(&[line, b"\n"].concat());
            let shown = String::from_utf8_lossy(line);
            assert_eq!(found, id.map(RequestId::Number), "{shown}");
            assert!(why.contains(reason), "{shown}: {why}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
        let long = "x".repeat(MAX_LINE);
        let text = format!("{{\"id\":7,\"verb\":\"{long}\"}}\n\n{{\"cancel\":1}}\n");
        let inputs = read(text.as_bytes(), 100_000);
        let [Input::Malformed(Malformed { id, reason }), next] = &inputs[..] else {
            panic!("{} inputs", inputs.len());
        };
        assert_eq!(*id, Some(RequestId::Number(7)));
        assert!(reason.contains("16 MiB"), "{reason}");
        let cancel = RequestId::Number(1);
        let cancel = Message::Cancel(Cancel { cancel });
        assert_eq!(*next, Input::Message(cancel, None));
    }

    #[test]
    fn raw_bytes_follow_their_line_and_may_be_anything() {
        let text = b"{\"id\":1,\"verb\":\"send\",\"bytes\":5}\n\n{\"\xff\n{\"id\":2,\"verb\":\"send\",\"bytes\":0}\n";
        for size in [1, 2, 7, 100] {
            let inputs = read(text, size);
            let bytes: Vec<_> = inputs
                .iter()
                .map(|input| match input {
                    Input::Message(Message::Ask(_), bytes) => bytes.clone(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(bytes, [Some(b"\n{\"\xff\n".to_vec()), Some(Vec::new())]);
        }
    }

    #[test]
    fn too_many_raw_bytes_are_passed_over() {
        let head = format!(
            "{{\"id\":1,\"verb\":\"send\",\"bytes\":{}}}\n",
            MAX_BYTES + 1
        );
        let raw = vec![b'\n'; MAX_BYTES as usize + 1];
        let text = [head.as_bytes(), &raw, b"{\"cancel\":1}\n"].concat();
        let inputs = read(&text, 1 << 20);
        assert!(matches!(
            &inputs[..],
            [Input::Malformed(_), Input::Message(..)]
        ));
    }

    proptest! {
        #[test]
        fn cuts_make_no_difference(
            lines in proptest::collection::vec(
                prop_oneof![
                    Just(&b"{\"id\":1,\"verb\":\"send\",\"bytes\":3}\nabc"[..]),
                    Just(&b"{\"cancel\":1}\n"[..]),
                    Just(&b"{\"id\":2,\"verb\":\n"[..]),
                    Just(&b"\n \n"[..]),
                    Just(&b"\xff\xfe\n"[..]),
                ],
                0..8,
            ),
            size in 1usize..40,
        ) {
            let text = lines.concat();
            prop_assert_eq!(read(&text, size), read(&text, text.len()));
        }
    }
}
