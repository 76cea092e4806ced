//! A restart of the machine while jobs run.

use super::Scenario;
use super::machine::{Machine, User};

pub fn scenarios() -> Vec<Scenario> {
    vec![Scenario {
        name: "a restart: jobs are lost, and said so; names and lists are whole".to_owned(),
        show: Box::new(show),
    }]
}

fn show(machine: &Machine) -> Result<(), String> {
    let users = [User::Root, User::Job];
    for user in users {
        machine.run(
            user,
            "outlive run --id done -- true && outlive wait done && outlive run --id boot --name web -- sleep 3000",
        )?;
    }
    machine.restart()?;
    for user in users {
        // `wait` ends with 1 or more for a job that is lost.
        machine.run(
            user,
            "set -e
said=$(outlive show web)
case $said in *lost*'the machine was restarted while it ran'*) ;; *) echo \"$said\"; exit 1;; esac
if outlive wait boot; then echo 'wait said 0'; exit 1; fi
outlive list > /tmp/list-$$
grep -q 'lost' /tmp/list-$$; grep -q '^done  *exited 0' /tmp/list-$$; rm /tmp/list-$$
outlive run --name web --id again -- sh -c 'exit 3'
if outlive wait web; then exit 1; else [ $? = 3 ]; fi
",
        )?;
    }
    Ok(())
}
