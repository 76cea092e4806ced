//! Which host this process is on, and whether others share a disk with it.
//!
//! A process number means something only within one boot of one machine, and there within one PID namespace:
//! a container has another one than the machine that it runs on.

use crate::linux::procfs;
use rustix::fs::statfs;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The host name of this machine or container.
pub fn name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// The kernel, its release and the type of the machine, such as `Linux 6.12.3 x86_64`.
pub fn system() -> String {
    let named = rustix::system::uname();
    let words = [named.sysname(), named.release(), named.machine()];
    words.map(|word| word.to_string_lossy()).join(" ")
}

/// The id that this machine was given when it was installed. Many containers have none.
pub fn machine_id() -> Option<String> {
    let text = fs::read_to_string("/etc/machine-id").ok()?;
    let id = text.trim();
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

/// The PID namespace of this process. The number is the machine's own: another machine may use the same one.
pub fn pid_namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

/// Which boot of this machine it is.
pub fn boot_id() -> io::Result<String> {
    procfs::boot_id()
}

/// Whether other machines may use the filesystem of this path at the same time.
pub fn is_shared(path: &Path) -> io::Result<bool> {
    // On some platforms the field is signed. Only its 32 bits matter.
    let kind = statfs(path)?.f_type as u32;
    Ok(SHARED.contains(&kind))
}

/// The numbers that `statfs` reports for filesystems that several machines can use at once. FUSE is one of them,
/// because it does not say what is behind it (sshfs, a directory shared with a virtual machine).
const SHARED: [u32; 19] = [
    0x0000_6969, // NFS
    0x0000_517b, // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x6573_5546, // FUSE, virtiofs
    0x0102_1997, // 9P
    0x00c3_6400, // Ceph
    0x0bd0_0bd0, // Lustre
    0x4750_4653, // GPFS
    0x1983_0326, // BeeGFS
    0x2003_0528, // OrangeFS
    0xaad7_aaea, // PanFS
    0x7461_636f, // OCFS2
    0x0116_1970, // GFS2
    0x5346_414f, // AFS
    0x6b41_4653, // kAFS
    0x7375_7245, // Coda
    0x786f_4256, // VirtualBox shared folders
    0xbacb_acbc, // VMware shared folders
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_boot_and_its_namespace() {
        assert!(!name().is_empty());
        assert!(pid_namespace().is_ok_and(|number| number > 0));
        assert!(boot_id().is_ok_and(|id| id.len() == 36));
    }

    #[test]
    fn a_filesystem_of_the_kernel_itself_is_not_shared() {
        assert!(matches!(is_shared(Path::new("/proc")), Ok(false)));
        assert!(is_shared(Path::new("/proc/there/is/none")).is_err());
    }
}
