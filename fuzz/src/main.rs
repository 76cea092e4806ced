//! `outlive-fuzz TARGET` reads inputs from standard input, each as its length (four bytes,
//! little-endian) and its bytes. It answers each with a newline after the target has tested it. So the
//! caller knows which input crashed or blocked it. Without a target, it lists the targets.
#![forbid(unsafe_code)]

use outlive_fuzz::{Check, TARGETS};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let asked = std::env::args().nth(1);
    let known = |(name, _): &&(&str, Check)| asked.as_deref() == Some(*name);
    let done = match (&asked, TARGETS.iter().find(known)) {
        (None, _) => list(),
        (Some(_), Some((_, check))) => take(*check),
        (Some(_), None) => return ExitCode::from(2),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn list() -> io::Result<()> {
    let mut out = io::stdout();
    TARGETS
        .iter()
        .try_for_each(|(name, _)| writeln!(out, "{name}"))
}

fn take(check: Check) -> io::Result<()> {
    let (mut from, mut to) = (BufReader::new(io::stdin()), io::stdout());
    let mut length = [0; 4];
    loop {
        match from.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut input = vec![0; u32::from_le_bytes(length) as usize];
        from.read_exact(&mut input)?;
        check(&input);
        to.write_all(b"\n")?;
        to.flush()?;
    }
}
