//! Random numbers for ids that must be unique.

use crate::error::Error;
use outlive_core::Incarnation;
use outlive_core::far::HomeId;
use outlive_sys::file;

fn bytes<const BYTES: usize>() -> Result<[u8; BYTES], Error> {
    file::random().map_err(Error::io("cannot read", "/dev/urandom"))
}

/// For an id that must be unique among the ids of one millisecond.
pub fn number() -> Result<u16, Error> {
    Ok(u16::from_ne_bytes(bytes()?))
}

/// For telling apart jobs with the same id.
pub fn incarnation() -> Result<Incarnation, Error> {
    Ok(Incarnation::make(u32::from_ne_bytes(bytes()?)))
}

/// For a home, among all homes of all machines.
pub fn home() -> Result<HomeId, Error> {
    Ok(HomeId::from_bits(u128::from_ne_bytes(bytes()?)))
}

/// For a name that must be unique everywhere.
pub fn token() -> Result<String, Error> {
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes()?)))
}
