//! Random numbers, for what must not meet its like.

use crate::error::Error;
use outlive_core::Incarnation;
use outlive_sys::file;

fn bytes<const BYTES: usize>() -> Result<[u8; BYTES], Error> {
    file::random().map_err(Error::io("cannot read", "/dev/urandom"))
}

/// For telling two of the same moment apart.
pub fn number() -> Result<u16, Error> {
    Ok(u16::from_ne_bytes(bytes()?))
}

/// For telling jobs of one id apart.
pub fn incarnation() -> Result<Incarnation, Error> {
    Ok(Incarnation::make(u32::from_ne_bytes(bytes()?)))
}

/// For telling any two apart.
pub fn token() -> Result<String, Error> {
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes()?)))
}
