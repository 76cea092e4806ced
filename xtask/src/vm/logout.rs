//! Starts jobs from a session, a service or a scope, and ends that. Checks which jobs survive, and what
//! `doctor` said before.

use super::Scenario;
use super::machine::{Machine, User};
use serde_json::Value;

/// Where the harness that starts the job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartedIn {
    /// A login over ssh.
    Session,
    /// A service or a scope of the user's own systemd.
    UserService,
    UserScope,
    /// A service of the system that runs as the user, or a scope of the system, which only root can
    /// make.
    SystemService,
    SystemScope,
}

/// How that is ended. In each case, the user is logged out afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndedBy {
    Logout,
    /// `loginctl terminate-session`, or `systemctl stop` of the unit.
    Stop,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    user: User,
    from: StartedIn,
    by: EndedBy,
    /// `KillUserProcesses`
    kills: bool,
    lingers: bool,
}

impl Case {
    fn survives(&self) -> bool {
        let stays = self.from == StartedIn::Session && self.by == EndedBy::Logout && !self.kills;
        self.user == User::Root || self.lingers || stays
    }

    /// Words that must be in `doctor`'s output.
    fn warning(&self) -> Option<&'static str> {
        match self.from {
            _ if self.user == User::Root || self.lingers => None,
            StartedIn::Session if self.kills => Some("a logout kills jobs"),
            StartedIn::Session => Some("a logout leaves jobs running"),
            StartedIn::UserService | StartedIn::UserScope => Some("your last logout does"),
            StartedIn::SystemService | StartedIn::SystemScope => {
                Some("a stop of this unit kills its jobs")
            }
        }
    }

    fn name(&self) -> String {
        let from = match self.from {
            StartedIn::Session => "ssh session",
            StartedIn::UserService => "user service",
            StartedIn::UserScope => "user scope",
            StartedIn::SystemService => "system service",
            StartedIn::SystemScope => "system scope",
        };
        let by = match self.by {
            EndedBy::Logout => "logout",
            EndedBy::Stop => "stop",
        };
        let yes = |yes| if yes { "yes" } else { "no" };
        let end = if self.survives() { "survives" } else { "ends" };
        format!(
            "{}, {from}, {by}, KillUserProcesses={}, linger={}: {end}",
            self.user.name(),
            yes(self.kills),
            yes(self.lingers)
        )
    }
}

/// All the places from which a user can start a job, and what differs for root.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |user, from, by, kills, lingers| {
        cases.push(Case {
            user,
            from,
            by,
            kills,
            lingers,
        });
    };
    for kills in [false, true] {
        for lingers in [false, true] {
            add(
                User::Job,
                StartedIn::Session,
                EndedBy::Logout,
                kills,
                lingers,
            );
            add(User::Job, StartedIn::Session, EndedBy::Stop, kills, lingers);
            // Each is first stopped, which the job survives, and then the user logs out.
            add(
                User::Job,
                StartedIn::UserService,
                EndedBy::Stop,
                kills,
                lingers,
            );
            add(
                User::Job,
                StartedIn::UserScope,
                EndedBy::Stop,
                kills,
                lingers,
            );
            add(
                User::Job,
                StartedIn::SystemService,
                EndedBy::Stop,
                kills,
                lingers,
            );
        }
        add(
            User::Root,
            StartedIn::Session,
            EndedBy::Logout,
            kills,
            false,
        );
        add(User::Root, StartedIn::Session, EndedBy::Stop, kills, false);
    }
    for from in [
        StartedIn::UserService,
        StartedIn::UserScope,
        StartedIn::SystemService,
        StartedIn::SystemScope,
    ] {
        add(User::Root, from, EndedBy::Stop, true, false);
    }
    cases
}

pub fn scenarios() -> Vec<Scenario> {
    let scenario = |(number, case): (usize, Case)| Scenario {
        name: case.name(),
        show: Box::new(move |machine| show(machine, case, &format!("c{number}"))),
    };
    cases().into_iter().enumerate().map(scenario).collect()
}

/// Starts a job from the calling shell. The job ends with code 7 after it is released. First `doctor`
/// prints what it sees there.
fn harness(id: &str) -> String {
    format!(
        "outlive doctor --json > /t/{id}.doctor
outlive run --id {id} --shell 'echo ${{XDG_RUNTIME_DIR-unset}}; until [ -e /t/{id}.go ]; do sleep 1; done; exit 7'
touch /t/{id}.up
"
    )
}

fn show(machine: &Machine, case: Case, id: &str) -> Result<(), String> {
    set_up(machine, case, id)?;
    match (case.from, case.by) {
        (StartedIn::Session, EndedBy::Logout) => machine.run(case.user, &harness(id)).map(drop)?,
        (StartedIn::Session, EndedBy::Stop) => terminate(machine, case.user, id)?,
        (StartedIn::UserService | StartedIn::UserScope, _) => {
            machine.run(case.user, &in_unit(case.from, id, ""))?;
        }
        (StartedIn::SystemService | StartedIn::SystemScope, _) => {
            let uid = format!("--uid={}", case.user.name());
            machine.run(User::Root, &in_unit(case.from, id, &uid))?;
        }
    }
    let doctor = wait_for_logout(machine, case, id)?;
    check_doctor(case, &doctor)?;
    check_job(machine, case, id)
}

/// Writes the settings of logind, and the harness as a script. After a logout, logind waits two seconds
/// for the user to come back, instead of ten.
fn set_up(machine: &Machine, case: Case, id: &str) -> Result<(), String> {
    let kills = if case.kills { "yes" } else { "no" };
    let linger = if case.lingers { "enable" } else { "disable" };
    let script = format!(
        "mkdir -p /etc/systemd/logind.conf.d
printf '[Login]\\nKillUserProcesses={kills}\\nUserStopDelaySec=2\\n' > /etc/systemd/logind.conf.d/vm.conf
systemctl restart systemd-logind
loginctl {linger}-linger jobuser
cat > /t/{id}.sh <<'E'
{}exec sleep 600
E
",
        harness(id)
    );
    machine.run(User::Root, &script).map(drop)
}

/// Runs the harness in a unit, waits for its job, stops the unit, and checks whether the job is alive.
fn in_unit(from: StartedIn, id: &str, uid: &str) -> String {
    let (whose, unit) = match from {
        StartedIn::UserService => ("--user", "service"),
        StartedIn::UserScope => ("--user", "scope"),
        StartedIn::SystemScope => ("--system", "scope"),
        _ => ("--system", "service"),
    };
    let (scope, after) = match unit {
        "scope" => ("--scope", "> /dev/null 2>&1 < /dev/null &"),
        _ => ("", ""),
    };
    let uid = if unit == "scope" { "" } else { uid };
    format!(
        "set -e
systemd-run {whose} {scope} {uid} -q --collect --unit=harness-{id} sh /t/{id}.sh {after}
until [ -e /t/{id}.up ]; do sleep 0.5; done
systemctl {whose} stop harness-{id}.{unit}
"
    )
}

/// Starts the harness in a session, which is then terminated from another one.
fn terminate(machine: &Machine, user: User, id: &str) -> Result<(), String> {
    let mut session = machine.stay(user, &format!("sh /t/{id}.sh"))?;
    let ended = machine.run(
        User::Root,
        &format!(
            "until [ -e /t/{id}.up ]; do sleep 0.5; done
session=$(grep -o 'session-[^.]*.scope' /t/{id}.doctor | head -1)
session=${{session#session-}}
loginctl terminate-session ${{session%.scope}}
"
        ),
    );
    let _ = session.kill();
    let _ = session.wait();
    ended.map(drop)
}

/// Waits until logind sees nobody logged in and the user's systemd has stopped, if it will. Returns
/// what `doctor` said before.
fn wait_for_logout(machine: &Machine, case: Case, id: &str) -> Result<String, String> {
    let logged_out = "
tries=0
until case $(loginctl show-user jobuser -p State --value 2>&1) in active|online|opening) false;; esac; do
    tries=$((tries + 1)); [ $tries -lt 60 ] || exit 1; sleep 1
done";
    // Root is logged in now, and a service of the system needs no login.
    let is_left = case.user == User::Job && case.from != StartedIn::SystemService;
    let until = if is_left { logged_out } else { "" };
    machine.run(User::Root, &format!("{until}\nsleep 6; cat /t/{id}.doctor"))
}

fn check_doctor(case: Case, said: &str) -> Result<(), String> {
    let report: Value = serde_json::from_str(said).map_err(|error| error.to_string())?;
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let check = checks.iter().find(|check| check["name"] == "control group");
    let check = check.ok_or("doctor says nothing of control groups")?;
    let means = check["means"].as_str().unwrap_or_default();
    let is_right = match case.warning() {
        None => check["verdict"] == "good",
        Some(words) => check["verdict"] == "less" && means.contains(words),
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("doctor said {check}")),
    }
}

fn check_job(machine: &Machine, case: Case, id: &str) -> Result<(), String> {
    let script = format!(
        "touch /t/{id}.go; outlive wait {id} --timeout 90s --quiet > /dev/null; outlive show {id} --json; outlive log {id} >&2"
    );
    let text = machine.run(case.user, &script)?;
    let job: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let outcome = &job["outcome"];
    let is_right = match case.survives() {
        true => outcome["code"] == 7,
        // The job got a signal, and its keepers recorded that or were killed before they could.
        false => outcome["kind"] == "signaled" || outcome["kind"] == "lost",
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("it is {}, {outcome}", job["state"])),
    }
}
