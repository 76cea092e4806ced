//! Links that are cut for 10 s, 90 s and 3 min, in both directions or in one; slow links; hosts that crash.

use crate::fixture::{Net, took};
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Jobs before, during and after a time in which the link is broken.
fn broken_for(seconds: u32, break_it: fn(&Net), mend_it: fn(&Net), what: &str) {
    let net = Net::of(1);
    let before = net.start(1, "before");
    assert_eq!(before.code, 0, "{before:?}");
    let waiter = begin(net.world.command(["wait", "before"]));
    break_it(&net);
    let broken = Instant::now();
    // A start while the link is broken says so, and starts nothing, or is settled later.
    let (during, mended) = thread::scope(|scope| {
        let during = scope.spawn(|| {
            let ran = net.start(1, "during");
            println!("{what}: a start said {} after {}", ran.code, took(broken));
            ran
        });
        net.let_go(1, "before");
        let job = net.world.show("before");
        assert_ne!(job["state"], "ended", "{job}");
        assert_eq!(job["outcome"], Value::Null, "{job}");
        thread::sleep((seconds * SECOND).saturating_sub(broken.elapsed()));
        mend_it(&net);
        let mended = Instant::now();
        (during.join().unwrap(), mended)
    });
    assert!([0, 125].contains(&during.code), "{during:?}");
    let waited = Ran::end_of(waiter);
    assert_eq!(waited.code, 7, "{waited:?}");
    println!(
        "{what}: the waiter has returned {} after the link was back",
        took(mended)
    );
    net.assert_exact(1, "before");
    let after = net.start(1, "after");
    assert_eq!(after.code, 0, "{after:?}");
    net.let_go(1, "after");
    net.assert_exact(1, "after");
    let starts = net.starts(1, "during");
    let during = net.world.outlive(&["show", "during", "--json"]);
    assert!(
        starts == 0 || during.code == 0,
        "what runs is known: {during:?}"
    );
    if during.code == 0 {
        let job: Value = serde_json::from_slice(&during.bytes).unwrap();
        let is_settled = job["outcome"]["kind"] == "not_started";
        assert!((starts == 1) != is_settled, "{starts} starts, and {job}");
        net.let_go(1, "during");
    }
    let told = net.told();
    for id in ["before", "after"] {
        let ends = told
            .iter()
            .filter(|it| it["job"] == *id && it["kind"] == "ended");
        assert_eq!(ends.count(), 1, "{id} is told once: {told:?}");
    }
}

fn unplugged(net: &Net) {
    net.hosts.unplug(1);
}

fn plugged(net: &Net) {
    net.hosts.plug(1);
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_link_that_is_down_for_10_seconds() {
    needs!(Hosts);
    broken_for(10, unplugged, plugged, "down for 10 s");
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_link_that_is_down_for_90_seconds() {
    needs!(Hosts);
    broken_for(90, unplugged, plugged, "down for 90 s");
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_link_that_is_down_for_3_minutes() {
    needs!(Hosts);
    broken_for(180, unplugged, plugged, "down for 3 min");
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_host_whose_words_are_lost_for_90_seconds() {
    needs!(Hosts);
    let (mute, unmute) = (
        |net: &Net| net.hosts.mute(1),
        |net: &Net| net.hosts.unmute(1),
    );
    broken_for(90, mute, unmute, "nothing comes from it for 90 s");
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_host_that_hears_nothing_for_90_seconds() {
    needs!(Hosts);
    let deafen = |net: &Net| net.hosts.deafen(1);
    let undeafen = |net: &Net| net.hosts.undeafen(1);
    broken_for(90, deafen, undeafen, "nothing gets to it for 90 s");
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_link_of_64_kilobits_a_second() {
    needs!(Hosts);
    let net = Net::of(1);
    // The program is there before the link is slow; otherwise the first start takes minutes.
    assert_eq!(net.start(1, "first").code, 0);
    net.hosts.slow_down(1, 64);
    let start = Instant::now();
    assert_eq!(net.start(1, "slow").code, 0);
    net.let_go(1, "slow");
    net.let_go(1, "first");
    net.assert_exact(1, "slow");
    net.assert_exact(1, "first");
    println!("64 kbit/s: started, ended and read after {}", took(start));
    assert_eq!(net.told().len(), 2);
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_host_that_crashes_and_boots() {
    needs!(Hosts);
    let net = Net::of(1);
    assert_eq!(net.start(1, "job").code, 0);
    let waiter = begin(net.world.command(["wait", "job"]));
    net.hosts.crash(1);
    let crashed = Instant::now();
    net.until_state("job", "unreachable", 60 * SECOND);
    println!("crash: unreachable after {}", took(crashed));
    assert_eq!(net.world.show("job")["outcome"], Value::Null);
    net.hosts.boot(1).unwrap();
    let booted = Instant::now();
    // The job died with its host: only now that is known.
    let ran = Ran::end_of(waiter);
    println!(
        "crash: the waiter heard of it {} after the boot",
        took(booted)
    );
    assert_eq!(ran.code, 125, "{ran:?}");
    let job = net.world.show("job");
    assert_eq!(job["outcome"]["kind"], "lost", "{job}");
    let told = net.told();
    let ends: Vec<_> = told.iter().filter(|it| it["kind"] == "ended").collect();
    assert_eq!(ends.len(), 1, "{told:?}");
    assert_eq!(net.start(1, "next").code, 0);
    net.let_go(1, "next");
    net.assert_exact(1, "next");
}
