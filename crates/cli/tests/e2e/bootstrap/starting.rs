//! What the program is started with there.

use super::There;
use std::fs;

#[test]
fn it_is_told_its_digest_and_the_home_of_the_configuration() {
    let mut there = There::new();
    let digest = there.sent().digest;
    let words = |started: Vec<String>| -> Vec<String> {
        let words = started.iter().filter_map(|line| line.strip_prefix("word "));
        words.map(str::to_owned).collect()
    };
    assert_eq!(words(there.start()), ["--digest", &digest]);
    // Nothing in it is expanded or run.
    let home = "/it's \"a\" $HOME `touch x` \\ ; home";
    there.settings.home = Some(home.into());
    assert_eq!(words(there.start()), ["--digest", &digest, "--home", home]);
    there.settings.home = Some("~/jobs".into());
    let home = there.path("home/jobs").display().to_string();
    assert_eq!(words(there.start()), ["--digest", &digest, "--home", &home]);
}

#[test]
fn it_inherits_what_the_place_has_and_nothing_of_the_script() {
    let mut there = There::new();
    let umask = |started: &[String]| started[started.len() - 2].clone();
    for mask in ["0022", "0027", "0000"] {
        there.shell = format!("sh -c 'umask {mask}; exec sh'");
        // Sent, then found.
        for _ in 0..2 {
            assert_eq!(umask(&there.start()), mask);
        }
        fs::remove_dir_all(there.cache()).unwrap();
    }
    there.shell = "sh".to_owned();
    there.program =
        "#!/bin/sh\nread -r go; env | sort; grep -E '^Sig(Ign|Blk)' /proc/self/status; echo end; exec cat\n"
            .to_owned();
    let started = there.start();
    let names: Vec<&str> = started
        .iter()
        .map(|line| line.split(['=', ':']).next().unwrap())
        .filter(|name| !["OLDPWD", "SHLVL", "_"].contains(name))
        .collect();
    assert_eq!(
        names,
        ["HOME", "PATH", "PWD", "SigBlk", "SigIgn"],
        "{started:?}"
    );
    for line in started.iter().filter(|line| line.starts_with("Sig")) {
        assert!(line.ends_with("0000000000000000"), "{line}");
    }
}

#[test]
fn it_replaces_the_shell() {
    let mut there = There::new();
    there.program =
        "#!/bin/sh\nread -r go; echo $PPID; cat /proc/$PPID/comm; echo end; exec cat\n".to_owned();
    let own = std::process::id().to_string();
    assert_eq!(
        there.start()[0],
        own,
        "the transport has become the program"
    );
}
