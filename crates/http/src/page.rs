//! The web page: its files, which everybody may read, and the login.
//!
//! The link that `outlive serve` prints has a token behind `#`, which a browser never sends. The page posts it once, gets
//! a cookie for it that scripts cannot read, and removes it from the address.

use crate::body;
use crate::failure::Refused;
use crate::server::Desk;
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use outlive_api::failure::ErrorCode;
use outlive_guard::{Refusal, Rights, Visitor};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub fn routes() -> Router<Arc<Desk>> {
    Router::new().route("/v1/login", post(login).delete(logout))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

/// What the token of a page allows.
#[derive(Serialize)]
struct LoggedIn {
    rights: &'static str,
}

/// Makes a cookie of a token.
async fn login(
    State(desk): State<Arc<Desk>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    request: Request,
) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    desk.guard.admit_login(&head)?;
    let Login { token } = body::read(&head.headers, body).await?;
    let (token, rights) = match desk.tickets.redeem(&token) {
        Some(owner) => (owner, Rights::Owner),
        None => {
            let rights = desk.guard.rights(token.as_bytes());
            let rights = rights.ok_or_else(|| Refused::from(Refusal::Token))?;
            (token, rights)
        }
    };
    visitor.may_stay();
    let cookie = format!(
        "{}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000",
        desk.cookie
    );
    let cookie = HeaderValue::try_from(cookie)
        .map_err(|_| Refused::new(ErrorCode::Unauthorized, "that is no token"))?;
    let rights = match rights {
        Rights::Owner => "owner",
        Rights::Reader => "reader",
    };
    let reply = serde_json::to_vec(&LoggedIn { rights }).unwrap_or_default();
    Ok(([(SET_COOKIE, cookie)], crate::server::json(reply)).into_response())
}

/// Takes the cookie back.
async fn logout(State(desk): State<Arc<Desk>>, request: Request) -> Result<Response, Refused> {
    let (head, _) = request.into_parts();
    desk.guard.admit_login(&head)?;
    let cookie = format!(
        "{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0",
        desk.cookie
    );
    let cookie = HeaderValue::try_from(cookie).unwrap_or(HeaderValue::from_static(""));
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}
