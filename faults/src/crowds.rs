//! Crowds: many jobs, many clients of one job, many ended jobs, many launches during removals.

use crate::invariants::nothing_is_left;
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "crowd: jobs at once",
            promise: "each runs, is listed, ends as it should, and nothing is left",
            run: |context| one(context, jobs_at_once),
        },
        Row {
            name: "crowd: clients of one job",
            promise: "each is answered, and the job ends exactly and once",
            run: |context| one(context, clients_of_one_job),
        },
        Row {
            name: "crowd: ended jobs",
            promise: "listing the running jobs costs the same as without them; run and prune work",
            run: |context| one(context, ended_jobs),
        },
        Row {
            name: "crowd: launches while others are pruned",
            promise: "every launch is whole, and every end exact",
            run: |context| one(context, launches_and_prunes),
        },
    ]
}

/// Runs a row that is one large case. Its count is the number of participants, not of cases.
fn one(context: &Context, check: fn(&Context, &World) -> Result<usize, String>) -> Tried {
    match context.world().and_then(|world| check(context, &world)) {
        Ok(count) => Tried {
            count,
            ..Tried::default()
        },
        Err(loss) => Tried::lost(loss),
    }
}

/// More threads would only wait, because there are two processors.
const THREADS: usize = 8;

/// Runs this for every number below `count`, several at a time. Returns the first error.
fn each(count: usize, work: impl Fn(usize) -> Result<(), String> + Sync) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        match next.fetch_add(1, Ordering::Relaxed) {
                            number if number < count => work(number)?,
                            _ => return Ok(()),
                        }
                    }
                })
            })
            .collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.unwrap_or_else(|_| Err("a worker panicked".to_owned())))
    })
}

fn listed(world: &World, options: &[&str]) -> Result<usize, String> {
    let jobs = world.try_json(&[&["list", "--json", "--limit", "1000000"], options].concat())?;
    Ok(jobs["jobs"].as_array().map_or(0, Vec::len))
}

fn jobs_at_once(context: &Context, world: &World) -> Result<usize, String> {
    let count = if context.is_long { 1000 } else { 100 };
    let go = world.path("go");
    each(count, |n| {
        // Stderr is discarded: if the stop reaches the `sleep` first, the shell prints a message about it.
        let script = format!(
            "echo {n}; exec 2> /dev/null; until [ -e '{}' ]; do sleep 1; done; exit {}",
            go.display(),
            n % 100
        );
        world
            .try_ok(&["run", "--id", &format!("j{n}"), "--shell", &script])
            .map(drop)
    })?;
    let running = listed(world, &["--state", "running"])?;
    if running != count {
        return Err(format!("{running} of {count} are listed as running"));
    }
    // Every tenth job is stopped; the others run on.
    let stopped: Vec<String> = (0..count).step_by(10).map(|n| format!("j{n}")).collect();
    let stop: Vec<&str> = ["stop"]
        .into_iter()
        .chain(stopped.iter().map(String::as_str))
        .collect();
    world.try_ok(&stop)?;
    fs::write(&go, "").map_err(|error| error.to_string())?;
    each(count, |n| {
        let id = format!("j{n}");
        let ran = world.try_outlive(&["wait", &id, "--timeout", "39s"])?;
        let should = if n % 10 == 0 { 143 } else { (n % 100) as i32 };
        let output = fs::read(world.job_dir(&id).join("output")).unwrap_or_default();
        match ran.code == should && output == format!("{n}\n").as_bytes() {
            true => Ok(()),
            false => Err(format!(
                "{id} ended with {ran}, not {should}; it wrote {output:?}"
            )),
        }
    })?;
    nothing_is_left(world)?;
    Ok(count)
}

/// The requests that a client repeats, and the exit codes that are right answers.
const ASKED: [(&[&str], &[i32]); 9] = [
    (&["show", "job", "--json"], &[0]),
    (&["list", "--json"], &[0]),
    (&["log", "job", "--json", "--lines", "20"], &[0]),
    (&["log", "job", "--grep", "7$"], &[0]),
    (&["wait", "job", "--timeout", "50ms"], &[124, 5]),
    (&["signal", "job", "CONT"], &[0, 125]),
    (&["send", "job", "x"], &[0, 125]),
    (&["inbox", "--session", "nobody", "--json"], &[0]),
    (&["prune"], &[0]),
];

fn clients_of_one_job(context: &Context, world: &World) -> Result<usize, String> {
    let (clients, rounds) = if context.is_long { (100, 20) } else { (20, 2) };
    let go = world.path("go");
    let script = format!(
        "n=0; until [ -e '{}' ]; do n=$((n+1)); echo line $n; sleep 0.01; done; cat; echo; echo last $n; exit 5",
        go.display()
    );
    world.try_ok(&["run", "--id", "job", "--stdin", "pipe", "--shell", &script])?;
    let sent = AtomicUsize::new(0);
    let asked = AtomicUsize::new(0);
    let hammer = |client: usize| -> Result<(), String> {
        for round in 0..rounds {
            let (args, codes) = ASKED[(client + round) % ASKED.len()];
            let ran = world.try_outlive(args)?;
            asked.fetch_add(1, Ordering::Relaxed);
            if args[0] == "send" && ran.code == 0 {
                sent.fetch_add(1, Ordering::Relaxed);
            }
            if !codes.contains(&ran.code) || ran.stderr.contains("panicked") {
                return Err(format!("{args:?}: {ran}"));
            }
        }
        Ok(())
    };
    let losses: Vec<String> = thread::scope(|scope| {
        let hammer = &hammer;
        let clients: Vec<_> = (0..clients)
            .map(|n| scope.spawn(move || hammer(n)))
            .collect();
        let ends = clients
            .into_iter()
            .filter_map(|client| client.join().ok()?.err());
        ends.collect()
    });
    if let Some(loss) = losses.first() {
        return Err(format!(
            "{} clients had a loss, such as {loss}",
            losses.len()
        ));
    }
    fs::write(&go, "").map_err(|error| error.to_string())?;
    world.try_ok(&["send", "job", "--eof"])?;
    let ran = world.try_outlive(&["wait", "job", "--timeout", "30s"])?;
    if ran.code != 5 {
        return Err(format!("it ended with {ran}"));
    }
    let output = fs::read_to_string(world.job_dir("job").join("output")).unwrap_or_default();
    let (lines, rest): (Vec<&str>, Vec<&str>) =
        output.lines().partition(|line| line.starts_with("line "));
    let in_order = lines
        .iter()
        .enumerate()
        .all(|(n, line)| *line == format!("line {}", n + 1));
    let sent = "x".repeat(sent.load(Ordering::Relaxed));
    let last = format!("last {}", lines.len());
    if !in_order || rest != [sent.as_str(), last.as_str()] {
        return Err(format!(
            "{} lines, in order: {in_order}; then {rest:?}",
            lines.len()
        ));
    }
    let ends = world
        .all_events("job")
        .iter()
        .filter(|(kind, _)| kind == "ended")
        .count();
    if ends != 1 {
        return Err(format!("it has ended {ends} times"));
    }
    nothing_is_left(world)?;
    Ok(asked.load(Ordering::Relaxed))
}

/// Makes many ended jobs quickly: copies the files of one ended job under many IDs.
fn make_ended(world: &World, count: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("making ended jobs: {error}");
    world.try_ok(&["run", "--wait", "--id", "model", "--", "echo", "x"])?;
    let model = world.job_dir("model");
    let days = world.home().join("ended");
    let day = fs::read_dir(&days).map_err(failed)?.flatten().next();
    let day = day.ok_or("no day has an end")?.path();
    let line = fs::read_to_string(&day).map_err(failed)?;
    let ended_ms = line.split_whitespace().next().unwrap_or("1").to_owned();
    let files: Vec<_> = fs::read_dir(&model).map_err(failed)?.flatten().collect();
    let mut history = String::new();
    for n in 0..count {
        let id = format!("old{n:06}");
        let directory = world.job_dir(&id);
        fs::create_dir(&directory).map_err(failed)?;
        for file in &files {
            // Nobody writes to the record of an ended job, so the copies can share its files.
            fs::hard_link(file.path(), directory.join(file.file_name()))
                .or_else(|_| fs::copy(file.path(), directory.join(file.file_name())).map(drop))
                .map_err(failed)?;
        }
        history.push_str(&format!("{ended_ms} {id}\n"));
    }
    let all = [line, history].concat();
    fs::write(&day, all).map_err(failed)
}

/// How many system calls it takes to list the running jobs.
fn calls(world: &World) -> Result<usize, String> {
    let trace = world.path("trace");
    let list = world.command(["list", "--state", "running", "--json"]);
    let mut strace = std::process::Command::new("strace");
    strace
        .args(["-f", "-o"])
        .arg(&trace)
        .arg(list.get_program())
        .args(list.get_args());
    for (key, value) in list.get_envs() {
        match value {
            Some(value) => strace.env(key, value),
            None => strace.env_remove(key),
        };
    }
    let ran = Ran::try_of(&mut strace)?;
    let trace = fs::read_to_string(trace).map_err(|error| format!("{error}: {ran}"))?;
    match ran.code {
        0 => Ok(trace.lines().count()),
        _ => Err(format!("list failed: {ran}")),
    }
}

fn ended_jobs(context: &Context, world: &World) -> Result<usize, String> {
    let count = if context.is_long { 100_000 } else { 2_000 };
    world.try_ok(&["run", "--id", "running", "--", "sleep", "600"])?;
    let without = calls(world)?;
    make_ended(world, count)?;
    let with = calls(world)?;
    if with > without + 5 {
        return Err(format!("{without} calls without them, {with} with {count}"));
    }
    let newest = world.try_json(&["list", "--json", "--limit", "1000"])?;
    let newest = newest["jobs"].as_array().map_or(0, Vec::len);
    if newest != 1001 {
        return Err(format!(
            "{newest} are listed, not the running one and a thousand"
        ));
    }
    let newest = world.try_json(&["list", "--limit", "3", "--json"])?;
    if newest["jobs"].as_array().map_or(0, Vec::len) != 4 {
        return Err(format!(
            "the running one and three are not listed: {newest}"
        ));
    }
    let ran = world.try_outlive(&["run", "--wait", "--", "sh", "-c", "exit 8"])?;
    if ran.code != 8 {
        return Err(format!("a job beside them: {ran}"));
    }
    let middle = format!("old{:06}", count / 2);
    world.try_ok(&["show", &middle])?;
    prune(world, &["--keep", "100"])?;
    let left = listed(world, &["--state", "all"])?;
    if left != 101 {
        return Err(format!(
            "{left} are left of those to keep and the running one"
        ));
    }
    world.try_ok(&["stop", "running"])?;
    nothing_is_left(world)?;
    Ok(count)
}

/// Runs `prune` without the time limit of other verbs: removing a hundred thousand jobs takes long.
fn prune(world: &World, options: &[&str]) -> Result<(), String> {
    let mut child = world
        .command(["prune", "--json"])
        .args(options)
        .stdout(std::process::Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let ended = child.wait().map_err(|error| error.to_string())?;
    match ended.success() {
        true => Ok(()),
        false => Err(format!("prune {options:?} failed: {ended}")),
    }
}

fn launches_and_prunes(context: &Context, world: &World) -> Result<usize, String> {
    let count = if context.is_long { 2_000 } else { 120 };
    let over = AtomicBool::new(false);
    let pruned = AtomicUsize::new(0);
    thread::scope(|scope| {
        let pruner = |session: usize| -> Result<(), String> {
            while !over.load(Ordering::Relaxed) {
                let ran = world.try_json(&["prune", "--keep", &session.to_string(), "--json"])?;
                let gone = ran["removed"].as_array().map_or(0, Vec::len);
                pruned.fetch_add(gone, Ordering::Relaxed);
            }
            Ok(())
        };
        let pruners: Vec<_> = (0..2).map(|n| scope.spawn(move || pruner(n))).collect();
        let launched = each(count, |n| launch(world, n));
        over.store(true, Ordering::Relaxed);
        let mut ends = pruners.into_iter().map(|pruner| pruner.join());
        let pruned =
            ends.try_for_each(|end| end.unwrap_or_else(|_| Err("a pruner panicked".to_owned())));
        launched.and(pruned)
    })?;
    prune(world, &["--all"])?;
    try_until("all are gone", || {
        fs::read_dir(world.home().join("jobs")).is_ok_and(|jobs| jobs.count() == 0)
    })?;
    nothing_is_left(world)?;
    match pruned.load(Ordering::Relaxed) {
        0 => Err("nothing was pruned meanwhile".to_owned()),
        _ => Ok(count),
    }
}

/// Starts a job and waits for its end, in one command or in two. Between two commands a prune may remove the job.
fn launch(world: &World, n: usize) -> Result<(), String> {
    let script = format!("echo {n}; exit {}", n % 50 + 1);
    let should = (n % 50 + 1) as i32;
    if n.is_multiple_of(2) {
        let ran = world.try_outlive(&["run", "--wait", "--shell", &script])?;
        return match ran.code == should && ran.text() == n.to_string() {
            true => Ok(()),
            false => Err(format!("run --wait of {n}: {ran}")),
        };
    }
    let id = world
        .try_ok(&["run", "--name", &format!("n{n}"), "--shell", &script])?
        .text();
    let ran = world.try_outlive(&["wait", &id, "--timeout", "30s", "--json"])?;
    let job = ran.job_or_null();
    // A prune may have removed the ended job. Then `wait` reports that there is no such job.
    match ran.code == should && job["outcome"]["code"] == should || ran.code == 3 {
        true => Ok(()),
        false => Err(format!("wait of {id}: {ran}")),
    }
}
