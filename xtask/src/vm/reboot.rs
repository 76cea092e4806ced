//! The machine restarts while jobs run: once orderly, when systemd stops them first, and once like a
//! power cut.

use super::Scenario;
use super::machine::{Machine, User};

pub fn scenarios() -> Vec<Scenario> {
    // systemd sends SIGTERM to every job. Its keepers record the end unless they are killed first.
    let orderly = "case $said in *SIGTERM*|*lost*) ;; *) echo \"$said\"; exit 1;; esac";
    let abrupt = "case $said in *lost*'the machine was restarted while it ran'*) ;; *) echo \"$said\"; exit 1;; esac";
    let scenario =
        |name: &str, id: &'static str, how: &'static str, ended: &'static str| Scenario {
            name: format!("a restart, {name}; names and lists are whole"),
            show: Box::new(move |machine| show(machine, id, how, ended)),
        };
    vec![
        scenario(
            "orderly: jobs end by SIGTERM",
            "r1",
            "systemctl reboot",
            orderly,
        ),
        scenario(
            "as by a power cut: jobs are lost",
            "r2",
            "sync; systemctl reboot --force --force",
            abrupt,
        ),
    ]
}

fn show(machine: &Machine, id: &str, how: &str, ended: &str) -> Result<(), String> {
    let users = [User::Root, User::Job];
    for user in users {
        let start = format!(
            "outlive run --id {id}-done -- true && outlive wait {id}-done && outlive run --id {id} --name {id}-web -- sleep 3000"
        );
        machine.run(user, &start)?;
    }
    machine.restart(how)?;
    for user in users {
        let check = format!(
            "set -e
said=$(outlive show {id}-web)
{ended}
if outlive wait {id}; then echo 'wait said 0'; exit 1; fi
outlive list | grep -q '^{id} '
outlive list | grep -q '^{id}-done  *exited 0'
outlive run --name {id}-web -- sh -c 'exit 3'
if outlive wait {id}-web; then exit 1; else [ $? = 3 ]; fi
"
        );
        machine.run(user, &check)?;
    }
    Ok(())
}
