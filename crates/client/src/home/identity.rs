//! The name of a home for other machines: the file `home-id`.
//!
//! A place keeps the jobs of another home under this name, and a courier knows by it whether it talks to the home it
//! knows. So it is made once and never changes; a home that is moved keeps it.

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::random;
use outlive_core::far::HomeId;
use outlive_core::layout;
use outlive_sys::lock;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What the file has: the digits and a newline.
const LENGTH: usize = 33;

/// The id of this home. It is made if there is none, and is on the disk before anybody knows it.
pub(crate) fn home_id(outlive: &Outlive) -> Result<HomeId, Error> {
    if let Some(id) = read(outlive)? {
        return Ok(id);
    }
    let path = outlive.home().home_id();
    outlive.prepare()?;
    let failed = || Error::io("cannot write", &path);
    let file = layout::open_or_make(&path).map_err(failed())?;
    // Whoever writes it does so under this lock, which ends with the file.
    lock::wait(&file).map_err(failed())?;
    match parse(&layout::read(&path).map_err(failed())?).map_err(failed())? {
        Some(id) => Ok(id),
        None => {
            let id = random::home()?;
            write(&file, &id, &path).map_err(failed())?;
            Ok(id)
        }
    }
}

/// The id of this home, if it has one.
pub(crate) fn read(outlive: &Outlive) -> Result<Option<HomeId>, Error> {
    let path = outlive.home().home_id();
    let read = match layout::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.and_then(|bytes| parse(&bytes)),
    };
    read.map_err(Error::io("cannot read", &path))
}

fn write(file: &File, id: &HomeId, path: &Path) -> io::Result<()> {
    file.write_all_at(format!("{id}\n").as_bytes(), 0)?;
    layout::sync_all(file)?;
    path.parent().map_or(Ok(()), layout::sync_directory)
}

/// `None` if it is incomplete: then it was never used, because its writer did not get as far as to sync it.
fn parse(bytes: &[u8]) -> io::Result<Option<HomeId>> {
    if bytes.len() < LENGTH {
        return Ok(None);
    }
    let text = std::str::from_utf8(bytes).ok();
    let id = text.and_then(|text| HomeId::parse(text.strip_suffix('\n')?).ok());
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is no id of a home");
    id.map(Some).ok_or_else(damaged)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::thread;

    #[test]
    fn a_home_has_one_id_whoever_asks_first() {
        let world = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(world.path().join("home")).unwrap();
        let ask = || home_id(&outlive).unwrap().to_string();
        let ids: BTreeSet<String> = thread::scope(|scope| {
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(ids.len(), 1);
        assert!(ids.contains(&ask()));
    }

    #[test]
    fn an_incomplete_id_is_replaced_and_a_damaged_one_is_reported() {
        let world = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(world.path().join("home")).unwrap();
        outlive.prepare().unwrap();
        fs::write(outlive.home().home_id(), "0123").unwrap();
        let made = home_id(&outlive).unwrap();
        assert_eq!(home_id(&outlive).unwrap(), made);
        fs::write(outlive.home().home_id(), "x".repeat(33)).unwrap();
        assert!(home_id(&outlive).is_err());
    }
}
