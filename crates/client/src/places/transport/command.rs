//! The command line that runs `sh` at an address.

use crate::environment;
use crate::places::Unreached;
use outlive_core::place::{Address, SshHost};
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `ssh` may not do for us, whatever the user's configuration says. Host keys are checked as it says.
///
/// Nobody is asked for anything, nothing of this machine is made available there, no command of the configuration is run
/// instead of ours, and a shared connection is used but not made.
const OPTIONS: [&str; 8] = [
    "BatchMode=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ControlMaster=no",
    // A reason is still said, even if the configuration asks for silence.
    "LogLevel=ERROR",
];

/// The socket of the connection that `place connect` left, in the directory of the place. `ssh` is started there and gets
/// this name alone, because the path of a socket must be short.
pub const MASTER: &str = "ssh";

/// The command for an address. `directory` is that of the place here. `None` for a place that can only run one command.
pub fn of(address: &Address, directory: &Path) -> Result<Option<Command>, Unreached> {
    match address {
        Address::Ssh(host) => ssh(host, directory).map(Some),
        Address::Command(template) => template_of(template).map(Some),
        Address::Text(_) | Address::Swerex(_) | Address::Caller(_) => Ok(None),
    }
}

fn ssh(host: &SshHost, directory: &Path) -> Result<Command, Unreached> {
    let mut command = Command::new(program("ssh", "install the client of OpenSSH")?);
    command.arg("-T");
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    if is_socket(&directory.join(MASTER)) {
        command.current_dir(directory);
        command.args(["-o", &format!("ControlPath={MASTER}")]);
    }
    ssh_options(&mut command, host);
    // The jump hosts of a configuration are reached by an `ssh` that does not get our options. It has no terminal, so
    // it could ask with a window only; this program asks nothing and says no.
    command.env("SSH_ASKPASS_REQUIRE", "never");
    command.env("SSH_ASKPASS", "false");
    // Nothing of ours, in case the configuration sends variables.
    for (name, _) in env::vars_os() {
        if name.as_bytes().starts_with(b"OUTLIVE_") {
            command.env_remove(name);
        }
    }
    command.args(["--", &host.host, "exec sh"]);
    Ok(command)
}

/// The user and the port of a host, as options of `ssh`.
pub fn ssh_options(command: &mut Command, host: &SshHost) {
    if let Some(user) = &host.user {
        command.args(["-l", user]);
    }
    if let Some(port) = host.port {
        command.args(["-p", &port.to_string()]);
    }
}

/// The template is split into words as a shell splits them, but no shell sees it: nothing in it is expanded.
fn template_of(template: &str) -> Result<Command, Unreached> {
    let refused = |why: &str| Unreached::Refused(format!("cmd:{template}: {why}"));
    let words = shlex::split(template).ok_or_else(|| refused("a quote is not closed"))?;
    template_command(&words)
}

/// A command of the user's that reaches a place, as its words.
pub fn template_command(words: &[impl AsRef<str>]) -> Result<Command, Unreached> {
    let refused = || Unreached::Refused("there is no command".to_owned());
    let (name, arguments) = words.split_first().ok_or_else(refused)?;
    let mut command = Command::new(program(name.as_ref(), "name it by its path")?);
    command.args(arguments.iter().map(AsRef::as_ref));
    // What runs there may inherit it, as with `cmd:sh`.
    let names = env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| !TOOL_VARIABLES.iter().any(|known| matches(known, name))) {
        command.env_remove(name);
    }
    Ok(command)
}

/// What the command of `cmd:` gets of the environment: what programs need to run, and what tools that enter other
/// systems read. A name that ends with `*` is the beginning of several.
const TOOL_VARIABLES: [&str; 24] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "XDG_*",
    "DBUS_*",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DOCKER_*",
    "PODMAN_*",
    "CONTAINER_*",
    "CONTAINERS_*",
    "KUBECONFIG",
    "KUBERNETES_*",
    "LXD_*",
    "INCUS_*",
    "LD_LIBRARY_PATH",
];

fn matches(known: &str, name: &OsStr) -> bool {
    match known.strip_suffix('*') {
        Some(start) => name.as_bytes().starts_with(start.as_bytes()),
        None => name == known,
    }
}

/// The path of a program of this machine.
fn program(name: &str, advice: &str) -> Result<PathBuf, Unreached> {
    if name.contains('/') {
        return Ok(name.into());
    }
    let found = environment::on_path(name);
    found.ok_or_else(|| Unreached::Refused(format!("there is no program {name:?} here; {advice}")))
}

fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    fn words(address: &str) -> Vec<String> {
        let address = Address::parse(address).unwrap();
        let command = of(&address, Path::new("/nowhere")).unwrap().unwrap();
        let words = command.get_args();
        words
            .map(|word| word.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_template_is_split_and_nothing_in_it_is_expanded() {
        assert_eq!(
            words(r#"cmd:sh -c 'exec  sh' $HOME "a b" `date` ~ * ;"#),
            ["-c", "exec  sh", "$HOME", "a b", "`date`", "~", "*", ";"]
        );
    }

    #[test]
    fn ssh_forwards_nothing_and_asks_nothing() {
        let Ok(_) = program("ssh", "") else {
            return;
        };
        let words = words("ssh:me@host:2222").join(" ");
        for option in [
            "BatchMode=yes",
            "ForwardAgent=no",
            "ForwardX11=no",
            "ClearAllForwardings=yes",
            "PermitLocalCommand=no",
            "ControlMaster=no",
        ] {
            assert!(words.contains(&format!("-o {option}")), "{option}: {words}");
        }
        assert!(
            !words.contains("HostKey"),
            "host keys are not our affair: {words}"
        );
        assert!(words.ends_with("-l me -p 2222 -- host exec sh"), "{words}");
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        for (address, why) in [
            ("cmd:'sh", "a quote is not closed"),
            (
                "cmd:no-such-program x",
                "there is no program \"no-such-program\" here",
            ),
        ] {
            let refused = of(&Address::parse(address).unwrap(), Path::new("/")).unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
    }
}
