//! `outlive setup`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::setup::{AgentStatus, FileAction, FileChange, SetupList, SetupPlan};
use outlive_kit::agent::Agent;
use outlive_kit::setup::{Refused, diff};
use outlive_kit::verbs::setup::{self, Action, AgentSetup, Change, Places, Plan, Scope};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

/// Plug Outlive into an agent: add its MCP entry, its hooks and short instructions
///
/// Without an agent, lists the agents that are found here and what setup would change. Setup asks before it
/// changes a file that it has not written to before, and keeps a copy beside it (`.outlive-backup`).
/// `--undo` restores that file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The agents: claude-code, codex, gemini, opencode, cursor
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
    /// Do not ask before changing your files
    #[arg(long, short)]
    yes: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let places = Places::of_user().map_err(outlive_kit::Error::from)?;
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
        (true, Action::Write) => return list(context, &setup::list(&places, &scope)),
        (true, Action::Undo) => Agent::all(),
        (false, _) => args.agents.clone(),
    };
    let plan = setup::plan(&places, &agents, &scope, action)?;
    if args.dry_run {
        return show(context, &plan);
    }
    if !args.yes && !agreed(&plan)? {
        context.say("nothing was changed");
        return Ok(Exit::Success);
    }
    for change in &plan.changes {
        if let Some(real) = &change.elsewhere {
            let (path, real) = (change.path.display(), real.display());
            context.say(&format!(
                "outlive: note: {path} leads to {real}, which setup changes"
            ));
        }
    }
    setup::apply(&plan)?;
    report(context, &plan)
}

/// Asks whether files that Outlive did not write may be changed.
fn agreed(plan: &Plan) -> Result<bool, Failure> {
    let foreign: Vec<&Change> = plan
        .changes
        .iter()
        .filter(|change| change.is_foreign)
        .collect();
    if foreign.is_empty() {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let paths = foreign.iter().map(|change| change.path.clone()).collect();
        return Err(outlive_kit::Error::from(Refused::NeedsYes(paths)).into());
    }
    let mut err = io::stderr().lock();
    writeln!(
        err,
        "These files are yours. Setup adds to them and keeps a copy of each beside it:"
    )?;
    for change in foreign {
        writeln!(err, "  {}{}", change.path.display(), link(change))?;
    }
    write!(err, "Change them? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
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
    });
    SetupPlan {
        changes: changes.collect(),
        notes: plan.notes.iter().map(ToString::to_string).collect(),
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

fn say_notes(context: &Context, plan: &Plan) {
    for note in &plan.notes {
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

fn list(context: &Context, found: &[AgentSetup]) -> Result<Exit, Failure> {
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
    for AgentSetup {
        agent,
        is_here,
        plan,
    } in found
    {
        let state = match (is_here, plan) {
            (_, Err(error)) => error.to_string(),
            (_, Ok(plan)) if plan.changes.is_empty() => "set up".to_owned(),
            (true, Ok(_)) => format!("found; `outlive setup {agent}` would:"),
            (false, Ok(_)) => "not found here".to_owned(),
        };
        context.print(&format!("{:12} {state}\n", agent.name()))?;
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
