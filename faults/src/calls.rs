//! System calls by name, and which errors each can really fail with.

/// What the tracer does at a system call: make it fail with an error, or kill the process that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Kill,
    /// Kills both keepers, whichever of them makes the call.
    KillBoth,
    /// The disk is full: ENOSPC.
    NoSpace,
    /// The disk has a hardware error: EIO.
    Broken,
    /// No file descriptor is free: EMFILE.
    NoDescriptor,
    /// No process or no memory can be had at the moment: EAGAIN.
    TryAgain,
    /// A signal interrupted the call: EINTR.
    Interrupted,
}

pub const FAULTS: [Fault; 7] = [
    Fault::Kill,
    Fault::KillBoth,
    Fault::NoSpace,
    Fault::Broken,
    Fault::NoDescriptor,
    Fault::TryAgain,
    Fault::Interrupted,
];

/// The name, the number and two words. The first word has a letter for each fault that can happen to the call
/// (`s`pace, `b`roken, `d`escriptor, try `a`gain, `i`nterrupted). The second says which argument names the file
/// (`f`ile descriptor or `p`ath, and its position).
type Known = (&'static str, i64, &'static str);

macro_rules! calls {
    ($($name:ident $faults:literal)*) => {
        &[$((stringify!($name), libc::$name, $faults)),*]
    };
}

/// Calls that exist on every architecture.
const EVERYWHERE: &[Known] = calls! {
    SYS_accept4 "di f0" SYS_bind "" SYS_chdir "b p0" SYS_clone "a" SYS_clone3 "a" SYS_close "" SYS_connect "i"
    SYS_dup "d" SYS_dup3 "d" SYS_epoll_create1 "d" SYS_epoll_pwait "i" SYS_eventfd2 "d" SYS_execve "b p0"
    SYS_exit_group "" SYS_fallocate "sb f0" SYS_fchmod "b f0" SYS_fchmodat "b p1" SYS_fcntl "" SYS_fdatasync "sb f0"
    SYS_fstat "" SYS_fsync "sb f0" SYS_ftruncate "b f0" SYS_getdents64 "b f0" SYS_getrandom "" SYS_ioctl ""
    SYS_kill "" SYS_linkat "sb p1" SYS_lseek "" SYS_memfd_create "d" SYS_mkdirat "sb p1" SYS_mknodat "sb p1"
    SYS_mmap "" SYS_mprotect "" SYS_munmap "" SYS_newfstatat "b p1" SYS_openat "sbd p1" SYS_pidfd_open "d"
    SYS_pidfd_send_signal "" SYS_pipe2 "d" SYS_ppoll "i" SYS_prctl "" SYS_pread64 "bi f0" SYS_preadv "bi f0"
    SYS_pwrite64 "sbi f0" SYS_pwritev "sbi f0" SYS_read "bi f0" SYS_readlinkat "b p1" SYS_readv "bi f0" SYS_recvfrom "i f0"
    SYS_recvmsg "i f0" SYS_renameat "sb p1" SYS_renameat2 "sb p1" SYS_sendmsg "i f0" SYS_sendto "i f0" SYS_setsid ""
    SYS_socket "d" SYS_socketpair "d" SYS_splice "sbi f2" SYS_statx "b p1" SYS_symlinkat "sb p2"
    SYS_timerfd_create "d" SYS_timerfd_settime "" SYS_unlinkat "b p1" SYS_utimensat "b p1" SYS_vmsplice ""
    SYS_wait4 "i" SYS_waitid "i" SYS_write "sbi f0" SYS_writev "sbi f0" SYS_signalfd4 "d" SYS_rt_sigaction ""
    SYS_rt_sigprocmask "" SYS_sigaltstack "" SYS_futex "" SYS_brk "" SYS_getpid "" SYS_getppid ""
    SYS_listen "" SYS_shutdown "" SYS_getsockopt "" SYS_setsockopt "" SYS_umask "" SYS_prlimit64 ""
    SYS_clock_nanosleep "i" SYS_faccessat "b p1" SYS_getcwd "" SYS_copy_file_range "sb f2" SYS_statfs "b p0"
    SYS_fstatfs "b f0" SYS_flock "" SYS_close_range "" SYS_sched_yield "" SYS_geteuid "" SYS_getuid ""
};

/// Calls that exist only on older architectures, where the C library still uses them.
#[cfg(target_arch = "x86_64")]
const OLDER: &[Known] = calls! {
    SYS_accept "di f0" SYS_access "b p0" SYS_chmod "b p0" SYS_dup2 "d" SYS_epoll_wait "i" SYS_fork "a" SYS_link "sb p1"
    SYS_lstat "b p0" SYS_mkdir "sb p0" SYS_mknod "sb p0" SYS_open "sbd p0" SYS_pipe "d" SYS_poll "i" SYS_readlink "b p0"
    SYS_rename "sb p0" SYS_rmdir "b p0" SYS_select "i" SYS_stat "b p0" SYS_symlink "sb p1" SYS_unlink "b p0"
    SYS_vfork "a" SYS_getdents "b f0" SYS_arch_prctl ""
};
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Known] = &[];

fn known(number: u64) -> Option<&'static Known> {
    let all = EVERYWHERE.iter().chain(OLDER);
    all.into_iter().find(|known| known.1 as u64 == number)
}

/// The name of a call, without `SYS_`.
pub fn name(number: u64) -> String {
    match known(number) {
        Some((name, _, _)) => name.trim_start_matches("SYS_").to_owned(),
        None => format!("call {number}"),
    }
}

/// Whether a Rust program makes this call just before its `main`. The calls before it are made by the loader and the C
/// library.
pub fn is_last_before_main(number: u64) -> bool {
    number == libc::SYS_sigaltstack as u64
}

/// Whether this call writes the content of a file or directory to the disk.
pub fn is_sync(number: u64) -> bool {
    [libc::SYS_fsync, libc::SYS_fdatasync].contains(&(number as i64))
}

/// Whether this call can change a file or directory: a full disk can make it fail, or it removes something.
pub fn may_change_files(number: u64) -> bool {
    let name = name(number);
    Fault::NoSpace.can_hit(number)
        || ["ftruncate", "unlink", "unlinkat", "rmdir"].contains(&name.as_str())
}

impl Fault {
    pub fn word(self) -> &'static str {
        match self {
            Fault::Kill => "SIGKILL",
            Fault::KillBoth => "SIGKILL-to-both",
            Fault::NoSpace => "ENOSPC",
            Fault::Broken => "EIO",
            Fault::NoDescriptor => "EMFILE",
            Fault::TryAgain => "EAGAIN",
            Fault::Interrupted => "EINTR",
        }
    }

    pub fn from_word(word: &str) -> Option<Fault> {
        FAULTS.into_iter().find(|fault| fault.word() == word)
    }

    /// The error of this fault. `None` if the fault kills the process instead.
    pub fn errno(self) -> Option<i32> {
        match self {
            Fault::Kill | Fault::KillBoth => None,
            Fault::NoSpace => Some(libc::ENOSPC),
            Fault::Broken => Some(libc::EIO),
            Fault::NoDescriptor => Some(libc::EMFILE),
            Fault::TryAgain => Some(libc::EAGAIN),
            Fault::Interrupted => Some(libc::EINTR),
        }
    }

    /// Whether this fault can happen to a call with this number. A process can be killed at any call, but a full disk
    /// cannot make a read fail, for example.
    pub fn can_hit(self, number: u64) -> bool {
        let letter = match self {
            Fault::Kill | Fault::KillBoth => return true,
            Fault::NoSpace => 's',
            Fault::Broken => 'b',
            Fault::NoDescriptor => 'd',
            Fault::TryAgain => 'a',
            Fault::Interrupted => 'i',
        };
        let letters = |(_, _, words): &Known| words.split(' ').next().unwrap_or_default();
        known(number).is_some_and(|known| letters(known).contains(letter))
    }
}

/// The argument that names the file or path of a call, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    File(usize),
    Path(usize),
}

/// The argument that names the file or path of this call, if it has one.
pub fn subject(number: u64) -> Option<Argument> {
    let (_, _, words) = known(number)?;
    let (_, place) = words.split_once(' ')?;
    let index = place[1..].parse().ok()?;
    match place.starts_with('f') {
        true => Some(Argument::File(index)),
        false => Some(Argument::Path(index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_fails_only_as_the_kernel_lets_it() {
        let write = libc::SYS_write as u64;
        let hits: Vec<&str> = FAULTS
            .into_iter()
            .filter(|fault| fault.can_hit(write))
            .map(Fault::word)
            .collect();
        assert_eq!(
            hits,
            ["SIGKILL", "SIGKILL-to-both", "ENOSPC", "EIO", "EINTR"]
        );
        assert!(!Fault::NoSpace.can_hit(libc::SYS_read as u64));
        assert_eq!(name(write), "write");
        assert_eq!(name(99_999), "call 99999");
    }

    #[test]
    fn what_a_call_is_about_is_known() {
        assert_eq!(subject(libc::SYS_splice as u64), Some(Argument::File(2)));
        assert_eq!(subject(libc::SYS_openat as u64), Some(Argument::Path(1)));
        assert_eq!(subject(libc::SYS_getpid as u64), None);
        for (name, _, words) in EVERYWHERE.iter().chain(OLDER) {
            let (faults, place) = words.split_once(' ').unwrap_or((words, "f0"));
            assert!(
                faults.chars().all(|fault| "sbdai".contains(fault)),
                "{name}"
            );
            assert!(["f0", "f2", "p0", "p1", "p2"].contains(&place), "{name}");
        }
    }

    #[test]
    fn what_changes_files_is_known() {
        for number in [libc::SYS_unlinkat, libc::SYS_write, libc::SYS_renameat2] {
            assert!(may_change_files(number as u64), "{number}");
        }
        assert!(!may_change_files(libc::SYS_read as u64));
        assert!(is_sync(libc::SYS_fdatasync as u64));
        assert!(!is_sync(libc::SYS_write as u64));
    }

    #[test]
    fn every_fault_is_known_by_its_word() {
        for fault in FAULTS {
            assert_eq!(Fault::from_word(fault.word()), Some(fault));
        }
        assert_eq!(Fault::from_word("ENOENT"), None);
    }

    #[test]
    fn no_call_is_listed_twice() {
        let mut numbers: Vec<i64> = EVERYWHERE
            .iter()
            .chain(OLDER)
            .map(|known| known.1)
            .collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }
}
