//! Why a transport ended: its status and its last words, as a reason that people and programs can act on.

use super::ended::{Ended, How};
use crate::places::Unreached;
use outlive_core::place::{Address, SshHost};
use outlive_core::quote;

/// The status of `ssh` if it failed itself. Another status is that of the command there.
const SSH_FAILED: i32 = 255;

/// Words of `ssh` that say that we may not.
const DENIED: [&str; 7] = [
    "Permission denied",
    "Host key verification failed",
    "REMOTE HOST IDENTIFICATION HAS CHANGED",
    "Too many authentication failures",
    "No supported authentication methods",
    "Authentication failed",
    "no mutual signature algorithm",
];

/// Words of `ssh` and the resolver that say that there is no such host.
const NO_SUCH_HOST: [&str; 3] = [
    "Could not resolve hostname",
    "Name or service not known",
    "nodename nor servname provided",
];

const TIMED_OUT: [&str; 3] = [
    "Connection timed out",
    "Operation timed out",
    "timed out during banner exchange",
];

/// Why a transport to this address ended before the far end ran, or when nobody ended it.
///
/// `noise` is what it wrote on its output.
pub fn of(address: &Address, ended: &Ended, noise: &str) -> Unreached {
    let said = said(&ended.words).or_else(|| said(noise));
    match address {
        Address::Ssh(host) => of_ssh(host, ended, said),
        Address::Container(container) => plain(container.engine.as_str(), ended.how, said),
        Address::Instance(instance) => plain(instance.runner.as_str(), ended.how, said),
        Address::Image(image) => plain(image.runner.as_str(), ended.how, said),
        Address::Pod(_) => plain("kubectl", ended.how, said),
        Address::Command(_) => plain("the command", ended.how, said),
        // Our own program says it in our own words.
        Address::Text(_) | Address::Swerex(_) | Address::Caller(_) => {
            let lines = ended.words.lines().rev();
            let why = lines
                .into_iter()
                .find_map(|line| serde_json::from_str(line).ok());
            why.unwrap_or_else(|| plain("the tunnel", ended.how, said))
        }
    }
}

/// Why a program could not be asked: it failed.
pub fn of_question(program: &str, ended: &Ended) -> Unreached {
    plain(program, ended.how, said(&ended.words))
}

fn of_ssh(host: &SshHost, ended: &Ended, said: Option<String>) -> Unreached {
    let has_failed = ended.how == How::Code(SSH_FAILED);
    let words = &ended.words;
    let says = |known: &[&str]| has_failed && known.iter().any(|known| words.contains(known));
    let text = said.clone().unwrap_or_default();
    if says(&["REMOTE HOST IDENTIFICATION HAS CHANGED"]) {
        return Unreached::Denied(format!(
            "{} answers with another host key than the one that is known; if that is right, run `ssh-keygen -R {}`",
            host.host, host.host
        ));
    }
    if says(&["Host key verification failed"]) {
        return Unreached::Denied(format!(
            "the host key of {0} is not known here; run `ssh {0}` once, and compare the key",
            host.host
        ));
    }
    if says(&DENIED) {
        return Unreached::Denied(format!(
            "{text}; nobody is asked for a password here: give {} a key, or log in with `outlive place connect`",
            host.host
        ));
    }
    if says(&NO_SUCH_HOST) {
        return Unreached::NoSuchInstance(text);
    }
    if says(&TIMED_OUT) {
        return Unreached::TimedOut;
    }
    plain("ssh", ended.how, said)
}

/// Of a transport whose words mean nothing to us.
fn plain(name: &str, ended: How, said: Option<String>) -> Unreached {
    let how = match ended {
        How::Code(code) => format!("ended with exit code {code}"),
        How::Signal(signal) => format!("was killed by signal {signal}"),
        How::Unknown => "did not end".to_owned(),
    };
    match (said, ended.code()) {
        // Of a shell: it cannot execute the program, or does not find what it takes to load it.
        (Some(said), Some(126 | 127)) => {
            Unreached::NoProgram(format!("what was started there cannot run: {said}"))
        }
        (Some(said), _) => Unreached::Refused(format!("{said} ({name} {how})")),
        (None, _) => Unreached::Refused(format!("{name} {how}")),
    }
}

/// The most of the last words that is repeated.
const MAX_WORDS: usize = 300;

/// The last lines of a text that are not empty. What a place writes is not to be trusted, so it is made harmless.
fn said(text: &str) -> Option<String> {
    const LINES: usize = 2;
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    let visible = quote::line(&last);
    let surplus = visible.chars().count().saturating_sub(MAX_WORDS);
    let short: String = visible.chars().skip(surplus).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    fn ssh(code: i32, words: &str) -> Unreached {
        let address = Address::parse("ssh:box").unwrap();
        let ended = Ended {
            how: How::Code(code),
            words: words.to_owned(),
        };
        of(&address, &ended, "")
    }

    #[test]
    fn the_words_of_ssh_become_reasons() {
        let table = [
            ("root@box: Permission denied (publickey).\r\n", "denied"),
            (
                "No ED25519 host key is known for box and you have requested strict checking.\r\nHost key verification failed.\r\n",
                "denied",
            ),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
                "denied",
            ),
            (
                "ssh: Could not resolve hostname box: Name or service not known\r\n",
                "no_such_instance",
            ),
            (
                "ssh: connect to host box port 22: Connection timed out\r\n",
                "timed_out",
            ),
            (
                "ssh: connect to host box port 22: Connection refused\r\n",
                "refused",
            ),
            (
                "ssh: connect to host box port 22: No route to host\r\n",
                "refused",
            ),
            (
                "kex_exchange_identification: Connection closed by remote host",
                "refused",
            ),
            ("", "refused"),
        ];
        for (words, kind) in table {
            let why = serde_json::to_value(ssh(255, words)).unwrap();
            let found = match &why {
                serde_json::Value::String(kind) => kind.clone(),
                other => other.as_object().unwrap().keys().next().unwrap().clone(),
            };
            assert_eq!(found, kind, "{words:?}: {why}");
        }
    }

    /// The command there can write anything on its standard error.
    #[test]
    fn words_count_only_if_ssh_itself_failed() {
        let why = ssh(1, "Permission denied");
        assert!(matches!(why, Unreached::Refused(_)), "{why:?}");
    }

    #[test]
    fn a_program_that_cannot_be_executed_is_named_so() {
        let why = ssh(126, "sh: /tmp/x/far-1: Permission denied");
        assert!(matches!(why, Unreached::NoProgram(_)), "{why:?}");
    }

    #[test]
    fn what_is_repeated_is_short_and_harmless() {
        let why = ssh(255, &format!("{}\u{1b}[31m\n", "x".repeat(5000))).to_string();
        assert!(why.len() < 500 && !why.contains('\u{1b}'), "{why}");
    }
}
