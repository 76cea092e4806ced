//! Reads a secret from where the configuration says it is.

use crate::error::NotRung;
use outlive::config::Secret;
use outlive::environment;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A longer file is a mistake and not a secret.
const MAX: u64 = 64 << 10;

pub fn read(secret: &Secret) -> Result<Vec<u8>, NotRung> {
    let bytes = match secret {
        Secret::Variable(name) => environment::non_empty(name)
            .ok_or_else(|| NotRung::NoVariable(name.clone()))?
            .into_vec(),
        Secret::File(path) => read_file(path)?,
    };
    match bytes.is_empty() {
        true => Err(NotRung::EmptySecret),
        false => Ok(bytes),
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, NotRung> {
    let failed = |source| NotRung::SecretFile {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    // Check the open file, so that the checked file is the one that is read.
    let metadata = file.metadata().map_err(failed)?;
    let is_foreign = ![outlive_sys::process::own::user_id(), 0].contains(&metadata.uid());
    if is_foreign || metadata.mode() & 0o077 != 0 {
        return Err(NotRung::ExposedSecret(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX).read_to_end(&mut bytes).map_err(failed)?;
    // Editors and `echo` end a file with a line break that is not part of the secret.
    while bytes
        .last()
        .is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
    {
        bytes.pop();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("secret");
        fs::write(&path, "s3cret\n").expect("is written");
        let secret = Secret::File(path.clone());
        for (mode, is_read) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("is changed");
            match read(&secret) {
                Ok(bytes) => assert!(is_read && bytes == b"s3cret", "{mode:o}"),
                Err(error) => {
                    assert!(!is_read, "{mode:o}: {error}");
                    assert!(error.to_string().contains("chmod 600"), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_missing_secret_is_an_error_and_nothing_is_posted_unsigned() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("secret");
        assert!(matches!(
            read(&Secret::File(path.clone())),
            Err(NotRung::SecretFile { .. })
        ));
        fs::write(&path, "\n").expect("is written");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("is changed");
        assert!(matches!(
            read(&Secret::File(path)),
            Err(NotRung::EmptySecret)
        ));
        assert!(matches!(
            read(&Secret::Variable("OUTLIVE_TEST_UNSET".to_owned())),
            Err(NotRung::NoVariable(_))
        ));
    }
}
