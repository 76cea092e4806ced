//! Sessions of the transport that this server does not know: it was started anew, or nothing was heard of them
//! for long. Their clients would be told to begin again, and many do not; but nothing that matters is kept in
//! such a session, so they are served as if they had begun here. Only one that its own client has ended is gone.
//!
//! What is lost with the server that knew it is what the client had subscribed to.

use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nobody asks for a session after so many others were ended.
const MOST: usize = 4096;

/// Remembers which were ended.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<HashSet<String>>);

type Kept<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl Sessions {
    fn ended(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a client of such a session said when it began, as far as anything depends on it.
    fn state() -> SessionState {
        let client = Implementation::new("unknown", "");
        let params = InitializeRequestParams::new(ClientCapabilities::default(), client);
        SessionState::new(params.with_protocol_version(ProtocolVersion::V_2025_06_18))
    }
}

impl SessionStore for Sessions {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Kept<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        let is_ended = self.ended().contains(id);
        Box::pin(async move { Ok((!is_ended).then(Sessions::state)) })
    }

    fn store<'a, 'b, 'd, 'c>(&'a self, _: &'b str, _: &'d SessionState) -> Kept<'c, ()>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
        Self: 'c,
    {
        Box::pin(async { Ok(()) })
    }

    fn delete<'a, 'b, 'c>(&'a self, id: &'b str) -> Kept<'c, ()>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        let mut ended = self.ended();
        if ended.len() >= MOST {
            ended.clear();
        }
        ended.insert(id.to_owned());
        Box::pin(async { Ok(()) })
    }
}
