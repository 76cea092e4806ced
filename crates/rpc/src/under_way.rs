//! The requests that are not answered yet.
//!
//! A request can be answered once: by what it asked for, or because it was cancelled, whatever comes first. Its parts are
//! counted, so that no more are sent than its sender wants to have on the way.

use crate::out::{Out, failure};
use outlive::api::failure::{ErrorCode, Failure};
use outlive_api::rpc::{Answer, Part, RequestId};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// All of them.
#[derive(Debug, Default)]
pub struct UnderWay(Mutex<HashMap<RequestId, Arc<Request>>>);

/// One of them.
#[derive(Debug)]
pub struct Request {
    id: RequestId,
    out: Arc<Out>,
    all: Arc<UnderWay>,
    flow: Mutex<Flow>,
    /// More parts may be sent, or none are wanted any more.
    moved: Condvar,
}

#[derive(Debug)]
struct Flow {
    /// How many bytes may be on the way.
    window: Option<u64>,
    sent: u64,
    taken: u64,
    is_over: bool,
}

impl Flow {
    fn has_room(&self) -> bool {
        let on_the_way = self.sent.saturating_sub(self.taken);
        self.window.is_none_or(|window| on_the_way < window)
    }
}

/// Nobody waits for the answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over;

impl UnderWay {
    /// Notes a request. `None` if another one of this id is under way.
    pub fn begin(
        self: &Arc<UnderWay>,
        id: RequestId,
        window: Option<u64>,
        out: &Arc<Out>,
    ) -> Option<Arc<Request>> {
        let mut all = self.all();
        if all.contains_key(&id) {
            return None;
        }
        let request = Arc::new(Request {
            id: id.clone(),
            out: out.clone(),
            all: self.clone(),
            flow: Mutex::new(Flow {
                window,
                sent: 0,
                taken: 0,
                is_over: false,
            }),
            moved: Condvar::new(),
        });
        all.insert(id, request.clone());
        Some(request)
    }

    /// The request of this id, unless it was answered.
    pub fn get(&self, id: &RequestId) -> Option<Arc<Request>> {
        self.all().get(id).cloned()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<RequestId, Arc<Request>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Request {
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Whether it was answered or cancelled.
    pub fn is_over(&self) -> bool {
        self.flow().is_over
    }

    /// Whether another part may be sent now.
    pub fn has_room(&self) -> bool {
        self.flow().has_room()
    }

    /// Sends a part, however many are on the way.
    pub fn part<P: Serialize>(&self, part: P, raw: Option<&[u8]>) -> Result<(), Over> {
        let size = match raw {
            Some(raw) => raw.len() as u64,
            // It is encoded once more when it is written; these parts are short.
            None => serde_json::to_vec(&part).map_or(0, |json| json.len() as u64),
        };
        let sent = {
            let mut flow = self.flow();
            if flow.is_over {
                return Err(Over);
            }
            flow.sent += size;
            flow.sent
        };
        let part = Part {
            id: self.id.clone(),
            part,
            bytes: raw.map(|raw| raw.len() as u64),
            sent,
        };
        self.out.part(&part, raw.unwrap_or_default());
        Ok(())
    }

    /// Sends a part as soon as it may be sent.
    pub fn part_in_time<P: Serialize>(&self, part: P, raw: Option<&[u8]>) -> Result<(), Over> {
        let mut flow = self.flow();
        while !flow.has_room() && !flow.is_over {
            flow = self
                .moved
                .wait(flow)
                .unwrap_or_else(PoisonError::into_inner);
        }
        drop(flow);
        self.part(part, raw)
    }

    /// The parts up to this number were taken.
    pub fn taken(&self, sent: u64) {
        let mut flow = self.flow();
        flow.taken = flow.taken.max(sent).min(flow.sent);
        self.moved.notify_all();
    }

    /// Answers it. Returns whether this was its answer.
    pub fn answer<R: Serialize>(&self, reply: R, notes: Vec<String>, receipt: bool) -> bool {
        self.end(|id| {
            self.out.answer(&Answer {
                id,
                reply,
                notes,
                receipt,
            });
        })
    }

    pub fn refuse(&self, error: Failure) -> bool {
        self.end(|id| self.out.refuse(Some(id), error))
    }

    pub fn cancel(&self) -> bool {
        let error = failure(ErrorCode::Canceled, "the request was cancelled");
        self.refuse(error)
    }

    fn end(&self, write: impl FnOnce(RequestId)) -> bool {
        {
            let mut flow = self.flow();
            if flow.is_over {
                return false;
            }
            flow.is_over = true;
            self.moved.notify_all();
        }
        // Whoever reads the answer may use the id again at once.
        self.all.all().remove(&self.id);
        write(self.id.clone());
        true
    }

    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::thread;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().map_or(Ok(0), |mut all| all.write(bytes))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn begin(window: Option<u64>) -> (Arc<UnderWay>, Arc<Request>, Written) {
        let (all, written) = (Arc::<UnderWay>::default(), Written::default());
        let out = Arc::new(Out::to(written.clone()));
        let id = RequestId::Number(1);
        let request = all.begin(id.clone(), window, &out);
        assert!(all.begin(id, None, &out).is_none(), "it is under way");
        (all, request.expect("the first of this id"), written)
    }

    fn lines(written: &Written) -> Vec<String> {
        let bytes = written.0.lock().expect("nobody panicked").clone();
        let text = String::from_utf8(bytes).expect("text");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_request_is_answered_once_and_its_id_is_free_then() {
        let (all, request, written) = begin(None);
        assert_eq!(request.part("x", None), Ok(()));
        assert!(request.cancel());
        assert!(!request.answer(7, Vec::new(), false));
        assert_eq!(request.part("x", None), Err(Over));
        assert!(all.get(request.id()).is_none());
        let lines = lines(&written);
        assert_eq!(lines[0], r#"{"id":1,"part":"x","sent":3}"#);
        assert!(lines[1].contains(r#""code":"canceled""#), "{}", lines[1]);
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn parts_wait_until_earlier_ones_were_taken() {
        let (_, request, written) = begin(Some(10));
        assert_eq!(request.part("", Some(&[b'\n'; 9])), Ok(()));
        assert!(request.has_room());
        assert_eq!(request.part("", Some(&[b'\n'; 9])), Ok(()));
        assert!(!request.has_room(), "18 bytes are on the way");
        request.taken(8);
        assert!(!request.has_room());
        request.taken(9);
        assert!(request.has_room());
        request.taken(3);
        assert!(request.has_room(), "an old number changes nothing");
        request.taken(u64::MAX);
        assert_eq!(request.part("", Some(&[b'\n'; 10])), Ok(()));
        assert!(!request.has_room(), "more than was sent cannot be taken");
        thread::scope(|scope| {
            let late = scope.spawn(|| request.part_in_time("late", None));
            request.taken(28);
            assert_eq!(late.join().expect("no panic"), Ok(()));
        });
        assert!(
            lines(&written)
                .last()
                .is_some_and(|line| line.contains("late"))
        );
    }

    #[test]
    fn a_part_that_waits_ends_with_its_request() {
        let (_, request, _) = begin(Some(1));
        assert_eq!(request.part("", Some(b"\n")), Ok(()));
        thread::scope(|scope| {
            let late = scope.spawn(|| request.part_in_time("late", None));
            assert!(request.cancel());
            assert_eq!(late.join().expect("no panic"), Err(Over));
        });
    }
}
