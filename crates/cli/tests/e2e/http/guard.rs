//! Tokens, cookies, hosts and web pages.

use super::client::Server;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::json;

const RUN: &str = r#"{"command": {"argv": ["touch", "was-run"]}}"#;

#[test]
fn a_foreign_host_page_token_or_cookie_is_refused_and_nothing_is_done() {
    let world = World::new();
    let server = Server::start(&world);
    let port = server.address.rsplit_once(':').unwrap().1.to_owned();
    let refused = |headers: &[(&'static str, String)], changed: (&'static str, &str), status| {
        let mut headers = headers.to_vec();
        headers.retain(|(name, _)| *name != changed.0);
        if !changed.1.is_empty() {
            headers.push((changed.0, changed.1.to_owned()));
        }
        let answer = server.ask("POST", "/v1/run", &headers, RUN);
        assert_eq!(answer.status, status, "{changed:?}: {}", answer.text());
        let code = if status == 401 {
            "unauthorized"
        } else {
            "forbidden"
        };
        assert_eq!(answer.json()["error"]["code"], code, "{changed:?}");
    };
    let program = server.owner();
    refused(&program, ("Authorization", ""), 401);
    refused(&program, ("Authorization", "Bearer wrong"), 401);
    refused(
        &program,
        ("Authorization", &format!("Basic {}", server.owner)),
        401,
    );
    refused(&program, ("Host", "evil.example"), 403);
    refused(&program, ("Host", "localhost.evil.example"), 403);
    refused(&program, ("Origin", "https://evil.example"), 403);
    refused(&program, ("Origin", "null"), 403);
    let page = server.page();
    refused(&page, ("Cookie", ""), 401);
    refused(&page, ("Cookie", &format!("outlive-{port}=wrong")), 401);
    refused(
        &page,
        ("Cookie", &format!("outlive-1={}", server.owner)),
        401,
    );
    refused(&page, ("Origin", ""), 403);
    refused(&page, ("Origin", "https://evil.example"), 403);
    refused(&page, ("Origin", "http://127.0.0.1:1"), 403);
    refused(&page, ("Sec-Fetch-Site", "same-site"), 403);
    refused(&page, ("Sec-Fetch-Site", "cross-site"), 403);
    refused(&page, ("Host", "evil.example"), 403);
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
    for headers in [&program, &page] {
        assert_eq!(server.ask("POST", "/v1/list", headers, "{}").status, 200);
    }
    let local = [("Host", format!("localhost:{port}")), program[1].clone()];
    assert_eq!(server.ask("POST", "/v1/list", &local, "").status, 200);
}

#[test]
fn a_token_is_exchanged_for_a_cookie_that_scripts_cannot_read() {
    let world = World::new();
    let server = Server::start(&world);
    let mut page = server.page();
    page.retain(|(name, _)| *name != "Cookie");
    let login = |headers: &[(&'static str, String)], token: &str| {
        server.ask(
            "POST",
            "/v1/login",
            headers,
            &json!({"token": token}).to_string(),
        )
    };
    for (token, rights) in [(&server.owner, "owner"), (&server.reader, "reader")] {
        let answer = login(&page, token);
        assert_eq!(
            (answer.status, answer.json()),
            (200, json!({"rights": rights}))
        );
        let cookie = answer.header("set-cookie").unwrap();
        let (value, attributes) = cookie.split_once("; ").unwrap();
        assert_eq!(
            attributes,
            "HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000"
        );
        let with = [&page[..], &[("Cookie", value.to_owned())]].concat();
        assert_eq!(server.ask("POST", "/v1/list", &with, "{}").status, 200);
    }
    assert_eq!(login(&page, "wrong").status, 401);
    assert_eq!(login(&page, "").status, 401);
    let mut foreign = page.clone();
    foreign[1].1 = "https://evil.example".to_owned();
    assert_eq!(login(&foreign, &server.owner).status, 403);
    assert_eq!(
        login(&page[..1], &server.owner).status,
        403,
        "no page at all"
    );
}

#[test]
fn every_answer_tells_browsers_to_run_and_load_nothing() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.shell("echo '<script>alert(1)</script>'");
    world.until_over(&id);
    for path in [
        &format!("/v1/jobs/{id}/output"),
        "/metrics",
        "/nothing",
        "/v1/openapi.json",
    ] {
        let answer = server.get(path);
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert!(
            answer
                .header("content-security-policy")
                .unwrap()
                .starts_with("default-src 'none'")
        );
        assert_ne!(answer.header("content-type"), Some("text/html"), "{path}");
        assert!(
            answer.header("access-control-allow-origin").is_none(),
            "{path}"
        );
    }
}

#[test]
fn mcp_is_served_beside_it_for_the_owner_only() {
    let world = World::new();
    let server = Server::start(&world);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let accept = ("Accept", "application/json, text/event-stream".to_owned());
    let status = |headers: Vec<(&'static str, String)>| {
        let headers = [headers, vec![accept.clone()]].concat();
        server
            .ask("POST", "/mcp", &headers, &call.to_string())
            .status
    };
    assert_eq!(status(server.owner()), 200);
    assert_eq!(status(server.reader()), 403);
    assert_eq!(status(server.page()), 401, "a cookie is not for programs");
    assert_eq!(status(server.owner()[..1].to_vec()), 401);
}

#[test]
fn an_address_others_reach_needs_to_be_wanted() {
    let world = World::new();
    let ran = Ran::of(&mut world.command(["serve", "--listen", "0.0.0.0:0"]));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("--allow-remote"), "{ran:?}");
}
