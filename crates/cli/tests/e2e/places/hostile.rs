//! A place that lies. It can lie about its own jobs, and about nothing else: it fills neither the disk nor the memory
//! here, makes nobody run without a pause, and its words act on no terminal.

use super::{configure, counted, starts, tapped, told};
use outlive_core::JobId;
use outlive_core::far::{Call, FromJournals, Opening};
use outlive_core::wire::{Frame, Kind};
use outlive_testkit::places::CmdSh;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::tap::{Direction, Said, Tap, opening};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Text that would begin a line of its own, and color it.
const ACTING: &str = "it cannot\nOutlive: all is well \u{1b}[31m\u{1b}]0;title\u{7}";

/// Says this on the stream of journals when the courier follows a job, after that was passed on. Over connections that
/// begin later.
fn when_followed(tap: &Tap, say: impl Fn() -> Vec<FromJournals> + Send + 'static) {
    let mut journals = None;
    tap.lie(move |direction, frame| {
        if direction == Direction::There && matches!(opening(frame), Some(Opening::Journals)) {
            journals = Some(frame.stream);
        }
        let text = String::from_utf8_lossy(&frame.payload);
        let is_follow = frame.kind == Kind::Data && text.contains("\"follow\"");
        match journals {
            Some(stream) if direction == Direction::There && is_follow => {
                Some(vec![Said::there(frame), Said::of_journals(stream, &say())])
            }
            _ => None,
        }
    });
}

/// Counts the streams that are opened to keepers, each of which ends at once.
fn end_control_streams(tap: &Tap) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let mine = count.clone();
    tap.lie(move |direction, frame| {
        let is_open = direction == Direction::There;
        if !is_open || !matches!(opening(frame), Some(Opening::Control { .. })) {
            return None;
        }
        mine.fetch_add(1, Ordering::SeqCst);
        Some(vec![Said::end(frame.stream)])
    });
    count
}

fn start(world: &World, id: &str) {
    let script = counted(world, id, "echo up; exec sleep 600");
    world.ok(&["run", "--id", id, "--session", "s", "--shell", &script]);
    until("it has started", || starts(world, id) == 1);
}

fn job(id: &str) -> JobId {
    JobId::parse(id).unwrap()
}

/// A record of an event that only a later release knows, about a megabyte long.
fn large_record(id: &str, seq: usize) -> FromJournals {
    let rest = "x".repeat(1_000_000);
    FromJournals::Record {
        job: job(id),
        line: format!(
            r#"{{"v":1,"seq":{seq},"at":{{"wall_ms":1,"boot_ms":1}},"event":{{"future":"{rest}"}}}}"#
        ),
    }
}

fn log_of(world: &World) -> String {
    let places = fs::read_dir(world.home().join("places")).unwrap().flatten();
    let logs = places.filter_map(|place| fs::read_to_string(place.path().join("log")).ok());
    logs.collect()
}

#[test]
fn streams_that_end_at_once_are_not_opened_again_without_a_pause() {
    let (tap, world) = tapped();
    start(&world, "job");
    let opened = end_control_streams(&tap);
    let verbs = [&["stop", "job"][..], &["log", "job", "--follow"]];
    let verbs = verbs.map(|args| begin(world.command(args)));
    thread::sleep(Duration::from_secs(2));
    let count = opened.load(Ordering::SeqCst);
    tap.stop_lying();
    for verb in verbs {
        let ran = Ran::end_of(verb);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(world.show("job")["ended_by"], "stop");
    // Without a pause there are as many as the machine can make: 33 on one that was busy.
    assert!((3..16).contains(&count), "{count} streams in 2 s");
}

#[test]
fn connections_that_end_at_each_call_are_not_made_again_without_a_pause() {
    let (tap, world) = tapped();
    start(&world, "job");
    tap.lie(|direction, frame| {
        let is_look = matches!(opening(frame), Some(Opening::Call(call)) if matches!(*call, Call::Look { .. }));
        let garbage = || vec![Said::Here(b"this is no frame\n".to_vec())];
        (direction == Direction::There && is_look).then(garbage)
    });
    let before = tap.connections();
    let show = begin(world.command(["show", "job"]));
    thread::sleep(Duration::from_secs(3));
    let made = tap.connections() - before;
    assert!((2..12).contains(&made), "{made} connections in 3 s");
    tap.stop_lying();
    let ran = Ran::end_of(show);
    assert!(ran.stdout.contains("running"), "{ran:?}");
    world.ok(&["stop", "job"]);
}

#[test]
fn who_follows_an_output_is_not_hurried_by_news_of_nothing() {
    let (tap, world) = tapped();
    start(&world, "job");
    let count = Arc::new(AtomicUsize::new(0));
    let (mine, mut controls) = (count.clone(), Vec::new());
    tap.lie(move |direction, frame| {
        if direction == Direction::Here {
            return None;
        }
        if matches!(opening(frame), Some(Opening::Control { .. })) {
            controls.push(frame.stream);
        }
        if frame.kind != Kind::Data || !controls.contains(&frame.stream) {
            return None;
        }
        mine.fetch_add(1, Ordering::SeqCst);
        let news = b"{\"news\":{\"seq\":9,\"output\":3}}\n".as_slice();
        let news = Frame::new(frame.stream, Kind::Data, news);
        Some(vec![Said::here([news])])
    });
    let mut follower = begin(world.command(["log", "job", "--follow"]));
    thread::sleep(Duration::from_secs(2));
    let asked = count.load(Ordering::SeqCst);
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert!((2..40).contains(&asked), "{asked} questions in 2 s");
    tap.stop_lying();
    world.ok(&["stop", "job"]);
}

#[test]
fn endless_records_of_a_job_fill_neither_disk_nor_memory() {
    let (tap, world) = tapped();
    start(&world, "other");
    world.kill_couriers();
    when_followed(&tap, || {
        (100..180).map(|seq| large_record("job", seq)).collect()
    });
    start(&world, "job");
    let replica = world.job_dir("job").join("journal");
    let size = || fs::metadata(&replica).map_or(0, |it| it.len());
    let begun = Instant::now();
    while size() <= 64 << 20 && begun.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(size() > 64 << 20, "{}: {}", size(), log_of(&world));
    until("it is said", || log_of(&world).contains("not understood"));
    tap.stop_lying();
    assert!(size() < 66 << 20, "{}", size());
    let shown = world.show("job");
    assert_eq!(shown["state"], "unreachable", "{shown}");
    let reason = shown["unreachable"]["reason"].as_str().unwrap();
    assert!(reason.contains("not understood"), "{shown}");
    assert!(shown["outcome"].is_null(), "{shown}");
    for _ in 0..3 {
        world.kill_couriers();
        assert_eq!(world.show("other")["state"], "running");
        assert_eq!(world.show("job")["state"], "unreachable");
    }
    assert!(size() < 66 << 20, "{}", size());
    let log = log_of(&world);
    assert_eq!(log.matches("not understood").count(), 1, "{log}");
    let couriers = world.couriers();
    let status = fs::read_to_string(format!("/proc/{}/status", couriers[0].pid)).unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 300_000, "{peak}");
    // The keeper there can be asked all the same.
    world.ok(&["signal", "job", "CONT"]);
    assert_eq!(told(&world, "s"), [""; 0]);
    world.ok(&["stop", "other"]);
    world.outlive(&["signal", "job", "KILL"]);
}

#[test]
fn words_about_jobs_that_are_not_followed_fill_nothing() {
    let (tap, world) = tapped();
    let begun = Instant::now();
    when_followed(&tap, || {
        let ids = (0..20_000).map(|number| job(&format!("none-{number}")));
        let gone = ids.map(|job| FromJournals::Gone { job });
        let failed = (0..2000).map(|number| FromJournals::Failed {
            job: job("job"),
            reason: format!("{ACTING} {number}"),
        });
        gone.chain(failed).collect()
    });
    start(&world, "job");
    assert_eq!(world.show("job")["state"], "running");
    tap.stop_lying();
    let log = log_of(&world);
    assert!(log.lines().count() < 10, "{log}");
    assert!(!log.contains('\u{1b}') && log.contains("\\x1b"), "{log:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    world.ok(&["stop", "job"]);
}

/// A place that knows the id of another home of ours, and claims to be it.
#[test]
fn a_place_that_poses_as_another_one_does_not_touch_the_jobs_there() {
    let (tap, world) = tapped();
    let honest = world.path("honest");
    fs::create_dir(&honest).unwrap();
    configure(
        &world,
        &format!("at = {:?}", CmdSh::default().address(&honest)),
    );
    let run = ["run", "--place", "far", "--id", "victim", "--session", "s"];
    world.ok(&[&run[..], &["--", "sleep", "600"]].concat());
    let home = fs::read(honest.join(".local/state/outlive/home-id")).unwrap();
    let home = String::from_utf8(home).unwrap().trim().to_owned();
    tap.lie(move |direction, frame| {
        if direction == Direction::There && matches!(opening(frame), Some(Opening::Journals)) {
            let victim = || job("victim");
            let ended = r#"{"v":1,"seq":90,"at":{"wall_ms":1,"boot_ms":1},"event":{"ended":{"outcome":{"kind":"exited","code":0},"ended_by":"itself","duration_ms":1,"output_bytes":0,"dropped_bytes":0,"lingering":0,"usage":null}}}"#;
            let lies = [
                FromJournals::Gone { job: victim() },
                FromJournals::Record {
                    job: victim(),
                    line: ended.to_owned(),
                },
                FromJournals::Failed {
                    job: victim(),
                    reason: "no".to_owned(),
                },
                FromJournals::Finished { job: victim() },
            ];
            return Some(vec![Said::there(frame), Said::of_journals(frame.stream, &lies)]);
        }
        let text = String::from_utf8_lossy(&frame.payload).into_owned();
        let at = text.find("\"home\":\"").filter(|_| text.starts_with("{\"hello\""))?;
        let at = at + "\"home\":\"".len();
        let posed = format!("{}{home}{}", &text[..at], &text[at + 32..]);
        let frame = Frame::new(frame.stream, frame.kind, posed);
        (direction == Direction::Here).then(|| vec![Said::here([frame])])
    });
    start(&world, "bait");
    let bait = fs::read_to_string(world.job_dir("bait").join("placed")).unwrap();
    let victim = fs::read_to_string(world.job_dir("victim").join("placed")).unwrap();
    let home_of = |placed: &str| placed.split("\"home\":\"").nth(1).unwrap()[..32].to_owned();
    assert_eq!(
        home_of(&bait),
        home_of(&victim),
        "it posed as the other home"
    );
    // Its own job is stopped and pruned, and the place is asked again and again.
    world.ok(&["stop", "bait"]);
    world.kill_couriers();
    world.ok(&["list", "--fresh"]);
    let shown = world.show("victim");
    assert_eq!(shown["state"], "running", "{shown}");
    assert_eq!(world.events("victim", "ended").len(), 0);
    assert_eq!(told(&world, "s"), ["bait ended"]);
    world.ok(&["stop", "victim"]);
    assert_eq!(world.show("victim")["ended_by"], "stop");
}

#[test]
fn words_of_a_place_act_on_no_terminal_and_begin_no_line() {
    let (tap, world) = tapped();
    start(&world, "job");
    tap.lie(|direction, frame| {
        let refusal = || vec![Said::refusal(frame.stream, "no\u{1b}\n", ACTING)];
        (direction == Direction::There && frame.kind == Kind::Open).then(refusal)
    });
    let start = ["run", "--", "true"];
    for args in [
        &["stop", "job"][..],
        &["log", "job"],
        &["show", "job"],
        &["place", "clean"],
        &["prune", "--all"],
        &start,
    ] {
        let ran = world.outlive(args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            !said.contains('\u{1b}') && !said.contains('\u{7}'),
            "{args:?}: {said:?}"
        );
        let begins = said
            .lines()
            .any(|line| line.starts_with("Outlive: all is well"));
        assert!(!begins, "{args:?}: {said}");
    }
    let ran = world.outlive(&["stop", "job"]);
    assert!(ran.stderr.contains("\\nOutlive: all is well"), "{ran:?}");
    tap.stop_lying();
    world.ok(&["stop", "job"]);
}

#[test]
fn a_start_that_a_place_refuses_is_told_in_one_line() {
    let (tap, world) = tapped();
    tap.lie(|direction, frame| {
        let is_launch =
            matches!(opening(frame), Some(Opening::Call(call)) if matches!(*call, Call::Launch(_)));
        if direction == Direction::Here || !is_launch {
            return None;
        }
        let answer = serde_json::json!({"launch": {"not_made": {"reason": ACTING}}});
        let answer = Frame::new(frame.stream, Kind::Data, answer.to_string());
        Some(vec![Said::here([answer]), Said::end(frame.stream)])
    });
    let ran = world.outlive(&["run", "--id", "job", "--session", "s", "--", "true"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    assert!(ran.stderr.contains("\\nOutlive: all is well"), "{ran:?}");
    let inbox = world.ok(&["inbox", "--session", "s"]);
    assert!(!inbox.contains("\nOutlive: all is well"), "{inbox}");
}
