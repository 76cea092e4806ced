//! Who sent a request, and what its tool may do and must record for them.

use super::Server;
use crate::call::{Call, Patience, Progress, Scope, Teller};
use crate::http;
use crate::identity::{self, Asked, Identity, NamedCaller};
use crate::reply::Refused;
use outlive::inbox::{AgentReader, Inbox};
use outlive::{Caller, Error, Label, Outlive};
use rmcp::model::JsonObject;
use rmcp::service::{RequestContext, RoleServer};
use tokio::runtime::Handle;

impl Server {
    /// The context for the tool.
    pub(super) fn call(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: &JsonObject,
        caller: Identity,
    ) -> Result<Call, Refused> {
        let Identity {
            session,
            has_hooks,
            is_helper,
        } = caller;
        let outlive = self
            .outlive
            .clone()
            .called_by(Caller::Session(session.clone()));
        let outlive = match (is_helper, self.sessions.agent()) {
            (true, _) => outlive.only_looking(),
            (false, Some(agent)) if has_hooks => outlive.handing_to(agent),
            (false, _) => outlive,
        };
        Ok(Call {
            is_made: self.sessions.is_made(&session),
            teller: match (is_helper, has_hooks) {
                (true, _) => Teller::HooksOfAgent,
                (false, true) => Teller::Hooks,
                (false, false) => Teller::Replies,
            },
            scope: match self.options.all_sessions {
                true => Scope::Everything,
                false => Scope::Session,
            },
            id: identity::call_id(&context.meta.0.0, arguments),
            inbox: self.inbox(&outlive, &session)?,
            glances: self.glances.clone(),
            tasks: self.tasks.clone(),
            patience: Patience {
                most: self.options.patience,
                cancelled: context.ct.clone(),
                progress: context.meta.get_progress_token().map(|token| Progress {
                    peer: context.peer.clone(),
                    token,
                    runtime: Handle::current(),
                }),
            },
            outlive,
            session,
        })
    }

    pub(super) fn identity(
        &self,
        context: &RequestContext<RoleServer>,
        named: Option<&NamedCaller>,
    ) -> Result<Identity, Error> {
        let asked = Asked {
            meta: &context.meta.0.0,
            header: http::session(&context.extensions),
            named,
        };
        self.sessions.of(&self.outlive, asked)
    }

    /// Takes out of the arguments what a plugin says about who calls.
    pub(super) fn named_in(&self, arguments: &mut JsonObject) -> Option<NamedCaller> {
        if !self.options.caller_argument {
            return None;
        }
        let named = arguments.remove(identity::CALLER)?;
        serde_json::from_value(named).ok()
    }

    /// The inbox of a session. What is claimed for an agent is due again if the agent dies.
    fn inbox(&self, outlive: &Outlive, session: &Label) -> Result<Inbox, Error> {
        let inbox = Inbox::open(outlive, session.clone())?.without_ends_of(self.tasks.followed());
        Ok(match self.sessions.agent() {
            Some(process) => inbox.for_agent(AgentReader {
                process,
                sign: None,
                resumes: false,
                prompts: None,
            }),
            None => inbox,
        })
    }
}
