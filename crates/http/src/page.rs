//! The web page: its files, which everybody may read, and the login.
//!
//! The link that `outlive serve` prints has a token behind `#`, which a browser never sends. The page posts it once, gets
//! a cookie for it that scripts cannot read, and removes it from the address.

use crate::body;
use crate::failure::Refused;
use crate::server::Desk;
use crate::visit::Visit;
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use outlive_api::failure::ErrorCode;
use outlive_guard::{Refusal, Rights, Visitor};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($kind:literal: $($name:literal)+) => {
        &[$(File {
            path: concat!("/", $name),
            kind: $kind,
            bytes: include_bytes!(concat!("../page/", $name)),
        }),+]
    };
}

/// Every file, as it is in the repository: nothing is built.
const FILES: [&[File]; 4] = [
    files!("text/html; charset=utf-8": "index.html"),
    files!("text/css; charset=utf-8": "style.css"),
    files!("image/svg+xml": "icon.svg"),
    files!("text/javascript; charset=utf-8":
        "actions.js" "ansi.js" "api.js" "app.js" "dom.js" "job.js" "jobs.js" "keys.js" "lines.js" "log.js" "plot.js"
        "search.js" "store.js" "stream.js" "terminal.js" "timeline.js" "words.js"),
];

/// The page loads and connects to nothing but its own server, and no text can become a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

pub fn routes() -> Router<Arc<Desk>> {
    let login = post(login).delete(logout);
    let mut routes = Router::new().route("/v1/login", login);
    for file in FILES.iter().copied().flatten() {
        routes = routes.route(
            file.path,
            get(move |state, request| serve(file, state, request)),
        );
    }
    let index = &FILES[0][0];
    routes.route("/", get(move |state, request| serve(index, state, request)))
}

/// Everybody may read the page, but not under another host name: the name decides what a browser takes for one page.
async fn serve(
    file: &'static File,
    State(desk): State<Arc<Desk>>,
    request: Request,
) -> Result<Response, Refused> {
    let (head, _) = request.into_parts();
    desk.guard.admit_stranger(&head)?;
    let headers = [(CONTENT_TYPE, file.kind), (CONTENT_SECURITY_POLICY, POLICY)];
    Ok((headers, file.bytes).into_response())
}

/// What the token of the request allows.
pub async fn whoami(visit: Visit) -> Response {
    rights(visit.pass.rights)
}

fn rights(rights: Rights) -> Response {
    let rights = match rights {
        Rights::Owner => "owner",
        Rights::Reader => "reader",
    };
    crate::server::json(serde_json::to_vec(&LoggedIn { rights }).unwrap_or_default())
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
    Ok(([(SET_COOKIE, cookie)], self::rights(rights)).into_response())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// It is sent to a phone, too.
    const BUDGET: usize = 150_000;

    #[test]
    fn the_page_is_whole_and_light_and_nobody_elses() {
        let all = || FILES.iter().copied().flatten();
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
        let there = std::fs::read_dir(directory).expect("the page").flatten();
        let there = there.map(|entry| format!("/{}", entry.file_name().to_string_lossy()));
        let there: BTreeSet<String> = there.filter(|name| name != "/jsconfig.json").collect();
        let served: BTreeSet<String> = all().map(|file| file.path.to_owned()).collect();
        assert_eq!(served, there);
        let weight: usize = all().map(|file| file.bytes.len()).sum();
        assert!(weight <= BUDGET, "{weight} bytes");
        for file in all().filter(|file| file.path != "/icon.svg") {
            let text = std::str::from_utf8(file.bytes).expect("text");
            let addresses = text.replace("http://www.w3.org/2000/svg", "");
            assert!(
                !addresses.contains("http://") && !addresses.contains("https://"),
                "{}",
                file.path
            );
            assert!(
                !text.contains("innerHTML") && !text.contains("eval("),
                "{}",
                file.path
            );
        }
    }
}
