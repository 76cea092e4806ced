//! The command lines that run `sh` at a host, and by the words of a template.

use super::line::{Inherits, Line};
use crate::places::Unreached;
use outlive_core::place::SshHost;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

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

/// The command that runs `sh` at a host. `directory` is that of the place here.
pub fn ssh(host: &SshHost, directory: &Path) -> Line {
    // No variable of ours, in case the configuration sends variables.
    let advice = "install the client of OpenSSH";
    let mut line = Line::new("ssh", advice, Inherits::AllButOurs).with(["-T"]);
    for option in OPTIONS {
        line = line.with(["-o", option]);
    }
    if is_socket(&directory.join(MASTER)) {
        line = line.with(["-o", &format!("ControlPath={MASTER}")]);
        line.directory = Some(directory.to_owned());
    }
    // The jump hosts of a configuration are reached by an `ssh` that does not get our options. It has no terminal, so
    // it could ask with a window only; this program asks nothing and says no.
    line.set = vec![
        ("SSH_ASKPASS_REQUIRE".into(), "never".into()),
        ("SSH_ASKPASS".into(), "false".into()),
    ];
    line.with(ssh_options(host))
        .with(["--", &host.host, "exec sh"])
}

/// The user and the port of a host, as options of `ssh`.
pub fn ssh_options(host: &SshHost) -> Vec<String> {
    let user = host
        .user
        .iter()
        .flat_map(|user| ["-l".into(), user.clone()]);
    let port = host.port.iter();
    user.chain(port.flat_map(|port| ["-p".into(), port.to_string()]))
        .collect()
}

/// The template is split into words as a shell splits them, but no shell sees it: nothing in it is expanded.
pub fn template(template: &str) -> Result<Line, Unreached> {
    let refused = |why: &str| Unreached::Refused(format!("cmd:{template}: {why}"));
    let words = shlex::split(template).ok_or_else(|| refused("a quote is not closed"))?;
    let (name, arguments) = words
        .split_first()
        .ok_or_else(|| refused("there is no command"))?;
    // What runs there may inherit the environment, as with `cmd:sh`.
    Ok(Line::new(name, "name it by its path", Inherits::ForTools).with(arguments))
}

fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_split_and_nothing_in_it_is_expanded() {
        let line = template(r#"sh -c 'exec  sh' $HOME "a b" `date` ~ * ;"#).unwrap();
        let words = ["-c", "exec  sh", "$HOME", "a b", "`date`", "~", "*", ";"];
        assert_eq!(line.words, words);
    }

    #[test]
    fn ssh_forwards_nothing_and_asks_nothing() {
        let host = SshHost::parse("me@host:2222").unwrap();
        let words = ssh(&host, Path::new("/nowhere")).words;
        let words = words.join(" ".as_ref()).into_string().unwrap();
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
        let open = template("'sh").unwrap_err().to_string();
        assert!(open.contains("a quote is not closed"), "{open}");
        let missing = template("no-such-program x").unwrap().command();
        let missing = missing.unwrap_err().to_string();
        let words = "there is no program \"no-such-program\" here";
        assert!(missing.contains(words), "{missing}");
    }
}
