//! The errors that people see: what happened, to what, and what to do next.

use crate::session::Session;
use crate::snapshot::assert_snapshot;

#[test]
fn finding_a_job() {
    let mut session = Session::new();
    session.does("run --id web-1 -- sleep 300");
    session.does("run --id web-2 --name db -- sleep 300");
    session.does("run --id other --session s --name hidden -- sleep 300");
    session.types("show nothing");
    session.types("show web");
    session.types("show hidden");
    session.types("show ''");
    session.types("run --id web-1 -- true");
    session.types("run --name db -- true");
    session.types("--json show nothing");
    assert_snapshot("errors/finding_a_job", &session.transcript());
}

#[test]
fn starting() {
    let mut session = Session::new();
    session.types("run -- no-such-program --flag");
    session.types("run -- /etc/passwd");
    session.types("run --wait 5s -- true");
    session.types("run --cwd /no/such/directory -- true");
    session.types("run");
    session.types("run --foreground --json -- true");
    session.types("run --env NAME -- true");
    session.types("detach /dev/null -- true");
    session.types("adopt 1");
    session.types("adopt 2147483647");
    assert_snapshot("errors/starting", &session.transcript());
}

#[test]
fn bad_values() {
    let mut session = Session::new();
    session.types("run --timeout soon -- true");
    session.types("run --max-output lots -- true");
    session.types("run --max-output 10 -- true");
    session.types("run --quiet-after 0 -- true");
    session.types("run --pty=big -- true");
    session.types("run --watch-regex '(' -- true");
    session.types("run --ready line:'(' -- true");
    session.types("run --ready someday -- true");
    session.types("run --ready port:http -- true");
    session.types("run --ready http:https://host/ -- true");
    session.types("run --id 'a b' -- true");
    session.types("run --id -x -- true");
    session.types("run --name '' -- true");
    session.types("run --replace -- true");
    session.types("run --bogus -- true");
    session.types("signal web NOTASIGNAL");
    session.types("send web --key Hyper");
    session.types("send web x --write-id ''");
    session.types("send web x --write-id 'a#b'");
    session.types("log web --grep '('");
    session.types("log web --bytes 10:5");
    session.types("log web --bytes x");
    session.types("log web --cursor x");
    session.types("list --limit few");
    session.types("inbox --session s --ack 7");
    session.types("stat");
    session.types("runn true");
    assert_snapshot("errors/bad_values", &session.transcript());
}

#[test]
fn asking_too_much_of_a_job() {
    let mut session = Session::new();
    session.does("run --id plain -- sleep 300");
    session.does("run --id piped --stdin pipe -- sleep 300");
    session.does("run --id over --stdin pipe --wait -- true");
    session.types("send plain x");
    session.types("send over x");
    session.types("signal over TERM");
    session.types("resize plain 10x10");
    session.types("resize piped 10x10");
    session.types("log plain --screen");
    session.types("wait plain --for ready");
    session.types("wait plain --for match");
    session.types("wait plain --for quiet");
    assert_snapshot("errors/asking_too_much", &session.transcript());
}

#[test]
fn sessions_and_inboxes() {
    let mut session = Session::new();
    session.types("inbox");
    session.types("post /dev/null");
    session.types("session end nobody");
    session.types("inbox --session s --ack 1pzrj72dak:7.k3f9x2");
    session.has("work/list.json", "[1]\n");
    session.types("post list.json --session s");
    session.types("post missing.json --session s");
    session.types("post /dev/null --session s");
    session.does("run --id taken --session s -- true");
    session.has("work/done.json", r#"{"status": "done"}"#);
    session.types("post done.json --session s --id taken");
    session.does("post done.json --session s --id posted");
    session.types("post done.json --session t --id posted");
    session.types("run --id posted -- true");
    assert_snapshot("errors/sessions", &session.transcript());
}

#[test]
fn a_bad_configuration() {
    let mut session = Session::new();
    let broken = [
        "[watch\n",
        "[wach]\n",
        "[watch]\nspacing = 5\n",
        "[watch]\nspacing = \"soon\"\n",
        "[watch]\nstrikes = \"many\"\n",
        "watch = 1\n",
        "[doorbell]\n",
        "[[doorbell]]\nname = \"x\"\n",
        "[[doorbell]]\nname = \"x\"\nkind = \"mail\"\n",
        "[[doorbell]]\nname = \"x\"\nkind = \"webhook\"\nurl = \"ftp://host\"\n",
        "[[doorbell]]\nname = \"x\"\nkind = \"command\"\ncommand = \"true\"\non = \"start\"\n",
    ];
    for text in broken {
        session.has(".config/outlive/config.toml", text);
        session.shows(".config/outlive/config.toml");
        session.types("doorbell list");
    }
    assert_snapshot("errors/configuration", &session.transcript());
}

#[test]
fn a_home_that_cannot_be_used() {
    let mut session = Session::new();
    session.has("file", "");
    session.types("list --home /proc/nowhere");
    session.types(&format!(
        "run --home {} -- true",
        session.path("file").display()
    ));
    session.types_in(&[("OUTLIVE_KEEPER", "/no/such/keeper")], "run -- true");
    assert_snapshot("errors/home", &session.transcript());
}
