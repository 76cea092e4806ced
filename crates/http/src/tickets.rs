//! Tickets: each opens the page once. A browser is started with the address of the page as an argument, which every user
//! of the machine can read, so the token must not be in it.

use outlive_guard::Token;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a browser may take to start.
const VALID: Duration = Duration::from_secs(60);

/// The ticket that may still be used, if there is one.
#[derive(Debug)]
pub struct Tickets {
    owner: Token,
    open: Mutex<Option<(Token, Instant)>>,
}

impl Tickets {
    /// A ticket for the browser that is being started. Without one, no ticket is valid.
    pub fn new(owner: Token, ticket: Option<Token>) -> Tickets {
        Tickets {
            owner,
            open: Mutex::new(ticket.map(|ticket| (ticket, Instant::now() + VALID))),
        }
    }

    /// Uses a ticket up. Returns the owner's token for it.
    pub fn redeem(&self, given: &str) -> Option<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (ticket, until) = open.as_ref()?;
        if Instant::now() > *until {
            *open = None;
            return None;
        }
        if !ticket.is(given.as_bytes()) {
            return None;
        }
        *open = None;
        Some(self.owner.secret().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_opens_the_page_once() {
        let tickets = Tickets::new(Token::new("owner"), Some(Token::new("once")));
        assert_eq!(tickets.redeem("other"), None);
        assert_eq!(tickets.redeem("once").as_deref(), Some("owner"));
        assert_eq!(tickets.redeem("once"), None);
        assert_eq!(Tickets::new(Token::new("owner"), None).redeem(""), None);
    }
}
