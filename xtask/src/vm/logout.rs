//! Jobs whose harness is in a session, a service or a scope, and what ends that: who survives, and what `doctor`
//! said before.

use super::Scenario;
use super::machine::{Machine, User};
use serde_json::Value;

/// Where the harness is that starts the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// A login over ssh.
    Session,
    /// A service or a scope of the user's own systemd.
    UserService,
    UserScope,
    /// A service of the system, which runs as the user; a scope of the system, which only root can make.
    SystemService,
    SystemScope,
}

/// What ends that. Whatever it is, the user is logged out afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Logout,
    /// `loginctl terminate-session`, or `systemctl stop` of the unit.
    Stop,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    user: User,
    from: From,
    by: By,
    /// `KillUserProcesses`
    kills: bool,
    lingers: bool,
}

impl Case {
    fn survives(&self) -> bool {
        let stays = self.from == From::Session && self.by == By::Logout && !self.kills;
        self.user == User::Root || self.lingers || stays
    }

    /// What is to be among `doctor`'s words.
    fn warning(&self) -> Option<&'static str> {
        match self.from {
            _ if self.user == User::Root || self.lingers => None,
            From::Session if self.kills => Some("a logout kills jobs"),
            From::Session => Some("a logout leaves jobs running"),
            From::UserService | From::UserScope => Some("your last logout does"),
            From::SystemService | From::SystemScope => Some("a stop of this unit kills its jobs"),
        }
    }

    fn name(&self) -> String {
        let from = match self.from {
            From::Session => "ssh session",
            From::UserService => "user service",
            From::UserScope => "user scope",
            From::SystemService => "system service",
            From::SystemScope => "system scope",
        };
        let by = match self.by {
            By::Logout => "logout",
            By::Stop => "stop",
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

/// All that a user can be in, and what differs for root.
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
            add(User::Job, From::Session, By::Logout, kills, lingers);
            add(User::Job, From::Session, By::Stop, kills, lingers);
            // Each is stopped first, which the job survives, and then comes the logout.
            add(User::Job, From::UserService, By::Stop, kills, lingers);
            add(User::Job, From::UserScope, By::Stop, kills, lingers);
            add(User::Job, From::SystemService, By::Stop, kills, lingers);
        }
        add(User::Root, From::Session, By::Logout, kills, false);
        add(User::Root, From::Session, By::Stop, kills, false);
    }
    for from in [
        From::UserService,
        From::UserScope,
        From::SystemService,
        From::SystemScope,
    ] {
        add(User::Root, from, By::Stop, true, false);
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

/// Starts a job that ends with 7 once it is let go, from the shell that runs this. `doctor` says first what it sees
/// there.
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
        (From::Session, By::Logout) => machine.run(case.user, &harness(id)).map(drop)?,
        (From::Session, By::Stop) => terminate(machine, case.user, id)?,
        (From::UserService | From::UserScope, _) => {
            machine.run(case.user, &in_unit(case.from, id, ""))?;
        }
        (From::SystemService | From::SystemScope, _) => {
            let uid = format!("--uid={}", case.user.name());
            machine.run(User::Root, &in_unit(case.from, id, &uid))?;
        }
    }
    let doctor = wait_for_logout(machine, case, id)?;
    check_doctor(case, &doctor)?;
    check_job(machine, case, id)
}

/// The settings of logind, and the harness as a script. Who has logged out is given two seconds to come back,
/// instead of ten.
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

/// Runs the harness in a unit, waits for its job, stops the unit, and looks whether the job lives.
fn in_unit(from: From, id: &str, uid: &str) -> String {
    let (whose, unit) = match from {
        From::UserService => ("--user", "service"),
        From::UserScope => ("--user", "scope"),
        From::SystemScope => ("--system", "scope"),
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

/// Starts the harness in a session, which is then ended from another one.
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

/// Until logind has seen that nobody is logged in, and the user's systemd has ended, where it will. Gives what
/// `doctor` said before.
fn wait_for_logout(machine: &Machine, case: Case, id: &str) -> Result<String, String> {
    let logged_out = "
tries=0
until case $(loginctl show-user jobuser -p State --value 2>&1) in active|online|opening) false;; esac; do
    tries=$((tries + 1)); [ $tries -lt 60 ] || exit 1; sleep 1
done";
    // Root is logged in now, and a service of the system needs no login.
    let is_left = case.user == User::Job && case.from != From::SystemService;
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
        // The job got a signal, and its keepers wrote that down or were killed before they could.
        false => outcome["kind"] == "signaled" || outcome["kind"] == "lost",
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("it is {}, {outcome}", job["state"])),
    }
}
