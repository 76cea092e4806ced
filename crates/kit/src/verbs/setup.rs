//! Plug Outlive into agents, or take it out again.

use crate::agent::Agent;
use crate::error::Error;
pub use crate::setup::{Action, Change, Places, Plan, Request, Scope, plan};
use std::collections::BTreeMap;

/// Restores what an earlier setup left unfinished. Says so if there was anything. Then the plan must be
/// made again, before it is applied.
pub fn recover(places: &Places) -> Result<Option<&'static str>, Error> {
    let was_interrupted = crate::setup::recover(places.store())?;
    let note = "an earlier setup was interrupted; what it had changed was restored";
    Ok(was_interrupted.then_some(note))
}

/// Says so if an earlier setup left something unfinished.
pub fn unfinished(places: &Places) -> Result<Option<&'static str>, Error> {
    let unfinished = places.store().load()?.unfinished;
    Ok(unfinished.map(|_| crate::setup::UNFINISHED))
}

/// Makes every change of a plan, or none.
pub fn apply(places: &Places, plan: &Plan) -> Result<(), Error> {
    crate::setup::apply(places.store(), plan)
}

/// An agent, as far as this machine has it.
#[derive(Debug)]
pub struct AgentSetup {
    pub agent: Agent,
    /// Whether it seems to be used here.
    pub is_here: bool,
    /// What setting it up would change; nothing where it is set up.
    pub plan: Result<Plan, Error>,
}

/// Every agent known, with what would be done for it.
pub fn list(places: &Places, scope: &Scope) -> Vec<AgentSetup> {
    let one = |agent| {
        let request = Request {
            agents: &[agent],
            scope,
            action: Action::Write,
            answers: BTreeMap::new(),
        };
        AgentSetup {
            agent,
            is_here: places.has(agent),
            plan: plan(places, &request),
        }
    };
    Agent::all().into_iter().map(one).collect()
}
