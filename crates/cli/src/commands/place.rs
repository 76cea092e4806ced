//! `outlive place`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use clap::Subcommand;
use outlive::Timestamp;
use outlive::api::place::{Fetch, PlaceAnswer, PlaceCheck, PlaceStatus};
use outlive::api::reply::Verdict;
use outlive::verbs::place::{self, AddPlace};
use outlive::words::cut;
use outlive::{count, units};
use std::time::Duration;

/// Name other machines that jobs run on, and see whether they can be reached
///
/// A place is named by its address (ssh:HOST, docker:NAME, cmd:COMMAND), or by a name that config.toml gives it.
/// Nothing has to be installed there. `outlive run --place PLACE` runs a job there.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Add(Box<Add>),
    /// List the places, whether each was reached at the last attempt, and its jobs
    List,
    /// Reach places, and say who answers and what is less there than here
    ///
    /// Exits with 125 if a place cannot be reached.
    Check {
        /// Places to reach; without one, all that are configured
        #[arg(value_name = "PLACE")]
        places: Vec<String>,
    },
    /// Log in to a place with ssh, in this terminal, and stay logged in
    ///
    /// Jobs and other commands never ask for a password or a second factor. After this command, they use the
    /// connection that it leaves in the background. `place remove` ends that connection, and so does a network that is
    /// down for 45 s.
    Connect {
        /// The place
        #[arg(value_name = "PLACE")]
        place: String,
    },
    /// Remove a place from the configuration, and what is known of it
    ///
    /// Refused while jobs of this home are there, also ended ones: their output is there.
    Remove {
        /// The place
        #[arg(value_name = "PLACE")]
        place: String,
        /// Remove it in any case. The outcome of jobs that are not over becomes `lost`; they may still run there
        #[arg(long)]
        forget: bool,
    },
    /// Remove programs of other versions of Outlive at a place, if no job needs them
    Clean {
        /// The place
        #[arg(value_name = "PLACE")]
        place: String,
    },
}

/// Give a place a name, in the configuration
///
/// Adds a table to config.toml and leaves the rest of the file as it is.
#[derive(Debug, clap::Args)]
struct Add {
    /// Name of the place, for --place
    name: String,
    /// How it is reached: ssh:[USER@]HOST[:PORT], docker:NAME, podman:NAME, apptainer:instance://NAME,
    /// kube:[CONTEXT/][NAMESPACE/]pod/NAME, or cmd:COMMAND, which runs `sh` there
    address: String,
    /// Configured place through which it is reached, such as the host of a container
    #[arg(long, value_name = "PLACE")]
    via: Option<String>,
    /// Directory that jobs run in there [default: where a login begins]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Directory that holds the jobs there; --home is the one here
    #[arg(long, value_name = "DIR")]
    far_home: Option<String>,
    /// Give jobs the environment of a login shell
    #[arg(long)]
    login: bool,
    /// Environment variable of every job there; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Copy the output of jobs here when they end, or never [default: end for containers and pods]
    #[arg(long, value_name = "WHEN", value_parser = fetch)]
    fetch: Option<Fetch>,
    /// Try to reach it for this long [default: 30s]
    #[arg(long, value_name = "DUR", value_parser = super::positive_duration)]
    reach: Option<Duration>,
    /// Replace what the configuration says about this name
    #[arg(long)]
    replace: bool,
}

/// For clap: a variable with its value. The error does not repeat it, because the value may be a secret.
fn variable(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE"),
    }
}

/// For clap: when an output is copied here.
fn fetch(text: &str) -> Result<Fetch, &'static str> {
    match text {
        "end" => Ok(Fetch::End),
        "never" => Ok(Fetch::Never),
        _ => Err("write end or never"),
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    match args.verb {
        Verb::Add(asked) => add(context, *asked)?,
        Verb::List => list(context)?,
        Verb::Check { places } => return check(context, &places),
        Verb::Connect { place } => connect(context, &place)?,
        Verb::Remove { place, forget } => remove(context, &place, forget)?,
        Verb::Clean { place } => clean(context, &place)?,
    }
    Ok(Exit::Success)
}

fn add(context: &Context, asked: Add) -> Result<(), Failure> {
    let asked = AddPlace {
        name: asked.name,
        address: asked.address,
        via: asked.via,
        fetch: asked.fetch,
        cwd: asked.cwd,
        home: asked.far_home,
        login: asked.login,
        env: asked.env.into_iter().collect(),
        reach: asked.reach,
        replace: asked.replace,
    };
    let added = place::add(&context.outlive, &asked)?;
    if context.json {
        return context.print_json(&added);
    }
    let (name, file) = (&added.name, added.file.lossy());
    context.say(&format!(
        "outlive: {name} is in {file}; try it: outlive place check {name}"
    ));
    Ok(())
}

fn list(context: &Context) -> Result<(), Failure> {
    let list = place::list(&context.outlive)?;
    if context.json {
        return context.print_json(&list);
    }
    if list.places.is_empty() {
        context.say("no places; `outlive place add NAME ssh:HOST` adds one");
        return Ok(());
    }
    let heads = ["NAME", "ADDRESS", "CONTACT", "HEARD", "JOBS"];
    let rows = list.places.iter().map(row).collect();
    let table = render::aligned(&heads, rows).concat();
    context.print(&outlive::visible(&table))
}

fn row(place: &PlaceStatus) -> Vec<String> {
    // The address of a place without a name is its name.
    let address = match &place.address {
        None => "not configured any more".to_owned(),
        Some(address) if *address == place.name => "-".to_owned(),
        Some(address) => cut(address, 60),
    };
    let jobs = match (place.jobs, place.running) {
        (0, _) => "none".to_owned(),
        (jobs, 0) => format!("{jobs} ended"),
        (jobs, running) if jobs == running => format!("{running} running"),
        (jobs, running) => format!("{running} running, {} ended", jobs - running),
    };
    let now = outlive::clock::wall();
    let seconds = |at: Timestamp| now.ms().saturating_sub(at.unix_ms()) / 1000;
    let heard = match place.heard_at.map(seconds) {
        None => "-".to_owned(),
        Some(0) => "now".to_owned(),
        Some(ago) => format!("{} ago", units::show_duration(Duration::from_secs(ago))),
    };
    vec![
        place.name.clone(),
        address,
        place.contact.as_str().to_owned(),
        heard,
        jobs,
    ]
}

fn check(context: &Context, places: &[String]) -> Result<Exit, Failure> {
    let checks = place::check(&context.outlive, places)?;
    match context.json {
        true => context.print_json(&checks)?,
        false => {
            if checks.places.is_empty() {
                context.say("no places; `outlive place add NAME ssh:HOST` adds one");
            }
            for place in &checks.places {
                context.print(&outlive::visible(&text(place)))?;
            }
        }
    }
    Ok(match checks.is_broken() {
        true => Exit::Unknown,
        false => Exit::Success,
    })
}

fn text(place: &PlaceCheck) -> String {
    let mut text = match place.name == place.address {
        true => format!("{}\n", place.name),
        false => format!("{} ({})\n", place.name, place.address),
    };
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("  {name:10}  {value}\n"));
    };
    match (&place.answer, &place.error) {
        (Some(answer), _) => describe(answer, &mut line),
        (None, Some(error)) => line("NOT REACHED", &error.message),
        (None, None) => line("NOT REACHED", "no answer"),
    }
    text
}

fn describe(answer: &PlaceAnswer, line: &mut impl FnMut(&str, &str)) {
    line("reached", &format!("{}, as {}", answer.host, answer.user));
    line("system", &answer.system);
    line("jobs in", &answer.home.lossy());
    line("start in", &answer.directory.lossy());
    let ms = answer.round_trip_us as f64 / 1000.0;
    line("round trip", &format!("{ms:.1} ms"));
    for check in &answer.less {
        let mark = match check.verdict {
            Verdict::Broken => "BROKEN",
            _ => "LESS",
        };
        line(mark, &format!("{}: {}", check.name, check.found));
        line("", &check.means);
    }
    for note in &answer.notes {
        line("LESS", note);
    }
}

fn connect(context: &Context, place: &str) -> Result<(), Failure> {
    let connected = place::connect(&context.outlive, place)?;
    if context.json {
        return context.print_json(&connected);
    }
    context.say(&match connected.already {
        true => format!("outlive: {} is logged in already", connected.name),
        false => format!(
            "outlive: logged in to {}; jobs use this connection",
            connected.name
        ),
    });
    Ok(())
}

fn remove(context: &Context, place: &str, forget: bool) -> Result<(), Failure> {
    let removed = place::remove(&context.outlive, place, forget)?;
    if context.json {
        return context.print_json(&removed);
    }
    let name = &removed.name;
    let mut text = match &removed.file {
        Some(file) => format!("outlive: {name} was removed from {}", file.lossy()),
        None => format!("outlive: what was known of {name} was removed"),
    };
    if !removed.forgotten.is_empty() {
        let lost = count(removed.forgotten.len() as u64, "job");
        text.push_str(&format!(
            "; {lost} may still run there, and nobody will hear of it"
        ));
    }
    context.say(&text);
    Ok(())
}

fn clean(context: &Context, place: &str) -> Result<(), Failure> {
    let cleaned = place::clean(&context.outlive, place)?;
    if context.json {
        return context.print_json(&cleaned);
    }
    match cleaned.removed.is_empty() {
        true => context.say(&format!(
            "outlive: there was nothing to remove at {}",
            cleaned.name
        )),
        false => {
            for name in &cleaned.removed {
                context.print(&outlive::visible(name))?;
            }
        }
    }
    Ok(())
}
