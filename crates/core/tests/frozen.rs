//! Job directories of earlier releases must stay readable for ever. Add one per release; never change
//! one.

use outlive_core::outcome::{EndedBy, Outcome};
use outlive_core::state::{LogBase, Tail};
use outlive_core::{JobDir, Phase};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[test]
fn a_job_of_0_1_0_loads() {
    let job = JobDir::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen/0.1.0"));
    let spec = job.read_spec().expect("the spec loads");
    assert_eq!(spec.id.as_str(), "1pzrj72dak");
    assert_eq!(spec.argv[1].as_os_str().as_bytes(), b"-j\xff");
    assert_eq!(spec.timeout_ms, Some(60_000));

    let journal = job.read_journal().expect("the journal loads");
    assert_eq!(journal.damaged, 0);
    let state = journal.state;
    assert_eq!(
        (state.seq, state.gaps.as_slice(), state.log_base),
        (
            10,
            std::slice::from_ref(&(100..164)),
            Some(LogBase {
                offset: 12,
                from: 0
            })
        )
    );
    let Phase::Ended {
        leader, end, tail, ..
    } = state.phase
    else {
        panic!("it has ended: {:?}", state.phase);
    };
    assert_eq!(leader.map(|leader| leader.process.pid), Some(28836));
    assert_eq!(end.outcome.exit_code(), Some(137));
    assert!(matches!(
        end.outcome,
        Outcome::Signaled {
            core_dumped: false,
            ..
        }
    ));
    assert_eq!(
        (end.ended_by, end.duration_ms, end.lingering),
        (EndedBy::Stop, Some(302), 1)
    );
    assert_eq!(
        tail,
        Tail::Closed {
            output_bytes: 310,
            dropped_bytes: 64,
            output_complete: true,
        }
    );
}
