//! Every request reads back as it was written, has its defaults, and refuses what it does not know.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use outlive_api::event::EventKind;
use outlive_api::event_id::EventId;
use outlive_api::id::JobId;
use outlive_api::input::{Input, WriteId};
use outlive_api::key::Key;
use outlive_api::label::Label;
use outlive_api::labels::{LabelFilter, LabelKey, parse_pair};
use outlive_api::log::Cursor;
use outlive_api::notify::{Leftovers, Notify};
use outlive_api::os_text::OsText;
use outlive_api::request::{
    Ack, Adopt, Attach, ChangeLabels, ChangeWatch, Command, EndSession, Filter, ForJob, ForJobs,
    ForSession, Log, LogForm, Namesake, NewPost, Part, Prune, Run, Running, Selection, Selector,
    Send, SendSignal, Show, StateFilter, Stop, Take, Until, Wait, WaitFor, Waiting,
};
use outlive_api::restart::Restart;
use outlive_api::schemas;
use outlive_api::signal::Signal;
use outlive_api::streams::Stream;
use outlive_api::terminal::Size;
use outlive_api::waiting::After;
use outlive_api::watch::Pattern;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::time::Duration;

fn job() -> JobId {
    JobId::parse("job").unwrap()
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn for_job<R>(request: R) -> ForJob<R> {
    ForJob {
        job: job(),
        request,
    }
}

fn for_jobs<R>(request: R) -> ForJobs<R> {
    ForJobs {
        jobs: vec![job(), JobId::parse("job2").unwrap()],
        select: None,
        request,
    }
}

/// A request about jobs that are named and selected.
fn for_all_jobs<R>(request: R) -> ForJobs<R> {
    ForJobs {
        select: Some(selector()),
        ..for_jobs(request)
    }
}

fn selector() -> Selector {
    Selector {
        session: Some(label("s")),
        task: Some(label("t")),
        labels: vec![LabelFilter::parse("k=v").unwrap()],
        place: Some("gpu".to_owned()),
    }
}

fn for_session<R>(request: R) -> ForSession<R> {
    ForSession {
        session: label("s"),
        request,
    }
}

const fn ms(ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(ms))
}

/// A run with every field set.
fn run() -> Run {
    let mut run = Run::argv(["make", "-j8"])
        .name("build")
        .session("s")
        .task("t")
        .labeled("k", "v")
        .shown_as("the build")
        .lock("gpu")
        .queue("gpu:2")
        .after(After::parse("build:success").unwrap())
        .ready("port:8080")
        .place("gpu")
        .cwd("/src")
        .env("KEY", vec![b'v', 0xff])
        .pty()
        .split_streams()
        .timeout(Duration::from_millis(1500))
        .grace(Duration::from_secs(3))
        .max_output(1 << 20)
        .notify(Notify::Failure)
        .watch(Pattern::NotRegex("^DEBUG".to_owned()))
        .quiet_after(Duration::from_secs(60))
        .unless_running()
        .replacing()
        .on_end("true")
        .env_clean()
        .env_pass("AWS_*")
        .from_harness()
        .login()
        .memory(1 << 30)
        .cpus(1.5)
        .pids(64)
        .nice(5);
    run.id = Some(job());
    run.plain = Some(true);
    run.watch_limit = Some(7);
    run.leftovers = Leftovers::Stop;
    run.restart = Some(Restart::OnFailure { max: Some(3) });
    run.log = Some(OsText::from(vec![b'/', 0xfe]));
    run.keep_awake = true;
    run
}

/// Checks one request: it reads back, its JSON sets every field of its schema, and unknown keys are refused.
fn check<T>(name: &str, full: &T, minimal: (Value, T))
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let written = serde_json::to_value(full).unwrap();
    let read: T = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(&read, full, "{name} reads back");
    let text = serde_json::to_string(full).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), full, "{name}");

    let all = schemas::requests();
    let schema = &all.iter().find(|named| named.name == name).unwrap().schema;
    for (key, property) in schema["properties"].as_object().unwrap() {
        let value = written.get(key).unwrap_or(&Value::Null);
        assert_ne!(value, &Value::Null, "{name}: {key} is not set: {property}");
        assert_ne!(Some(value), property.get("default"), "{name}: {key}");
    }
    for key in written.as_object().unwrap().keys() {
        assert!(schema["properties"].get(key).is_some(), "{name}: {key}");
    }

    let (json, defaults) = minimal;
    let read: T = serde_json::from_value(json).unwrap();
    assert_eq!(read, defaults, "{name} has defaults");

    for place in objects(&written, "") {
        // Whatever was posted is passed on as it is.
        if (name, place.as_str()) == ("post_request", "/data") {
            continue;
        }
        let mut unknown = written.clone();
        unknown.pointer_mut(&place).unwrap()["unknown"] = json!(1);
        let read = serde_json::from_value::<T>(unknown);
        assert!(read.is_err(), "{name} at {place:?}: {read:?}");
    }
}

/// Where the objects of a value are, as JSON pointers.
fn objects(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let inner = fields.iter();
            let inner = inner.flat_map(|(key, value)| objects(value, &format!("{at}/{key}")));
            [at.to_owned()].into_iter().chain(inner).collect()
        }
        Value::Array(items) => {
            let inner = items.iter().enumerate();
            let inner = inner.flat_map(|(n, value)| objects(value, &format!("{at}/{n}")));
            inner.collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn requests_without_ids_read_back() {
    check(
        "run_request",
        &run(),
        (json!({"command": {"shell": "make"}}), Run::shell("make")),
    );
    let filter = Filter {
        select: selector(),
        state: StateFilter::Ended,
        limit: 3,
        older_than: ms(4),
        usage: true,
        fresh: true,
    };
    check("list_request", &filter, (json!({}), Filter::default()));
    let prune = Prune {
        select: selector(),
        older_than: ms(1),
        keep: Some(2),
        max_size: Some(3),
        all: true,
        force: true,
    };
    check("prune_request", &prune, (json!({}), Prune::default()));
    let post = NewPost {
        session: label("s"),
        task: Some(label("t")),
        kind: EventKind::Ended,
        data: json!({"goal": "g"}),
        id: Some(job()),
    };
    let minimal = NewPost {
        session: label("s"),
        task: None,
        kind: EventKind::Delegation,
        data: json!({}),
        id: None,
    };
    check(
        "post_request",
        &post,
        (json!({"session": "s", "data": {}}), minimal),
    );
}

#[test]
fn an_adoption_reads_back() {
    let mut full = Adopt::pid(7).timeout(Duration::from_secs(3));
    full.id = Some(job());
    full.name = Some(label("n"));
    full.session = Some(label("s"));
    full.task = Some(label("t"));
    full.grace = ms(1);
    full.notify = Notify::Failure;
    full.on_end = Some("true".to_owned());
    full.leftovers = Leftovers::Stop;
    full.force = true;
    check("adopt_request", &full, (json!({"pid": 7}), Adopt::pid(7)));
}

#[test]
fn requests_about_one_job_read_back() {
    let minimal = || json!({"job": "job"});
    let show = Show { preview_lines: 3 };
    let defaults = for_job(Show::default());
    check("show_request", &for_job(show), (minimal(), defaults));
    let log = Log {
        stream: Some(Stream::Stderr),
        part: Part::Since {
            age: Duration::from_secs(5),
            lines: Some(7),
        },
        form: LogForm::Lines {
            raw: true,
            matching: Some("error".to_owned()),
            last: Some(3),
        },
    };
    let defaults = for_job(Log::default());
    check("log_request", &for_job(log), (minimal(), defaults));
    let signal = for_job(SendSignal {
        signal: Signal::HUP,
    });
    let term = for_job(SendSignal {
        signal: Signal::TERM,
    });
    check(
        "signal_request",
        &signal,
        (json!({"job": "job", "signal": "TERM"}), term),
    );
    let send = Send {
        text: vec![b'a', 0xff].into(),
        paste: true,
        enter: true,
        keys: vec![Key::parse("C-c").unwrap(), Key::parse("up").unwrap()],
        eof: true,
        write_id: Some(WriteId::parse("w").unwrap()),
    };
    let defaults = for_job(Send::default());
    check("send_request", &for_job(send), (minimal(), defaults));
    let size = Size { rows: 24, cols: 80 };
    let minimal_size = json!({"job": "job", "rows": 24, "cols": 80});
    check(
        "resize_request",
        &for_job(size),
        (minimal_size, for_job(size)),
    );
    let attach = Attach { size: Some(size) };
    let defaults = for_job(Attach::default());
    check("attach_request", &for_job(attach), (minimal(), defaults));
}

#[test]
fn requests_about_several_jobs_read_back() {
    let minimal = || json!({"jobs": ["job", "job2"]});
    let wait = Wait {
        what: WaitFor::Ready,
        until: Until::Any,
        timeout: ms(1500),
    };
    let defaults = for_jobs(Wait::default());
    check("wait_request", &for_all_jobs(wait), (minimal(), defaults));
    let stop = Stop {
        grace: ms(1),
        detail: Some("test".to_owned()),
    };
    let defaults = for_jobs(Stop::default());
    check("stop_request", &for_all_jobs(stop), (minimal(), defaults));
    let watch = ChangeWatch {
        add: vec![Pattern::Text("x".to_owned())],
        drop: vec!["y".to_owned()],
        drop_all: true,
        limit: Some(7),
        notify: Some(Notify::Never),
        look_back: Some(9),
    };
    let defaults = for_jobs(ChangeWatch::default());
    check("watch_request", &for_all_jobs(watch), (minimal(), defaults));
    let labels = ChangeLabels {
        set: [parse_pair("k=v").unwrap()].into(),
        remove: vec![LabelKey::parse("l").unwrap()],
    };
    let defaults = for_jobs(ChangeLabels::default());
    check(
        "label_request",
        &for_all_jobs(labels),
        (minimal(), defaults),
    );
}

#[test]
fn requests_about_a_session_read_back() {
    let minimal = || json!({"session": "s"});
    let take = Take {
        selection: Selection {
            skip_shown: true,
            limit: Some(3),
        },
        timeout: ms(1),
    };
    let defaults = for_session(Take::default());
    check("inbox_request", &for_session(take), (minimal(), defaults));
    let ack = Ack {
        events: vec![EventId::parse("job:7.k3f9x2").unwrap()],
        jobs: vec![job()],
        delivered: true,
    };
    let defaults = for_session(Ack::default());
    check("ack_request", &for_session(ack), (minimal(), defaults));
    let end = EndSession {
        waiting: Waiting::Drop,
        running: Running::Stop(Stop {
            grace: ms(1),
            detail: Some("over".to_owned()),
        }),
    };
    let defaults = for_session(EndSession::default());
    check(
        "session_end_request",
        &for_session(end),
        (minimal(), defaults),
    );
}

/// The schemas say which requests there are, and each is checked above, in `places.rs` or in `rpc.rs`.
#[test]
fn every_request_is_checked() {
    let files = [
        include_str!("requests.rs"),
        include_str!("places.rs"),
        include_str!("rpc.rs"),
    ];
    let source = files.concat();
    for named in schemas::requests() {
        let name = format!("\"{}\"", named.name);
        assert!(source.contains(&name), "{name} is not checked");
    }
}

#[test]
fn every_part_and_form_of_a_log_reads_back() {
    let parts = [
        Part::LastLines(1),
        Part::Lines { from: 1, count: 2 },
        Part::Bytes {
            from: 1,
            to: Some(2),
        },
        Part::After(Cursor(9)),
        Part::Since {
            age: Duration::from_millis(1),
            lines: None,
        },
    ];
    let forms = [
        LogForm::Page {
            raw: true,
            budget: Some(9),
        },
        LogForm::Lines {
            raw: true,
            matching: None,
            last: None,
        },
        LogForm::Pieces {
            raw: true,
            follow: true,
        },
        LogForm::Screen,
    ];
    for part in parts {
        for form in &forms {
            let log = for_job(Log {
                stream: None,
                part: part.clone(),
                form: form.clone(),
            });
            let written = serde_json::to_value(&log).unwrap();
            for place in objects(&written, "") {
                let mut unknown = written.clone();
                unknown.pointer_mut(&place).unwrap()["unknown"] = json!(1);
                let read = serde_json::from_value::<ForJob<Log>>(unknown.clone());
                assert!(read.is_err(), "{unknown}");
            }
            assert_eq!(serde_json::from_value::<ForJob<Log>>(written).unwrap(), log);
        }
    }
}

#[test]
fn every_kind_of_input_and_command_reads_back() {
    let commands = [
        Command::Shell("a | b".to_owned()),
        Command::Argv(vec!["a".into(), vec![0xff].into()]),
    ];
    for command in commands {
        for input in [Input::Null, Input::Pipe, Input::Pty(Size::DEFAULT)] {
            for namesake in [Namesake::Refuse, Namesake::Replace] {
                let mut run = Run::new(command.clone()).input(input);
                run.namesake = namesake;
                let written = serde_json::to_string(&run).unwrap();
                assert_eq!(serde_json::from_str::<Run>(&written).unwrap(), run);
            }
        }
    }
}
