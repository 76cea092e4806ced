//! Plug Outlive into agents, or take it out again.

use crate::agent::Agent;
use crate::error::Error;
pub use crate::setup::{Action, Change, Places, Plan, Scope, plan};

/// Makes every change of a plan, in its order.
pub fn apply(plan: &Plan) -> Result<(), Error> {
    plan.changes.iter().try_for_each(Change::apply)
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
    Agent::all()
        .into_iter()
        .map(|agent| AgentSetup {
            agent,
            is_here: places.has(agent),
            plan: plan(places, &[agent], scope, Action::Write),
        })
        .collect()
}
