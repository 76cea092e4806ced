//! Serve an agent's hook: hand it the news of its session, once.
//!
//! A hook cannot see whether the agent's model reads what it prints. So it hands the events over, and the
//! agent's next sign of life shows that they were read ([`Sign`](outlive::agent::Sign)). If the agent ends
//! before that, or resumes the conversation, it is told again, with the same event ids.

use crate::hook::{Answer, Call, NotServed, Occasion, news, note, session_key};
use outlive::agent::{self, AgentProcess, Conversation, HandedWith, Turn};
use outlive::defaults::{HOOK_CLAIM, MAX_EVENTS_HOOK};
use outlive::inbox::{AgentReader, Delivery, Inbox, Selection};
use outlive::verbs::inbox::{self, Waiter};
use outlive::{Error, Outlive};
use std::io;
use std::os::fd::BorrowedFd;

/// Claims what is new, has it delivered, and hands it to the agent. Without news nothing is delivered.
///
/// A call that waits does so while jobs of the session run, until there is news. It ends when the next turn
/// begins, and when nobody reads `reader` any more.
pub fn serve(
    outlive: &Outlive,
    call: &Call,
    reader: BorrowedFd<'_>,
    deliver: impl FnOnce(&Answer) -> io::Result<()>,
) -> Result<(), NotServed> {
    if call.is_subagents {
        return note_helpers_call(outlive, call);
    }
    let inbox = Inbox::open(outlive, call.session.clone())?.claiming_for_at_most(HOOK_CLAIM);
    let agent = agent::of_caller()?;
    let inbox = match agent {
        Some(process) => inbox.for_agent(AgentReader {
            process,
            sign: call.sign,
            resumes: call.resumes,
            prompts: call.prompts.clone(),
        }),
        None => inbox,
    };
    let turn = agent
        .map(|agent| enter(outlive, call, &agent))
        .transpose()?;
    let tells = match call.occasion {
        Occasion::PreToolUse => false,
        Occasion::Stop => !call.may_not_block,
        _ => true,
    };
    if call.is_deaf || !tells {
        // It shows nevertheless what was read before.
        let _ = inbox.peek(Selection::default())?;
        return Ok(());
    }
    let delivery = take(&inbox, call, agent.zip(turn.flatten()), reader)?;
    for (id, why) in delivery.problems() {
        note(outlive, "inbox", &format!("{id} {why}"));
    }
    let mut parts = Vec::new();
    if call.occasion == Occasion::SessionStart && call.must_know_key {
        parts.push(session_key(&call.session));
    }
    if !delivery.is_empty() {
        parts.push(text(&delivery));
    }
    if parts.is_empty() {
        return Ok(());
    }
    deliver(&Answer::to(call, &parts.join("\n\n"))).map_err(NotServed::NotWritten)?;
    Ok(delivery.handed(handed_with(call.occasion))?)
}

/// Writes down which conversation the agent has. Returns the turn that begins or ends now, if one does.
fn enter(outlive: &Outlive, call: &Call, agent: &AgentProcess) -> Result<Option<Turn>, Error> {
    let session = call.session.clone();
    Conversation { session }.enter(outlive, agent)?;
    match call.occasion {
        Occasion::UserPromptSubmit | Occasion::Wait => {
            Turn::begin(outlive, agent, &call.session).map(Some)
        }
        Occasion::SessionStart | Occasion::PreToolUse | Occasion::PostToolUse | Occasion::Stop => {
            Ok(None)
        }
    }
}

/// A helper of the agent is about to call a tool. Notes it for the MCP server, which tells the news to the
/// agent alone.
fn note_helpers_call(outlive: &Outlive, call: &Call) -> Result<(), NotServed> {
    if let (Occasion::PreToolUse, Some(tool_call)) = (call.occasion, &call.tool_call)
        && let Some(agent) = agent::of_caller()?
    {
        tool_call.note_helper(outlive, &agent)?;
    }
    Ok(())
}

fn handed_with(occasion: Occasion) -> HandedWith {
    match occasion {
        Occasion::PostToolUse => HandedWith::ToolResult,
        Occasion::UserPromptSubmit => HandedWith::Prompt,
        _ => HandedWith::Turn,
    }
}

fn take(
    inbox: &Inbox,
    call: &Call,
    turn: Option<(AgentProcess, Turn)>,
    reader: BorrowedFd<'_>,
) -> Result<Delivery, Error> {
    let selection = Selection {
        // What it has just looked at itself need not be repeated at once.
        skip_shown: call.occasion == Occasion::PostToolUse,
        limit: Some(MAX_EVENTS_HOOK),
    };
    match (call.occasion, turn) {
        (Occasion::Wait, Some((agent, turn))) => {
            let outlive = inbox.outlive();
            let here = Conversation {
                session: inbox.session().clone(),
            };
            let has_left = || {
                let now = Conversation::of(outlive, &agent);
                !call.agent.profile().only_waits() && now != Some(here.clone())
            };
            let is_idle = || turn.is_latest(outlive, &agent, inbox.session()) && !has_left();
            wait(inbox, selection, reader, is_idle)
        }
        // The agent has ended.
        (Occasion::Wait, None) => Ok(Delivery::nothing(inbox)),
        _ => inbox::take(inbox, selection),
    }
}

/// The events in one text, with how many are left. Nothing is looked up here: the events were confirmed, and are
/// to go out at once.
pub fn text(delivery: &Delivery) -> String {
    let posts = delivery.inbox().outlive().home().posts();
    news(delivery.events(), delivery.more(), &posts)
}

/// What comes while something runs that it could come from, and the agent is idle.
fn wait(
    inbox: &Inbox,
    selection: Selection,
    reader: BorrowedFd<'_>,
    is_idle: impl Fn() -> bool,
) -> Result<Delivery, Error> {
    let mut waiter = Waiter::new(inbox)?.for_receiver(reader);
    loop {
        // During a turn other hooks tell. At its end another one waits.
        if !is_idle() || waiter.receiver_is_gone() {
            return Ok(Delivery::nothing(inbox));
        }
        let delivery = inbox::take(inbox, selection)?;
        if !delivery.is_empty() || delivery.nothing_can_come() {
            return Ok(delivery);
        }
        waiter.sleep_until_news(&delivery, None)?;
    }
}
