//! Outputs that are stored in segments: with killed keepers, followed, copied to a log, and on a full disk.

use super::ground::{Ground, Grounded};
use super::{MIB, assert_kept, expected, is_segmented, line, lines, stored};
use outlive_testkit::checks::assert_same_bytes;
use outlive_testkit::processes::{begin, kill_for_good};
use outlive_testkit::waiting::until;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;

fn without_holes() -> Grounded {
    Ground::HereWithoutHoles.world("")
}

fn size(place: &Grounded) -> u64 {
    place.world.show("x")["output"]["bytes"].as_u64().unwrap()
}

/// The first keepers cannot punch holes, and the later ones can. The later ones must continue with segments.
#[test]
fn keepers_killed_one_after_another_lose_and_repeat_no_byte() {
    needs!(Strace);
    let place = without_holes();
    let count = 6_000_000;
    place.start("x", "1M", &format!("{}; exit 5", lines(count)));
    for mebibytes in [1, 10, 20, 30, 40, 50] {
        until("more has come", || size(&place) > mebibytes * MIB);
        kill_for_good(place.world.pair("x").keeper);
    }
    assert_eq!(place.world.wait("x")["exit_code"], 5);
    assert!(place.world.events("x", "kept").len() >= 6);
    assert!(is_segmented(&place.world, "x"));
    assert_kept(&place.world, "x", MIB, count);
}

/// A job that writes a part of 4096 lines each time the test lets it.
fn in_parts(place: &Grounded, parts: u64) -> String {
    let go = place.world.path("go");
    format!(
        "for n in $(seq 0 {}); do while [ ! -e {go}$n ]; do sleep 0.01; done; \
         seq -f %015.0f $((n * 4096)) $((n * 4096 + 4095)); done",
        parts - 1,
        go = go.display()
    )
}

fn let_part(place: &Grounded, part: u64) {
    File::create(place.world.path(&format!("go{part}"))).unwrap();
}

#[test]
fn follow_prints_every_byte_once_across_segments() {
    needs!(Strace);
    let place = without_holes();
    let parts = 10;
    place.start("x", "256K", &in_parts(&place, parts));
    let mut child = begin(
        place
            .world
            .command(["log", "x", "--follow", "--raw", "--cursor", "b0"]),
    );
    let mut out = child.stdout.take().unwrap();
    for part in 0..parts {
        let_part(&place, part);
        let mut bytes = vec![0; 65_536];
        out.read_exact(&mut bytes).unwrap();
        assert_same_bytes(part, &bytes, &expected(part * 4096..(part + 1) * 4096));
    }
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).unwrap();
    assert_same_bytes("after the end", &rest, b"");
    assert!(child.wait().unwrap().success());
    assert_kept(&place.world, "x", 256 * 1024, parts * 4096);
}

/// Reads by cursor while parts that were already read are being dropped.
#[test]
fn a_cursor_continues_across_segments() {
    needs!(Strace);
    let place = without_holes();
    let parts = 10;
    place.start("x", "256K", &in_parts(&place, parts));
    let mut cursor = "b0".to_owned();
    for part in 0..parts {
        let_part(&place, part);
        let mut text = String::new();
        until("the part is read", || {
            let log: Value = place
                .world
                .json(&["log", "x", "--raw", "--cursor", &cursor, "--json"]);
            cursor = log["next_cursor"].as_str().unwrap().to_owned();
            text.push_str(log["text"].as_str().unwrap());
            text.len() >= 65_536
        });
        assert_same_bytes(
            part,
            text.as_bytes(),
            &expected(part * 4096..(part + 1) * 4096),
        );
    }
    assert_eq!(cursor, format!("b{}", parts * 65_536));
}

/// The log of `detach` has every byte, also those that the output dropped before its keeper died.
#[test]
fn the_log_of_a_detached_job_is_complete() {
    needs!(Strace);
    for ground in [Ground::Here, Ground::HereWithoutHoles] {
        let place = ground.world("");
        let world = &place.world;
        let log = world.path("log");
        fs::write(&log, "before\n").unwrap();
        let parts = 12;
        let (path, script) = (log.to_str().unwrap(), in_parts(&place, parts));
        let job = ["--", "bash", "-c", &script];
        let detach = ["detach", "--id", "x", "--max-output", "256K", path];
        place.begin(&[&detach[..], &job[..]].concat());
        for part in 0..parts {
            let_part(&place, part);
            let far = 7 + (part + 1) * 65_536;
            until("it is copied", || fs::metadata(&log).unwrap().len() >= far);
            if part % 5 == 4 {
                kill_for_good(world.pair("x").keeper);
                world.show("x");
            }
        }
        world.wait("x");
        world.until_over("x");
        let whole = [b"before\n".to_vec(), expected(0..parts * 4096)].concat();
        assert_same_bytes(format!("{ground:?}"), &fs::read(&log).unwrap(), &whole);
        assert_kept(world, "x", 256 * 1024, parts * 4096);
    }
}

/// The job reports what a full disk could not take. All other bytes are exact, also those that come once there is
/// space again.
#[test]
fn a_full_disk_loses_only_what_does_not_fit() {
    needs!(Root, Strace);
    let place = Ground::TmpfsWithoutHoles.world("1m");
    let world = &place.world;
    let go = world.path("go");
    let count = 100_000;
    let script = format!(
        "{}; while [ ! -e {} ]; do sleep 0.01; done; seq -f %015.0f {count} {}; exit 4",
        lines(count),
        go.display(),
        count + 999
    );
    let filler = world.home().join("filler");
    fs::create_dir_all(world.home()).unwrap();
    fs::write(&filler, vec![0; 256 * 1024]).unwrap();
    place.start("x", "2M", &script);
    until("it is all taken", || size(&place) == count * 16);
    fs::remove_file(&filler).unwrap();
    File::create(go).unwrap();
    let job = world.wait("x");
    assert_eq!(job["exit_code"], 4);
    assert_eq!(job["output"]["bytes"], (count + 1000) * 16);
    let gaps = world.events("x", "gap");
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    let [from, to] = ["from", "to"].map(|end| gaps[0][end].as_u64().unwrap());
    assert!(from > 512 * 1024 && to == count * 16, "{from}..{to}");
    assert_eq!(job["output"]["dropped_bytes"], to - from);
    let all = expected(0..count + 1000);
    assert!(
        stored(world, "x", 0..from) == all[..from as usize],
        "before it"
    );
    assert!(
        stored(world, "x", to..to + 16_000) == all[to as usize..],
        "after it"
    );
    let log = world.outlive(&["log", "x", "--raw", "--lines", "1000"]);
    assert!(
        log.stdout.starts_with(&line(count)),
        "{:?}",
        &log.stdout[..40]
    );
}
