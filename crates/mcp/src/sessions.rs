//! Accepts HTTP sessions that this server does not know, because it was restarted or the session was
//! idle for long. The protocol would make these clients start again, and many cannot. Nothing important
//! is stored in a session, so they are served as if it had begun here. Only a session that its own
//! client has ended is refused.
//!
//! The subscriptions of such a session are lost.

use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// After this many other sessions have ended, nobody uses the oldest one again.
const MAX_REMEMBERED: usize = 4096;

/// Remembers which sessions were ended.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<HashSet<String>>);

type Kept<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl Sessions {
    fn ended(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of the client's initialization that anything depends on.
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
        if ended.len() >= MAX_REMEMBERED {
            ended.clear();
        }
        ended.insert(id.to_owned());
        Box::pin(async { Ok(()) })
    }
}
