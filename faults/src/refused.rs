//! System calls that are refused, as older kernels and sandboxes refuse them. Either everything works without the
//! call, or the start is refused with the name of the call and nothing has run.

use crate::invariants::{self, Allowed, same};
use crate::job::{self, ID, KINDS, Kind, TREE};
use crate::row::{Context, Row, Tried};
use outlive_sys::filter::{self, Refusal};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fmt;

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "refused: one system call",
            promise: "all works without the call, or the start is refused with its name and nothing ran",
            run: one_call,
        },
        Row {
            name: "refused: what Linux 4.18 lacks",
            promise: "every kind of job is exact",
            run: |context| all_of(context, &filter::linux_4_18()),
        },
        Row {
            name: "refused: what gVisor lacks",
            promise: "every kind of job is exact",
            run: |context| all_of(context, &sandbox()),
        },
    ]
}

/// What is refused: a call, or a call only with this value of one argument.
type Refused = (&'static str, i64, Option<(usize, u32)>);

macro_rules! calls {
    ($($name:ident)*) => {
        &[$((stringify!($name), libc::$name, None)),*]
    };
}

/// Calls that Outlive makes, and that the programs of the test jobs do not need.
const CALLS: &[Refused] = calls! {
    SYS_pidfd_open SYS_pidfd_send_signal SYS_waitid SYS_close_range SYS_splice SYS_renameat2 SYS_fallocate
    SYS_memfd_create SYS_sync_file_range SYS_copy_file_range SYS_fdatasync SYS_fsync SYS_setsid SYS_socket
    SYS_socketpair SYS_bind SYS_listen SYS_accept4 SYS_connect SYS_sendto SYS_recvfrom SYS_getsockopt SYS_setsockopt
    SYS_shutdown SYS_mknodat SYS_signalfd4 SYS_ppoll SYS_getrandom SYS_timerfd_create SYS_timerfd_settime
    SYS_prlimit64 SYS_flock SYS_clone3 SYS_openat2 SYS_faccessat2 SYS_linkat SYS_statfs SYS_statx SYS_sigaltstack
    SYS_sched_getaffinity SYS_sysinfo SYS_utimensat SYS_kill SYS_tgkill SYS_rseq SYS_membarrier
};

/// Single uses of a call, such as one command of `fcntl`.
const USES: &[Refused] = &[
    (
        "prctl(PR_SET_CHILD_SUBREAPER)",
        libc::SYS_prctl,
        Some((0, libc::PR_SET_CHILD_SUBREAPER as u32)),
    ),
    (
        "prctl(PR_SET_PDEATHSIG)",
        libc::SYS_prctl,
        Some((0, libc::PR_SET_PDEATHSIG as u32)),
    ),
    (
        "fcntl(F_OFD_SETLK)",
        libc::SYS_fcntl,
        Some((1, libc::F_OFD_SETLK as u32)),
    ),
    (
        "fcntl(F_SETPIPE_SZ)",
        libc::SYS_fcntl,
        Some((1, libc::F_SETPIPE_SZ as u32)),
    ),
    (
        "waitid(P_PIDFD)",
        libc::SYS_waitid,
        Some((0, libc::P_PIDFD)),
    ),
    (
        "ioctl(TIOCGPTPEER)",
        libc::SYS_ioctl,
        Some((1, TIOCGPTPEER)),
    ),
    (
        "ioctl(FIONREAD)",
        libc::SYS_ioctl,
        Some((1, libc::FIONREAD as u32)),
    ),
];

/// A job cannot be kept without one of these. Everything works without any of the others.
const NEEDED: [&str; 22] = [
    "waitid",
    "splice",
    "renameat2",
    "memfd_create",
    "setsid",
    "socket",
    "socketpair",
    "bind",
    "listen",
    "accept4",
    "connect",
    "sendto",
    "recvfrom",
    "getsockopt",
    "setsockopt",
    "mknodat",
    "signalfd4",
    "ppoll",
    "getrandom",
    "prctl(PR_SET_CHILD_SUBREAPER)",
    "fcntl(F_OFD_SETLK)",
    "ioctl(FIONREAD)",
];

const TIOCGPTPEER: u32 = 0x5441;

/// An older kernel refuses a call with the first error, a filter with the second.
const ERRORS: [(&str, i32); 2] = [("ENOSYS", libc::ENOSYS), ("EPERM", libc::EPERM)];

/// The kinds of jobs that are tried with each refused call.
fn kinds() -> Vec<&'static Kind> {
    let names = ["short", "chatty", "pty", "stdin", "timing out"];
    let mut kinds: Vec<&Kind> = names.map(Kind::called).into();
    kinds.push(&TREE);
    kinds
}

struct Case {
    kind: &'static Kind,
    what: &'static str,
    error: &'static str,
    refusal: Refusal,
}

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "a {} job, {} of {}",
            self.kind.name, self.error, self.what
        )
    }
}

fn one_call(context: &Context) -> Tried {
    let mut cases = Vec::new();
    for (what, call, only) in CALLS.iter().chain(USES).copied() {
        for (error, errno) in ERRORS {
            cases.extend(kinds().into_iter().map(|kind| Case {
                kind,
                what: what.trim_start_matches("SYS_"),
                error,
                refusal: Refusal { call, only, errno },
            }));
        }
    }
    context.try_cases(cases, 30, |case| case.check(context))
}

impl Case {
    fn check(&self, context: &Context) -> Result<(), String> {
        let mut world = context.world()?;
        world.refuse(&[self.refusal]);
        let started = Ran::try_of(&mut self.kind.start(&world))?;
        let checked = match started.code {
            0 => works(&world, self.kind),
            _ => self.is_refused(&mut world, &started),
        };
        checked.map_err(|loss| describe(&world, &started, &loss))
    }

    /// Checks that the start was refused with the name of the call, that nothing ran, and that the home can be used
    /// afterwards.
    fn is_refused(&self, world: &mut World, started: &Ran) -> Result<(), String> {
        let (call, _) = self.what.split_once('(').unwrap_or((self.what, ""));
        same("the code of a refused start", started.code, 125)?;
        same("it is needed", NEEDED.contains(&self.what), true)?;
        same("it names the call", started.stderr.contains(call), true)?;
        same("runs of what was refused", job::runs(world), 0)?;
        world.refuse(&[]);
        match world.job_dir(ID).exists() {
            false => invariants::check_never_was(world, self.kind),
            true => {
                let ended = job::wait(world)?;
                invariants::check(world, self.kind, &ended, Allowed::NotStarted)
            }
        }
    }
}

/// Checks that the job ends as it should although every program is refused the call.
fn works(world: &World, kind: &Kind) -> Result<(), String> {
    let ended = kind.go_on(world)?;
    invariants::check(world, kind, &ended, Allowed::Exact)?;
    let doctor = world.try_outlive(&["doctor"])?;
    same("doctor's code where all works", doctor.code, 0)
        .map_err(|loss| format!("{loss}: {doctor}"))
}

fn describe(world: &World, started: &Ran, loss: &str) -> String {
    let journal = std::fs::read_to_string(world.job_dir(ID).join("journal"));
    let journal = journal.unwrap_or_default();
    format!("{loss}\nthe start: {started}\njournal:\n{journal}")
}

/// Runs each kind of job with all of these calls refused at once.
fn all_of(context: &Context, refused: &[Refusal]) -> Tried {
    let mut all: Vec<Whole> = KINDS.iter().map(Whole).collect();
    all.push(Whole(&TREE));
    context.try_cases(all, 4, |Whole(kind)| {
        let mut world = context.world()?;
        world.refuse(refused);
        let started = Ran::try_of(&mut kind.start(&world))?;
        same("the code of the start", started.code, 0)
            .and_then(|()| works(&world, kind))
            .map_err(|loss| describe(&world, &started, &loss))
    })
}

struct Whole(&'static Kind);

impl fmt::Display for Whole {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "a {} job", self.0.name)
    }
}

/// The calls that Linux 4.18 does not have, and those that gVisor does not have either.
fn sandbox() -> Vec<Refusal> {
    let mut refused = filter::linux_4_18();
    for command in [libc::F_OFD_SETLK, libc::F_OFD_SETLKW, libc::F_OFD_GETLK] {
        refused.push(Refusal {
            call: libc::SYS_fcntl,
            only: Some((1, command as u32)),
            errno: libc::EINVAL,
        });
    }
    refused.push(Refusal {
        call: libc::SYS_fallocate,
        only: None,
        errno: libc::EOPNOTSUPP,
    });
    refused.push(Refusal {
        call: libc::SYS_ioctl,
        only: Some((1, TIOCGPTPEER)),
        errno: libc::ENOTTY,
    });
    refused
}
