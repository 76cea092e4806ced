//! The handshake, the list of tools, and one request from its arrival to its reply.

mod caller;

use crate::arguments::{self, Given};
use crate::away;
use crate::call::Call;
use crate::delivery::{Deliveries, Note};
use crate::glances::Glances;
use crate::http;
use crate::identity::{self, Identity, Sessions};
use crate::malformed;
use crate::reply::Refused;
use crate::resources;
use crate::subscriptions::{self, Subscriptions};
use crate::tasks::{self, PolledTasks};
use crate::tools::{self, Entry};
use outlive::agent::AgentProcess;
use outlive::api::failure::ErrorCode;
use outlive::redact::redact;
use outlive::{Error, Label, Outlive, environment};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, CreateTaskResult, CustomRequest,
    CustomResult, ErrorData, GetTaskParams, GetTaskResult, Implementation, JsonObject,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The session of all calls, whatever the client says.
    pub session: Option<Label>,
    /// Shows jobs of other sessions too.
    pub all_sessions: bool,
    /// Offers the tool `process` as well.
    pub compat: bool,
    /// A plugin of the client names who calls, in an argument of each call.
    pub caller_argument: bool,
    /// How long the client waits for an answer.
    pub patience: Duration,
}

/// The time between the end of the input and the end of calls that still wait.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What the session is called in an error.
const SURROUNDING: &str = "the session in the environment,";

const INSTRUCTIONS: &str = "Outlive runs commands as jobs that survive the end of a turn, of this \
server and of the agent. Use `run` for anything that may take longer than a minute, runs as a server, or asks \
questions. It needs no `&`, `nohup`, `setsid`, redirection or `sleep`. Do not poll: the answer of `run` says how you \
learn of the end. If you have nothing else to do, call `wait`. After a context loss or a restart, `jobs` lists the \
jobs of this session, running and ended.";

/// The server. Everything in it is shared, so that it can be cloned for each request.
#[derive(Clone, Debug)]
pub struct Server {
    outlive: Outlive,
    options: Arc<Options>,
    sessions: Arc<Sessions>,
    entries: Arc<Vec<Entry>>,
    glances: Arc<Glances>,
    tasks: Arc<PolledTasks>,
    deliveries: Deliveries,
    pub(crate) closed: CancellationToken,
    pub(crate) subscriptions: Arc<Subscriptions>,
}

impl Server {
    pub(crate) fn new(
        outlive: Outlive,
        options: Options,
        deliveries: Deliveries,
        closed: CancellationToken,
        agent: Option<AgentProcess>,
    ) -> Result<Server, Error> {
        // A person who sets OUTLIVE_SESSION for an agent means all its jobs. Its hooks obey that too.
        let own = agent.and_then(|_| environment::own_session());
        let own = own.as_deref().map(|key| identity::label(SURROUNDING, key));
        let given = options.session.clone().or(own.transpose()?);
        let surrounding = environment::session();
        let sessions = Sessions::new(given, surrounding.as_deref())?.of_agent(agent);
        Ok(Server {
            // The model's provider reads the answers too.
            outlive: outlive.hiding_secrets().naming_tools(),
            entries: Arc::new(tools::entries(options.compat)),
            options: Arc::new(options),
            sessions: Arc::new(sessions),
            glances: Arc::default(),
            tasks: Arc::default(),
            deliveries,
            closed,
            subscriptions: Arc::default(),
        })
    }

    /// The same server for another client, with subscriptions of its own.
    pub(crate) fn for_a_client(&self) -> Server {
        Server {
            subscriptions: Arc::default(),
            ..self.clone()
        }
    }

    /// Runs a lookup on a blocking thread.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        look: impl FnOnce(&Call) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let failed = |refused: Refused| {
            let text = redact(&refused.text).into_owned();
            match refused.code {
                ErrorCode::NoSuchJob | ErrorCode::Ambiguous => {
                    ErrorData::resource_not_found(text, None)
                }
                _ => ErrorData::internal_error(text, None),
            }
        };
        let call = self
            .identity(context, None)
            .map_err(Refused::from)
            .and_then(|caller| self.call(context, &JsonObject::new(), caller));
        let call = call.map_err(failed)?;
        tokio::task::spawn_blocking(move || look(&call))
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?
            .map_err(failed)
    }

    /// Calls the tool on a blocking thread. If the client cancels the call, the thread continues until
    /// its verb returns, so no verb is left half done.
    async fn answer(
        &self,
        entry: Entry,
        given: Result<Given, Refused>,
        context: RequestContext<RoleServer>,
        caller: Result<Identity, Error>,
    ) -> Result<CallToolResult, ErrorData> {
        let caller = caller.map_err(Refused::from);
        let none = JsonObject::new();
        let arguments = given.as_ref().map_or(&none, |given| &given.arguments);
        let call = match caller.and_then(|caller| self.call(&context, arguments, caller)) {
            Ok(call) => call,
            Err(refused) => return Ok(refused.said().result()),
        };
        self.deliveries.noted().await;
        let task = tokio::task::spawn_blocking(move || answer(&entry, &call, given));
        let gone = async {
            self.closed.cancelled().await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        let (result, notes) = tokio::select! {
            answered = task => answered
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
            () = context.ct.cancelled() => return Err(unwanted()),
            () = gone => return Err(unwanted()),
        };
        self.deliver(&context, notes);
        Ok(result)
    }

    /// Records this after the reply to the request is written.
    pub(crate) fn deliver(&self, context: &RequestContext<RoleServer>, notes: Vec<Note>) {
        match http::slot(&context.extensions) {
            Some(slot) => slot.add(self.deliveries.begin(notes)),
            None if notes.is_empty() => {}
            None => self
                .deliveries
                .add(context.id.clone(), notes, context.ct.clone()),
        }
    }
}

/// An answer that the client will not read.
fn unwanted() -> ErrorData {
    ErrorData::internal_error(
        "the call was cancelled; jobs that it started continue",
        None,
    )
}

type Answered = (CallToolResult, Vec<Note>);

fn answer(entry: &Entry, call: &Call, given: Result<Given, Refused>) -> Answered {
    let mut said = entry.answer(call, given);
    // Where hooks tell, a reply would tell a subagent what its agent should hear. If the call is cancelled,
    // nobody would read it.
    if entry.tells && !call.teller.is_hooks() && !call.patience.cancelled.is_cancelled() {
        away::append(call, &mut said);
    }
    let mut notes = std::mem::take(&mut said.told.notes);
    if call.teller.is_hooks() {
        // The hooks show whether the agent has read it.
        notes = notes.into_iter().map(Note::at_once).collect();
    }
    (said.result(), notes)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("outlive", env!("CARGO_PKG_VERSION")).with_title("Outlive"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(malformed::unknown_request(&request.method))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.entries.iter().map(|entry| entry.tool.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let entry = self.entries.iter().find(|entry| entry.tool.name == name);
        entry.map(|entry| entry.tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut entries = self.entries.iter();
        let Some(entry) = entries.find(|entry| entry.tool.name == request.name) else {
            let text = format!("there is no tool {:?}", request.name);
            return Err(ErrorData::invalid_params(text, None));
        };
        let mut arguments = request.arguments.unwrap_or_default();
        let named = self.named_in(&mut arguments);
        let given = arguments::read(&entry.tool, arguments);
        let knows_tasks = context.client_capabilities();
        let knows_tasks = knows_tasks.is_some_and(|client| client.supports_tasks());
        let mut entry = entry.clone();
        let caller = self.identity(&context, named.as_ref());
        // Where hooks tell, a task would tell the same end once more.
        let as_task = knows_tasks
            && tasks::is_wanted(&entry.tool.name, &given)
            && !caller.as_ref().is_ok_and(|caller| caller.has_hooks);
        // The first answer of a task has no room for events.
        entry.tells &= !as_task;
        let result = self.answer(entry, given, context.clone(), caller).await?;
        match tasks::behind(&result).filter(|_| as_task) {
            Some(id) => {
                let begin = move |call: &Call| tasks::begin(call, &id);
                let task = self.look(&context, begin).await?;
                Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
            }
            None => Ok(CallToolResponse::from(result)),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.task(request.task_id, &context).await
    }

    /// A task never asks its client for anything.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let id = request.task_id;
        let look = self.look(&context, move |call| call.find(&id).map(drop));
        look.await.map_err(tasks::unknown)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let id = request.task_id;
        let look = self.look(&context, move |call| tasks::cancel(call, &id));
        let notes = look.await.map_err(tasks::unknown)?;
        self.deliver(&context, notes);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        let uris = requested.resource_subscriptions.as_deref();
        accepted.resource_subscriptions = uris.map(subscriptions::ours);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.tell_listener(context).await;
        Ok(())
    }

    /// For clients of the older revisions.
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tell_subscriber(request.uri, context).await
    }

    /// For clients of the older revisions.
    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.end(&request.uri);
        Ok(())
    }

    /// There are no prompts, and an undeclared capability must answer "method not found".
    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    /// There are no completions either.
    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let found = self.look(&context, resources::list).await?;
        Ok(ListResourcesResult::with_all_items(found))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = vec![resources::template()];
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let read = self.look(&context, move |call| resources::read(call, &uri));
        Ok(ReadResourceResult::new(vec![read.await?]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_not_cut() {
        assert!(INSTRUCTIONS.len() < 2048, "{}", INSTRUCTIONS.len());
    }
}
