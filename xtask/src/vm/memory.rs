//! Shows that if one process of a job uses all memory, the kernel kills only that process, and systemd
//! does not kill the rest of the job.

use super::Scenario;
use super::machine::{Machine, User};

pub fn scenarios() -> Vec<Scenario> {
    let scenario = |user: User| Scenario {
        name: format!(
            "{}: a process out of memory does not take its job down",
            user.name()
        ),
        show: Box::new(move |machine| show(machine, user)),
    };
    vec![scenario(User::Root), scenario(User::Job)]
}

fn show(machine: &Machine, user: User) -> Result<(), String> {
    machine.run(User::Root, "loginctl enable-linger jobuser")?;
    machine
        .run(
            user,
            "outlive run --id memory --shell 'tail /dev/zero; echo killed $?; sleep 10; exit 7'
outlive wait memory --timeout 200s; code=$?
log=$(outlive log memory)
case $log in *'killed 137'*) ;; *) echo \"$log\"; exit 1;; esac
[ $code = 7 ] || { outlive show memory; exit 1; }",
        )
        .map(drop)
}
