//! The environment of a login shell, for jobs that are to have it.
//!
//! The shell reads its profile and then runs `env`. Whatever the profile prints comes before a marker, so it is in no
//! job's output. The far end asks once.

use crate::environment;
use crate::error::Error;
use crate::random;
use outlive_sys::process::own;
use outlive_sys::{poll, spawn};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A profile that takes longer waits for something, such as a person.
const PATIENCE: Duration = Duration::from_secs(20);

/// More than any environment that a program can be started with.
const MOST: usize = 4 * 1024 * 1024;

/// What the shell itself sets while it runs `env`.
const OWN: [&str; 4] = ["_", "SHLVL", "PWD", "OLDPWD"];

/// The variables of a login shell.
pub fn variables() -> Result<Vec<(OsString, OsString)>, Error> {
    let shell = shell();
    let marker = format!("outlive-{}", random::token()?);
    let read = read(&shell, &marker).map_err(Error::io("cannot read the environment of", &shell));
    parse(&read?, marker.as_bytes())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it did not print it"))
        .map_err(Error::io("cannot read the environment of", &shell))
}

/// The user's shell.
fn shell() -> PathBuf {
    let own = environment::non_empty("SHELL").map(PathBuf::from);
    own.filter(|shell| shell.is_absolute() && shell.is_file())
        .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

fn read(shell: &Path, marker: &str) -> io::Result<Vec<u8>> {
    // A hyphen before its name makes every shell a login shell.
    let mut name = OsString::from("-");
    name.push(shell.file_name().unwrap_or(OsStr::new("sh")));
    let mut command = Command::new(shell);
    command
        .arg0(name)
        .args(["-c", &format!("echo {marker}; env -0")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = spawn::start(&mut command)?;
    let read = read_from(&mut child);
    if let Ok(leader) = i32::try_from(child.id()) {
        // A profile may have started something, and a shell that takes too long still runs.
        let _ = own::kill_group(leader);
    }
    let _ = child.wait();
    read
}

fn read_from(child: &mut Child) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let Some(output) = child.stdout.as_mut() else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    while bytes.len() <= MOST {
        let limit = until.saturating_duration_since(Instant::now());
        if limit.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let on = [(output.as_fd(), poll::Interest::Readable)];
        if poll::wait(&on, Some(limit))? != [true] {
            continue;
        }
        match output.read(&mut buffer)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    Err(io::ErrorKind::FileTooLarge.into())
}

/// What follows the marker and its newline.
fn parse(printed: &[u8], marker: &[u8]) -> Option<Vec<(OsString, OsString)>> {
    let mut lines = printed.windows(marker.len());
    let at = lines.rposition(|window| window == marker)? + marker.len();
    let rest = printed[at..].strip_prefix(b"\n")?;
    let entries = rest
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty());
    let mut variables = Vec::new();
    for entry in entries {
        let equals = entry.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&entry[..equals], &entry[equals + 1..]);
        if !name.is_empty() && !OWN.iter().any(|own| own.as_bytes() == name) {
            variables.push((
                OsString::from_vec(name.to_vec()),
                OsString::from_vec(value.to_vec()),
            ));
        }
    }
    (!variables.is_empty()).then_some(variables)
}

/// The variables of this process that a login shell does not have.
pub fn absent(login: &[(OsString, OsString)]) -> Vec<OsString> {
    let is_kept = |name: &OsString| {
        login.iter().any(|(known, _)| known == name)
            || OWN.iter().any(|own| own.as_bytes() == name.as_bytes())
    };
    let names = env::vars_os().map(|(name, _)| name);
    names.filter(|name| !is_kept(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_profile_prints_is_no_variable() {
        let printed = b"Welcome!\nA=1\nmark\nHOME=/h\0TEXT=a\nb=c\0_=/bin/env\0SHLVL=1\0";
        let expected = vec![
            (OsString::from("HOME"), OsString::from("/h")),
            (OsString::from("TEXT"), OsString::from("a\nb=c")),
        ];
        assert_eq!(parse(printed, b"mark"), Some(expected));
        for wrong in [
            &b""[..],
            b"mark",
            b"mark\n",
            b"Welcome",
            b"mark\nno variable\0",
        ] {
            assert_eq!(parse(wrong, b"mark"), None);
        }
    }
}
