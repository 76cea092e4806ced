//! Makes the kernel refuse system calls to a program, as an older kernel or a sandbox does. For fault tests only.
//!
//! What ships does not use this. The filter (seccomp) is set between fork and exec, and everything that the program
//! starts inherits it.

use crate::linux::own::check;
use std::io;
use std::mem::offset_of;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A system call that is refused, and the error that the program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub call: i64,
    /// Refuse the call only if the argument with this index has this value. Only the lower 32 bits are compared.
    pub only: Option<(usize, u32)>,
    pub errno: i32,
}

impl Refusal {
    /// Refuses a call as a kernel does that does not know it.
    pub fn unknown(call: i64) -> Refusal {
        Refusal {
            call,
            only: None,
            errno: libc::ENOSYS,
        }
    }
}

/// The calls that Linux 4.18 does not know. This is the oldest kernel that Outlive works on.
pub fn linux_4_18() -> Vec<Refusal> {
    let calls = [
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_clone3,
        libc::SYS_close_range,
        libc::SYS_openat2,
        libc::SYS_faccessat2,
    ];
    let mut refusals: Vec<Refusal> = calls.map(Refusal::unknown).into();
    refusals.push(Refusal {
        call: libc::SYS_waitid,
        only: Some((0, libc::P_PIDFD)),
        errno: libc::EINVAL,
    });
    refusals
}

/// The program that this command executes is refused these calls. There should be few: the kernel refuses a filter
/// that is too long, and then the command cannot be started.
pub fn refuse<'a>(command: &'a mut Command, refusals: &[Refusal]) -> &'a mut Command {
    let program = program(refusals);
    // SAFETY: between fork and exec only system calls may be made, and these are two of them. What they read was
    // made before the fork.
    unsafe { command.pre_exec(move || install(&program)) }
}

/// The filter's instructions in order. Calls of another architecture are allowed.
fn program(refusals: &[Refusal]) -> Vec<libc::sock_filter> {
    let load_call = load(offset_of!(libc::seccomp_data, nr));
    let mut program = vec![
        load(offset_of!(libc::seccomp_data, arch)),
        // A jump can skip at most 255 instructions.
        skip_unless(
            ARCHITECTURE,
            refusals.iter().map(length).fold(1, u8::saturating_add),
        ),
        load_call,
    ];
    for refusal in refusals {
        program.push(skip_unless(refusal.call as u32, length(refusal) - 1));
        if let Some((place, value)) = refusal.only {
            program.push(load(
                offset_of!(libc::seccomp_data, args) + 8 * place + LOWER_HALF,
            ));
            program.push(skip_unless(value, 1));
        }
        program.push(answer(libc::SECCOMP_RET_ERRNO | refusal.errno as u32));
        if refusal.only.is_some() {
            program.push(load_call);
        }
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// How many instructions a refusal takes.
fn length(refusal: &Refusal) -> u8 {
    match refusal.only {
        Some(_) => 5,
        None => 2,
    }
}

fn load(offset: usize) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset as u32, 0)
}

fn skip_unless(value: u32, skipped: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, skipped)
}

fn answer(action: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0)
}

fn instruction(code: u32, k: u32, jf: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    }
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
// On other architectures nothing is refused.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

#[cfg(target_endian = "little")]
const LOWER_HALF: usize = 0;
#[cfg(target_endian = "big")]
const LOWER_HALF: usize = 4;

fn install(program: &[libc::sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        // The kernel only reads it.
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: numbers alone; from here on no program that this process executes gains rights.
    check(i64::from(unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    }))?;
    // SAFETY: the kernel copies as many instructions as `filter` says there are, and checks them.
    check(i64::from(unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const filter,
        )
    }))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(refusals: &[Refusal], script: &str) -> String {
        let mut shell = Command::new("sh");
        let output = refuse(shell.args(["-c", script]), refusals)
            .output()
            .expect("a shell");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    #[test]
    fn only_the_filtered_call_is_refused_to_a_program_and_its_children() {
        let refusal = Refusal {
            call: libc::SYS_uname,
            only: None,
            errno: libc::ENOSYS,
        };
        let unrelated = Refusal {
            call: libc::SYS_splice,
            only: Some((4, 1)),
            errno: libc::EPERM,
        };
        let script = "uname; sh -c 'uname; echo on'";
        let said = said(&[unrelated, refusal], script);
        let refused = said.matches("Function not implemented").count();
        assert_eq!((refused, said.contains("on\n")), (2, true), "{said}");
    }

    #[test]
    fn a_call_can_be_refused_for_one_value_of_an_argument() {
        let on_one_signal = Refusal {
            call: libc::SYS_kill,
            only: Some((1, 10)),
            errno: libc::EPERM,
        };
        let script = "kill -s USR1 $$; kill -s CONT $$ && echo continued";
        let said = said(&[on_one_signal], script);
        assert!(said.contains("not permitted"), "{said}");
        assert!(said.starts_with("continued\n"), "{said}");
    }
}
