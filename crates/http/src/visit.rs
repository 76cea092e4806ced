//! Who asks, and what they get to see.

use crate::failure::Refused;
use crate::server::Desk;
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use outlive::{JobId, Outlive};
use outlive_api::failure::ErrorCode;
use outlive_guard::{Pass, Rights, Visitor};
use std::convert::Infallible;
use std::sync::Arc;

/// A request that was admitted.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The home, on behalf of whoever asks. It only looks: what it tells is nobody's being told.
    pub outlive: Outlive,
    pub pass: Pass,
}

impl Visit {
    /// What a request may see: secrets only if the owner asks for them.
    pub fn of(desk: &Desk, pass: Pass, query: Option<&str>) -> Result<Visit, Refused> {
        let shows = has_value(query, "secrets", "show");
        if shows && pass.rights != Rights::Owner {
            return Err(forbidden("this token does not show secrets"));
        }
        let outlive = desk.outlive.clone();
        Ok(Visit {
            outlive: match shows {
                true => outlive.showing_secrets(),
                false => outlive.hiding_secrets(),
            },
            pass,
        })
    }

    /// Refuses a request that does more than look, unless it is the owner's.
    pub fn must_be_owner(&self) -> Result<(), Refused> {
        match self.pass.rights {
            Rights::Owner => Ok(()),
            Rights::Reader => Err(forbidden("this token only allows to look")),
        }
    }

    /// The job of this id or name, or the only one whose id begins like this.
    pub fn find(&self, text: &str) -> Result<JobId, Refused> {
        Ok(self.outlive.find_of_any_session(text)?)
    }

    pub fn find_all(&self, ids: &[JobId]) -> Result<Vec<JobId>, Refused> {
        ids.iter().map(|id| self.find(id.as_str())).collect()
    }
}

fn forbidden(message: &str) -> Refused {
    Refused::new(ErrorCode::Forbidden, message)
}

/// Whether a query has this pair.
pub fn has_value(query: Option<&str>, name: &str, value: &str) -> bool {
    self::value(query, name) == Some(value)
}

/// The value of a parameter, which contains no escapes. A name without a value has an empty one.
pub fn value<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    let mut pairs = query?.split('&');
    pairs.find_map(|pair| match pair.split_once('=') {
        Some((key, value)) if key == name => Some(value),
        None if pair == name => Some(""),
        _ => None,
    })
}

/// Admits a request, or refuses it. Everything but the page itself passes here.
pub async fn admit(
    State(desk): State<Arc<Desk>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    let admitted = desk.guard.admit(&head).map_err(Refused::from);
    let visit = admitted.and_then(|pass| Visit::of(&desk, pass, head.uri.query()));
    match visit {
        Ok(visit) => {
            visitor.may_stay();
            head.extensions.insert(visit);
            next.run(Request::from_parts(head, body)).await
        }
        Err(refused) => refused.into_response(),
    }
}

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = Refused;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Visit, Refused> {
        let visit = head.extensions.get::<Visit>().cloned();
        visit.ok_or_else(|| Refused::new(ErrorCode::Unauthorized, "a token is needed"))
    }
}

/// The query of a request as it was sent.
#[derive(Clone, Debug)]
pub struct Query(pub Option<String>);

impl Query {
    pub fn value(&self, name: &str) -> Option<&str> {
        value(self.0.as_deref(), name)
    }

    /// Every value of a parameter that may be given several times, without its escapes.
    pub fn values(&self, name: &str) -> Vec<String> {
        let pairs = self.0.as_deref().unwrap_or_default().split('&');
        let named = pairs.filter_map(|pair| pair.split_once('='));
        let own = named.filter(|(key, value)| *key == name && !value.is_empty());
        own.map(|(_, value)| unescaped(value)).collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.value(name)
            .is_some_and(|value| value != "0" && value != "false")
    }

    /// A number, if the parameter is there.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Refused> {
        let Some(text) = self.value(name) else {
            return Ok(None);
        };
        let number = text.parse().map(Some);
        number.map_err(|_| Refused::bad_input(format!("{name}: {text:?} is not a number")))
    }
}

/// The text that `%41` and `+` stand for.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .first_chunk::<2>()
            .and_then(|digits| str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, escaped) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Query, Infallible> {
        Ok(Query(head.uri.query().map(str::to_owned)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_by_its_whole_name() {
        let query = Some("a=1&secrets=show&follow&xfrom=2");
        assert!(has_value(query, "secrets", "show"));
        assert_eq!(value(query, "follow"), Some(""));
        assert_eq!(value(query, "from"), None);
        assert_eq!(value(None, "a"), None);
        assert!(!has_value(Some("nosecrets=show"), "secrets", "show"));
        let of = |text: &str| Query(Some(text.to_owned()));
        assert!(of("follow").has("follow") && of("follow=1").has("follow"));
        assert_eq!(
            of("s=a%20b+c&t=1&s=%C3%A9%zz&s=").values("s"),
            ["a b c", "é%zz"]
        );
        assert!(!of("follow=0").has("follow") && !of("").has("follow"));
    }
}
