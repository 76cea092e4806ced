//! The sandboxes that the harness lends, by their requests: for its answers.

use outlive::places::lend::Lending;
use outlive::places::lend::protocol::Done;
use outlive_api::rpc::{Executed, RequestId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What is lent now.
#[derive(Debug, Default)]
pub struct Lends(Mutex<HashMap<RequestId, Weak<Lending>>>);

impl Lends {
    /// Lends something for this request. Answers wait until it is known.
    pub fn lend<E>(
        &self,
        id: &RequestId,
        lend: impl FnOnce() -> Result<Lending, E>,
    ) -> Result<Arc<Lending>, E> {
        let mut all = self.all();
        let lending = Arc::new(lend()?);
        all.retain(|_, lending| lending.strong_count() > 0);
        all.insert(id.clone(), Arc::downgrade(&lending));
        Ok(lending)
    }

    /// Passes on what came of a command. If nothing is lent any more, nobody waits for it.
    pub fn answer(&self, id: &RequestId, executed: Executed) {
        let lending = self.all().get(id).and_then(Weak::upgrade);
        if let Some(lending) = lending {
            lending.answer(Done {
                id: executed.id,
                output: executed.output,
                timed_out: executed.timed_out,
                error: executed.error,
                gone: executed.gone,
            });
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<RequestId, Weak<Lending>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
