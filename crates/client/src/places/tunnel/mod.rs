//! Tunnels: wires to places that can only run one command and return its text.
//!
//! ```text
//!  here                                                        there
//!  courier ═ wire ═ near end ── far-DIGEST carry REQUEST ──► mailbox ═ wire ═ far end
//!                            ◄─── … <<outlive ANSWER>> … ───
//! ```
//! Courier and far end are the same as elsewhere, and so are the verbs. The **near end** is a process here, in the place of
//! `ssh`. It turns the bytes of the wire into calls. Each call is one command line, and its answer is one line in the text
//! that comes back. The **mailbox** is at the place, in the process of the far end, which stays between calls. Both
//! directions are streams of bytes with positions. So a call that is executed twice changes nothing, and a call that is lost, cut
//! or damaged on its way is made again.
//!
//! | module | owns |
//! |---|---|
//! | `near` | the near end: when calls are made, how often, and what comes of them |
//! | `there` | what a call does at the place, and the mailbox |
//! | `message`, `marker`, `base64` | what a call says, and the line that holds an answer |
//! | `traffic` | which streams are open, and so what is worth a call |
//! | `execute` | running one command line somewhere else: what a place must be able to do |
//! | `template` | doing that with a command of the user's |
//! | `lent` | asking another program to do it, which lends its sandbox |

mod base64;
pub mod execute;
mod lent;
mod marker;
mod message;
mod near;
mod template;
mod there;
mod traffic;

pub use execute::{Execute, Execution, Failed, Nature, Private, Text};
pub use lent::Lent;
pub use near::run;
pub use template::Template;
pub use there::carry;

/// What reads and writes calls, for the fuzzer and for tests that make calls themselves.
#[doc(hidden)]
pub mod fuzzing {
    pub use super::base64::{decode as decode_base64, encode as encode_base64};
    pub use super::marker::{find, line, room};
    pub use super::message::{Answer, Begin, Request, TunnelId, decode, encode};
}
