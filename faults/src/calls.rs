//! System calls by name, and which errors each can really fail with.

/// An error that is put in place of a system call, or the death of whoever makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Kill,
    /// The disk is full.
    NoSpace,
    /// The disk is broken.
    Broken,
    /// No more descriptors.
    NoDescriptor,
    /// No more processes, or memory.
    TryAgain,
    /// A signal came in between.
    Interrupted,
}

pub const FAULTS: [Fault; 6] = [
    Fault::Kill,
    Fault::NoSpace,
    Fault::Broken,
    Fault::NoDescriptor,
    Fault::TryAgain,
    Fault::Interrupted,
];

/// Name, number and the letters of the faults that can happen to it: `s`pace, `b`roken, `d`escriptor,
/// try `a`gain, `i`nterrupted.
type Known = (&'static str, i64, &'static str);

macro_rules! calls {
    ($($name:ident $faults:literal)*) => {
        &[$((stringify!($name), libc::$name, $faults)),*]
    };
}

/// What every machine has.
const EVERYWHERE: &[Known] = calls! {
    SYS_accept4 "di" SYS_bind "s" SYS_chdir "b" SYS_clone "a" SYS_clone3 "a" SYS_close "" SYS_connect "i"
    SYS_dup "d" SYS_dup3 "d" SYS_epoll_create1 "d" SYS_epoll_pwait "i" SYS_eventfd2 "d" SYS_execve "b"
    SYS_exit_group "" SYS_fallocate "sbi" SYS_fchmod "b" SYS_fchmodat "b" SYS_fcntl "" SYS_fdatasync "sb"
    SYS_fstat "" SYS_fsync "sb" SYS_ftruncate "bi" SYS_getdents64 "b" SYS_getrandom "i" SYS_ioctl ""
    SYS_kill "" SYS_linkat "sb" SYS_lseek "" SYS_memfd_create "d" SYS_mkdirat "sb" SYS_mknodat "sb"
    SYS_mmap "" SYS_mprotect "" SYS_munmap "" SYS_newfstatat "b" SYS_openat "sbdi" SYS_pidfd_open "d"
    SYS_pidfd_send_signal "" SYS_pipe2 "d" SYS_ppoll "i" SYS_prctl "" SYS_pread64 "bi" SYS_preadv "bi"
    SYS_pwrite64 "sbi" SYS_pwritev "sbi" SYS_read "bi" SYS_readlinkat "b" SYS_readv "bi" SYS_recvfrom "i"
    SYS_recvmsg "i" SYS_renameat "sb" SYS_renameat2 "sb" SYS_sendmsg "i" SYS_sendto "i" SYS_setsid ""
    SYS_socket "d" SYS_socketpair "d" SYS_splice "sbi" SYS_statx "b" SYS_symlinkat "sb"
    SYS_timerfd_create "d" SYS_timerfd_settime "" SYS_unlinkat "b" SYS_utimensat "b" SYS_vmsplice ""
    SYS_wait4 "i" SYS_waitid "i" SYS_write "sbi" SYS_writev "sbi" SYS_signalfd4 "d" SYS_rt_sigaction ""
    SYS_rt_sigprocmask "" SYS_sigaltstack "" SYS_futex "" SYS_brk "" SYS_getpid "" SYS_getppid ""
    SYS_listen "" SYS_shutdown "" SYS_getsockopt "" SYS_setsockopt "" SYS_umask "" SYS_prlimit64 ""
    SYS_clock_nanosleep "i" SYS_faccessat "b" SYS_getcwd "" SYS_copy_file_range "sbi" SYS_statfs "b"
    SYS_fstatfs "b" SYS_flock "i" SYS_close_range "" SYS_sched_yield "" SYS_geteuid "" SYS_getuid ""
};

/// What only older machines have, and their C libraries still use.
#[cfg(target_arch = "x86_64")]
const OLDER: &[Known] = calls! {
    SYS_accept "di" SYS_access "b" SYS_chmod "b" SYS_dup2 "d" SYS_epoll_wait "i" SYS_fork "a" SYS_link "sb"
    SYS_lstat "b" SYS_mkdir "sb" SYS_mknod "sb" SYS_open "sbdi" SYS_pipe "d" SYS_poll "i" SYS_readlink "b"
    SYS_rename "sb" SYS_rmdir "b" SYS_select "i" SYS_stat "b" SYS_symlink "sb" SYS_unlink "b"
    SYS_vfork "a" SYS_getdents "b" SYS_arch_prctl ""
};
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Known] = &[];

fn known(number: u64) -> Option<&'static Known> {
    let all = EVERYWHERE.iter().chain(OLDER);
    all.into_iter().find(|known| known.1 as u64 == number)
}

/// What a call is called.
pub fn name(number: u64) -> String {
    match known(number) {
        Some((name, _, _)) => name.trim_start_matches("SYS_").to_owned(),
        None => format!("call {number}"),
    }
}

/// Whether this is the call by which a Rust program makes ready for its `main`: what comes before is the
/// loader's and the C library's.
pub fn is_last_before_main(number: u64) -> bool {
    number == libc::SYS_sigaltstack as u64
}

impl Fault {
    pub fn word(self) -> &'static str {
        match self {
            Fault::Kill => "SIGKILL",
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

    /// The error it is; a death is none.
    pub fn errno(self) -> Option<i32> {
        match self {
            Fault::Kill => None,
            Fault::NoSpace => Some(libc::ENOSPC),
            Fault::Broken => Some(libc::EIO),
            Fault::NoDescriptor => Some(libc::EMFILE),
            Fault::TryAgain => Some(libc::EAGAIN),
            Fault::Interrupted => Some(libc::EINTR),
        }
    }

    /// Whether this call can meet it: one may be killed at any, but no disk is too full to be read.
    pub fn can_hit(self, number: u64) -> bool {
        let letter = match self {
            Fault::Kill => return true,
            Fault::NoSpace => 's',
            Fault::Broken => 'b',
            Fault::NoDescriptor => 'd',
            Fault::TryAgain => 'a',
            Fault::Interrupted => 'i',
        };
        known(number).is_some_and(|(_, _, faults)| faults.contains(letter))
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
        assert_eq!(hits, ["SIGKILL", "ENOSPC", "EIO", "EINTR"]);
        assert!(!Fault::NoSpace.can_hit(libc::SYS_read as u64));
        assert_eq!(name(write), "write");
        assert_eq!(name(99_999), "call 99999");
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
