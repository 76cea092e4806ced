//! Job directories that were never finished, and a damaged history.

use super::damage::{assert_unharmed, run_every_verb_on};
use super::{assert_whole_or_refused, leaders};
use outlive_testkit::gate::make_fifo;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn half_made_job_directories_are_harmless() {
    const FILES: [&str; 4] = ["lock", "spec.json", "feed", "journal"];
    let world = World::new();
    world.ok(&["run", "--id", "other", "--", "sleep", "60"]);
    let ended = world.ok(&["run", "--id", "ended", "--", "true"]);
    world.wait(&ended);
    for which in 0..1 << FILES.len() {
        for name in [format!("half{which}"), format!(".new-half{which}-1-abcd")] {
            let job = world.home().join("jobs").join(&name);
            fs::create_dir(&job).unwrap();
            for (place, file) in FILES.iter().enumerate() {
                if which & (1 << place) != 0 {
                    make_half(&world, &job, file);
                }
            }
        }
        let id = format!("half{which}");
        symlink(format!("../jobs/{id}"), world.live(&id)).unwrap();
    }
    fs::write(world.home().join("jobs/afile"), "").unwrap();
    symlink("../jobs/gone", world.home().join("live/gone")).unwrap();
    for which in 0..1 << FILES.len() {
        let id = format!("half{which}");
        run_every_verb_on(&world, &id, &id);
        let refused = world.outlive(&["run", "--id", &id, "--", "true"]);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (125, ""),
            "{refused:?}"
        );
    }
    run_every_verb_on(&world, "afile", "a file");
    run_every_verb_on(&world, "gone", "a link to nothing");
    assert_unharmed(&world, "other", "half-made directories");
    assert_eq!(world.show("ended")["exit_code"], 0);
    assert_eq!(leaders(&world), ["other"]);
}

/// Creates one file of a job directory that its launcher did not finish.
fn make_half(world: &World, job: &Path, file: &str) {
    match file {
        "feed" => make_fifo(&job.join(file)),
        "journal" => {
            let text = fs::read_to_string(world.job_dir("ended").join("journal")).unwrap();
            let first = text.lines().next().unwrap();
            fs::write(job.join("journal"), format!("{first}\n")).unwrap();
        }
        "spec.json" => {
            let spec = fs::read_to_string(world.job_dir("ended").join(file)).unwrap();
            let id = job.file_name().unwrap().to_str().unwrap();
            let id = id.trim_start_matches(".new-").trim_end_matches("-1-abcd");
            let spec = spec.replace("\"ended\"", &format!("\"{id}\""));
            fs::write(job.join(file), spec).unwrap();
        }
        _ => {
            File::create(job.join(file)).unwrap();
        }
    }
}

#[test]
fn a_half_made_home_is_finished() {
    let world = World::new();
    fs::create_dir_all(world.home().join("jobs")).unwrap();
    assert_eq!(world.outlive(&["list"]).code, 0);
    assert_eq!(world.ok(&["run", "--wait", "--", "echo", "hello"]), "hello");
    for part in ["live", "sessions", "names"] {
        fs::remove_dir_all(world.home().join(part)).unwrap();
        let args = ["run", "--id", part, "--name", "n", "--session", "s"];
        let ran = Ran::of(world.command(args).args(["--", "sh", "-c", "exit 5"]));
        assert_whole_or_refused(&ran, part, |args| world.outlive(args), part);
        fs::create_dir_all(world.home().join(part)).unwrap();
    }
}

#[test]
fn damage_to_the_history_hides_no_job_that_ends_after_it() {
    for damage in [
        &b"17926"[..],
        b"1792600000000 hal",
        b"\xff\xfe\n",
        b"\xff",
        b"x\n\n\n",
    ] {
        let world = World::new();
        world.wait(&world.ok(&["run", "--id", "first", "--", "true"]));
        world.until_nothing_runs();
        let days = world.home().join("ended");
        for day in fs::read_dir(days).unwrap() {
            let mut day = OpenOptions::new()
                .append(true)
                .open(day.unwrap().path())
                .unwrap();
            day.write_all(damage).unwrap();
        }
        world.wait(&world.ok(&["run", "--id", "second", "--", "true"]));
        world.until_nothing_runs();
        assert_eq!(world.listed(&[]), ["second", "first"], "after {damage:?}");
    }
}
