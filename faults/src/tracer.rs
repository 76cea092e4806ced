//! The process that traces a launch and everything it starts, and injects the planned fault at one system call.
//!
//! `outlive-faults --trace ROLE N FAULT OUT RECORD PROGRAM ARG…`: runs the program with its output in
//! files that begin with `OUT`, and records in the directory `RECORD` what it does to files (`-`: nowhere).
//! It prints `struck CALL` at the fault, `launched CODE` when the program has ended, and one line of JSON
//! when no traced process is left. It is a separate process, because only a process with a single thread
//! may fork, and a tracer must wait for all of its children.
//!
//! ```text
//!  launcher ─fork─► (ends) ─fork─► standby ─fork─► keeper ─fork─► the job, which is no longer traced
//! ```

use crate::calls::{self, Fault};
use crate::plan::{Plan, Role};
use crate::recorder::Recorder;
use crate::subject;
use outlive_sys::process::Status;
use outlive_sys::trace::{self, Call, Stop, Until};
use outlive_sys::{child, tree};
use outlive_testkit::processes::{KILL, kill};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the tracer with the arguments after `--trace`.
pub fn main(arguments: &[String]) -> io::Result<()> {
    let bad = || io::Error::other("these arguments are not for people");
    let (plan, rest) = Plan::from_words(arguments).ok_or_else(bad)?;
    let [out, record, program, words @ ..] = rest else {
        return Err(bad());
    };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    command.stdout(File::create(out)?);
    command.stderr(File::create(Path::new(out).with_extension("err"))?);
    let home = std::env::var_os("OUTLIVE_HOME").unwrap_or_default();
    let recorder = match record.as_str() {
        "-" => None,
        record => Some(Recorder::begin((&home).into(), record.into())?),
    };
    Tracer::run(plan, command, recorder, home.into())
}

struct Tracer {
    plan: Plan,
    home: PathBuf,
    recorder: Option<Recorder>,
    launcher: i32,
    traced: HashMap<i32, Traced>,
    /// New processes that have stopped at their start before their parent's fork was reported.
    early: HashSet<i32>,
    /// Processes of the job itself, which are released as soon as they stop at their start.
    strangers: HashSet<i32>,
    /// How many calls of each role each fault could have hit.
    counts: HashMap<(Role, &'static str), usize>,
    /// The process that the launcher started. It only forks the standby, and counts as the standby.
    launched: Option<i32>,
    /// Whether the fault has happened.
    is_done: bool,
    has_keeper: bool,
}

struct Traced {
    role: Role,
    /// Whether it runs our code, and no longer the loader's.
    is_own: bool,
    /// The call that it is in.
    call: Option<Call>,
    /// The error to return for that call, which the kernel is told to skip.
    failing: Option<i32>,
}

impl Tracer {
    fn run(
        plan: Plan,
        mut command: Command,
        recorder: Option<Recorder>,
        home: PathBuf,
    ) -> io::Result<()> {
        if plan.fault == Fault::KillBoth {
            // When both keepers die, their orphans come to this process, which reaps them at once, like a first
            // process that is quick. Otherwise the job's status could still be read long after its end.
            tree::become_subreaper()?;
        }
        let (mut wait, mut go) = io::pipe()?;
        let launcher = child::fork(|| {
            let _ = wait.read(&mut [0]);
            let error = command.exec();
            error.raw_os_error().unwrap_or(1)
        })?;
        trace::seize(launcher)?;
        go.write_all(b"g")?;
        let mut tracer = Tracer {
            plan,
            home,
            recorder,
            launcher,
            traced: HashMap::new(),
            early: HashSet::new(),
            strangers: HashSet::new(),
            counts: HashMap::new(),
            launched: None,
            is_done: false,
            has_keeper: false,
        };
        tracer.adopt(launcher, Role::Launcher, false);
        while let Some((pid, stop)) = trace::next()? {
            tracer.handle(pid, stop)?;
        }
        if let Some(recorder) = tracer.recorder.take() {
            recorder.end()?;
        }
        say(&tracer.report().to_string())
    }

    fn adopt(&mut self, pid: i32, role: Role, is_own: bool) {
        let traced = Traced {
            role,
            is_own,
            call: None,
            failing: None,
        };
        self.traced.insert(pid, traced);
    }

    fn handle(&mut self, pid: i32, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Began if self.strangers.remove(&pid) => trace::let_go(pid),
            Stop::Began if self.traced.contains_key(&pid) => self.go_on(pid, 0),
            Stop::Began => {
                self.early.insert(pid);
                Ok(())
            }
            Stop::Entered(call) => {
                self.entered(pid, call)?;
                self.go_on(pid, 0)
            }
            Stop::Left => {
                self.left(pid)?;
                self.go_on(pid, 0)
            }
            Stop::Forked { child, is_process } => {
                self.forked(pid, child, is_process)?;
                self.go_on(pid, 0)
            }
            Stop::Executed => {
                if let Some(traced) = self.traced.get_mut(&pid) {
                    traced.is_own = false;
                }
                self.go_on(pid, 0)
            }
            Stop::Signalled(signal) => self.go_on(pid, signal),
            Stop::Suspended => trace::leave_suspended(pid),
            Stop::Ended(status) => {
                self.traced.remove(&pid);
                match (pid == self.launcher, status) {
                    (false, _) => Ok(()),
                    (true, Status::Exited { code }) => say(&format!("launched {code}")),
                    (true, Status::Signaled { signal, .. }) => {
                        say(&format!("launched {}", 128 + signal))
                    }
                }
            }
        }
    }

    /// Lets a process run on. It stops at every system call only if the plan needs its calls.
    fn go_on(&self, pid: i32, signal: i32) -> io::Result<()> {
        let matters = |traced: &Traced| {
            let is_meant = self.plan.role.is_none_or(|role| role == traced.role);
            (is_meant && !self.is_done) || traced.failing.is_some()
        };
        let until = match self.traced.get(&pid).is_some_and(matters) {
            true => Until::Call,
            false => Until::Event,
        };
        trace::go_on(pid, until, signal)
    }

    fn forked(&mut self, parent: i32, child: i32, is_process: bool) -> io::Result<()> {
        let role = match self.traced.get(&parent).map(|traced| traced.role) {
            Some(role) if !is_process => Some(role),
            Some(Role::Launcher) => {
                self.launched = Some(child);
                Some(Role::Standby)
            }
            Some(Role::Standby) if self.launched == Some(parent) => Some(Role::Standby),
            Some(Role::Standby) if !self.has_keeper => {
                self.has_keeper = true;
                Some(Role::Keeper)
            }
            _ => None,
        };
        let is_early = self.early.remove(&child);
        match role {
            Some(role) => self.adopt(child, role, true),
            None if is_early => return trace::let_go(child),
            None => drop(self.strangers.insert(child)),
        }
        match is_early {
            true => self.go_on(child, 0),
            // It is released when it stops at its start.
            false => Ok(()),
        }
    }

    fn left(&mut self, pid: i32) -> io::Result<()> {
        let Some(traced) = self.traced.get_mut(&pid) else {
            return Ok(());
        };
        if let (Some(recorder), Some(call)) = (&mut self.recorder, traced.call.take()) {
            recorder.after(pid, call);
        }
        match traced.failing.take() {
            Some(errno) => trace::answer(pid, errno),
            None => Ok(()),
        }
    }

    fn entered(&mut self, pid: i32, call: Call) -> io::Result<()> {
        let Some(traced) = self.traced.get_mut(&pid) else {
            return Ok(());
        };
        traced.call = Some(call);
        if !traced.is_own {
            traced.is_own = calls::is_last_before_main(call.number);
            return Ok(());
        }
        let role = traced.role;
        // Without a fault the calls are counted for every fault, otherwise only for this one.
        let fault = self.plan.fault;
        let counted = match self.plan.role {
            Some(_) => vec![fault],
            None => calls::FAULTS.to_vec(),
        };
        for fault in counted {
            if subject::can_meet(fault, pid, call, &self.home) {
                *self.counts.entry((role, fault.word())).or_default() += 1;
            }
        }
        let is_it = || {
            self.plan.role == Some(role)
                && subject::can_meet(fault, pid, call, &self.home)
                && self.counts.get(&(role, fault.word())) == Some(&self.plan.at)
        };
        if self.is_done || !is_it() {
            return Ok(());
        }
        let words = call.arguments.map(|word| format!("{word:x}")).join(", ");
        say(&format!("struck {}({words})", calls::name(call.number)))?;
        self.is_done = true;
        match self.plan.fault.errno() {
            None => {
                let is_kept = |role: Role| role != Role::Launcher;
                for (other, traced) in &self.traced {
                    if *other == pid || fault == Fault::KillBoth && is_kept(traced.role) {
                        kill(*other, KILL);
                    }
                }
                Ok(())
            }
            errno => {
                traced.failing = errno;
                trace::skip(pid)
            }
        }
    }

    fn report(&self) -> Value {
        let count = |((role, fault), count): (&(Role, &str), &usize)| {
            (format!("{} {fault}", role.word()), json!(count))
        };
        let counts: serde_json::Map<String, Value> = self.counts.iter().map(count).collect();
        json!({ "has_keeper": self.has_keeper, "counts": counts })
    }
}

/// Writes a line for the process that planned this.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}
