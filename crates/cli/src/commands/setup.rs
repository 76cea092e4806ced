//! `outlive setup`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::setup::{AgentStatus, FileAction, FileChange, SetupList, SetupPlan};
use outlive_kit::agent::Agent;
use outlive_kit::setup::{Refused, diff};
use outlive_kit::verbs::setup::{self, Action, AgentSetup, Change, Places, Plan, Request, Scope};
use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

/// Plug Outlive into an agent: add its MCP entry, its hooks and short instructions
///
/// Without an agent, lists the agents that are found here and what setup would change. Setup changes all files or
/// none, and writes down what they contained. `--undo` restores that. Setup asks before it changes a file that it
/// has not written to before, before it replaces an entry named `outlive` that it did not write, and before it lets
/// an agent call Outlive's tools without asking.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The agents: claude-code, codex, gemini, opencode, cursor, qwen, copilot, droid, kilo, auggie, amp, crush, cline
    #[arg(value_parser = Agent::parse)]
    agents: Vec<Agent>,
    /// Set up this directory for everyone who works in it, instead of your own user
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Remove what setup has added, and nothing else; without an agent, for all agents
    #[arg(long)]
    undo: bool,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before changing your files; does not imply --approve or --replace
    #[arg(long, short)]
    yes: bool,
    /// Let the agent call Outlive's tools without asking you; jobs run as you, outside the agent's sandbox
    #[arg(long, conflicts_with_all = ["no_approve", "undo"])]
    approve: bool,
    /// Let the agent ask you, and take back --approve
    #[arg(long, conflicts_with = "undo")]
    no_approve: bool,
    /// Replace entries named `outlive` that setup did not write; --undo restores them
    #[arg(long, conflicts_with = "undo")]
    replace: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let home = context.outlive.home().root().to_owned();
    let places = Places::of_user(home).map_err(outlive_kit::Error::from)?;
    let scope = match &args.project {
        Some(root) => Scope::Project(std::path::absolute(root)?),
        None => Scope::User,
    };
    let action = if args.undo {
        Action::Undo
    } else {
        Action::Write
    };
    let agents = match (args.agents.is_empty(), action) {
        (true, Action::Write) => return list(context, &places, &scope),
        (true, Action::Undo) => Agent::all(),
        (false, _) => args.agents.clone(),
    };
    let mut request = Request {
        agents: &agents,
        scope: &scope,
        action,
        answers: args.answers(&agents),
    };
    let mut plan = setup::plan(&places, &request)?;
    if args.dry_run {
        return show(context, &plan);
    }
    if !args.agreed(&plan)? {
        context.say("nothing was changed");
        return Ok(Exit::Success);
    }
    let restored = setup::recover(&places)?;
    let asks = !plan.offers.is_empty() && scope == Scope::User && args.may_ask();
    if asks {
        request.answers.extend(ask_offers(&plan)?);
    }
    if asks || restored.is_some() {
        plan = setup::plan(&places, &request)?;
        plan.notes.splice(0..0, restored.map(str::to_owned));
    }
    for change in &plan.changes {
        if let Some(real) = &change.elsewhere {
            let (path, real) = (change.path.display(), real.display());
            context.say(&format!(
                "outlive: note: {path} leads to {real}, which setup changes"
            ));
        }
    }
    setup::apply(&places, &plan)?;
    report(context, &plan)
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints the question and reads the answer of a person.
fn ask(question: &str) -> Result<bool, Failure> {
    let mut err = io::stderr().lock();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

impl Args {
    /// The answers that the options give.
    fn answers(&self, agents: &[Agent]) -> BTreeMap<Agent, bool> {
        let has_answer = self.approve || self.no_approve;
        let answered = agents.iter().filter(|_| has_answer);
        answered.map(|agent| (*agent, self.approve)).collect()
    }

    fn may_ask(&self) -> bool {
        is_terminal() && !self.yes
    }

    /// Asks what has to be asked before anything is written.
    fn agreed(&self, plan: &Plan) -> Result<bool, Failure> {
        Ok((self.replace || may_replace(plan)?) && (self.yes || may_change(plan)?))
    }
}

/// Asks whether entries that Outlive did not write may be replaced.
fn may_replace(plan: &Plan) -> Result<bool, Failure> {
    let replaced = plan.changes.iter().flat_map(|change| &change.replaces);
    let replaced: Vec<String> = replaced.cloned().collect();
    if replaced.is_empty() {
        return Ok(true);
    }
    if !is_terminal() {
        return Err(outlive_kit::Error::from(Refused::Foreign(replaced)).into());
    }
    let mut err = io::stderr().lock();
    writeln!(err, "Setup did not write these. --undo would restore them:")?;
    for what in replaced {
        writeln!(err, "  {what}")?;
    }
    ask("Replace them?")
}

/// Asks whether files that Outlive did not write may be changed.
fn may_change(plan: &Plan) -> Result<bool, Failure> {
    let foreign: Vec<&Change> = plan
        .changes
        .iter()
        .filter(|change| change.is_foreign)
        .collect();
    if foreign.is_empty() {
        return Ok(true);
    }
    if !is_terminal() {
        let paths = foreign.iter().map(|change| change.path.clone()).collect();
        return Err(outlive_kit::Error::from(Refused::NeedsYes(paths)).into());
    }
    let mut err = io::stderr().lock();
    writeln!(
        err,
        "These files are yours. Setup adds to them, and --undo restores them:"
    )?;
    for change in foreign {
        writeln!(err, "  {}{}", change.path.display(), link(change))?;
    }
    ask("Change them?")
}

/// Asks for each agent whether it may call our tools without asking.
fn ask_offers(plan: &Plan) -> Result<BTreeMap<Agent, bool>, Failure> {
    let mut answers = BTreeMap::new();
    for (agent, offer) in &plan.offers {
        let question = format!(
            "{}. If you allow it, {}.\nAllow {agent} to call Outlive's tools without asking?",
            offer.without, offer.with
        );
        answers.insert(*agent, ask(&question)?);
    }
    Ok(answers)
}

fn link(change: &Change) -> String {
    match &change.elsewhere {
        Some(real) => format!(" (leads to {})", real.display()),
        None => String::new(),
    }
}

fn action(change: &Change) -> FileAction {
    match (change.before(), change.after()) {
        (None, _) => FileAction::Create,
        (Some(_), Some(_)) => FileAction::Change,
        (Some(_), None) => FileAction::Remove,
    }
}

fn setup_plan(plan: &Plan) -> SetupPlan {
    let changes = plan.changes.iter().map(|change| FileChange {
        path: change.path.display().to_string(),
        real_path: change
            .elsewhere
            .as_deref()
            .map(|path| path.display().to_string()),
        action: action(change),
        asks: change.is_foreign,
        replaces: change.replaces.clone(),
    });
    SetupPlan {
        changes: changes.collect(),
        notes: notes(plan),
    }
}

fn report(context: &Context, plan: &Plan) -> Result<Exit, Failure> {
    if context.json {
        context.print_json(&setup_plan(plan))?;
        return Ok(Exit::Success);
    }
    for change in &plan.changes {
        context.print(&format!(
            "{}d {}\n",
            action(change).as_str(),
            change.path.display()
        ))?;
    }
    if plan.changes.is_empty() {
        context.say("nothing to do");
    }
    say_notes(context, plan);
    Ok(Exit::Success)
}

/// What a person should know, with what setup has not allowed because nobody said so.
fn notes(plan: &Plan) -> Vec<String> {
    let offers = plan.offers.iter().map(|(agent, offer)| {
        format!(
            "{agent} was not allowed to call Outlive's tools without asking: {}. With --approve, {}",
            offer.without, offer.with
        )
    });
    let replaces = plan.changes.iter().flat_map(|change| &change.replaces);
    let replaces =
        replaces.map(|what| format!("setup did not write this, and replaces it: {what}"));
    replaces
        .chain(plan.obstacles.iter().cloned())
        .chain(plan.notes.iter().cloned())
        .chain(offers)
        .collect()
}

fn say_notes(context: &Context, plan: &Plan) {
    for note in notes(plan) {
        context.say(&format!("outlive: note: {note}"));
    }
}

/// Prints every change as removed and added lines.
fn show(context: &Context, plan: &Plan) -> Result<Exit, Failure> {
    if context.json {
        context.print_json(&setup_plan(plan))?;
        return Ok(Exit::Success);
    }
    for change in &plan.changes {
        let lines = diff(
            change.before().unwrap_or_default(),
            change.after().unwrap_or_default(),
        );
        let path = change.path.display();
        context.print(&format!(
            "{} {path}{}\n{lines}",
            action(change).as_str(),
            link(change)
        ))?;
    }
    if plan.changes.is_empty() {
        context.say("nothing to do");
    }
    say_notes(context, plan);
    Ok(Exit::Success)
}

fn list(context: &Context, places: &Places, scope: &Scope) -> Result<Exit, Failure> {
    let found = setup::list(places, scope);
    if context.json {
        let agents = found.iter().map(|found| AgentStatus {
            agent: found.agent.name().to_owned(),
            found: found.is_here,
            plan: found.plan.as_ref().ok().map(setup_plan),
            error: found.plan.as_ref().err().map(ToString::to_string),
        });
        context.print_json(&SetupList {
            agents: agents.collect(),
        })?;
        return Ok(Exit::Success);
    }
    if let Some(note) = setup::unfinished(places)? {
        context.say(&format!("outlive: note: {note}"));
    }
    for AgentSetup {
        agent,
        is_here,
        plan,
    } in &found
    {
        let state = match (is_here, plan) {
            (_, Err(error)) => error.to_string(),
            (_, Ok(plan)) if plan.changes.is_empty() => "set up".to_owned(),
            (true, Ok(_)) => format!("found; `outlive setup {agent}` would:"),
            (false, Ok(_)) => "not found here".to_owned(),
        };
        context.print(&format!("{:12} {state}\n", agent.name()))?;
        for obstacle in plan.iter().flat_map(|plan| &plan.obstacles) {
            context.print(&format!("  note: {obstacle}\n"))?;
        }
        for change in plan
            .iter()
            .flat_map(|plan| &plan.changes)
            .filter(|_| *is_here)
        {
            context.print(&format!(
                "  {} {}{}\n",
                action(change).as_str(),
                change.path.display(),
                link(change)
            ))?;
        }
    }
    Ok(Exit::Success)
}
