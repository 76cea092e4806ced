//! The notes that verbs print on stderr, and `--quiet`, which leaves them out.

use crate::session::Session;
use crate::snapshot::assert_snapshot;

#[test]
fn notes() {
    let mut session = Session::new();
    session.types("run --name server --shell 'sleep 300 &'");
    session.types("run --name server2 -- setsid sleep 300");
    session.does("run --name long --wait -- seq 1 300");
    session.does("stop server2");
    session.types("log long --lines 1");
    session.types("stop server2");
    session.types("--quiet stop server2");
    session.does("run --session s --name told --wait -- true");
    session.types("prune --all");
    assert_snapshot("verbs/notes", &session.transcript());
}
