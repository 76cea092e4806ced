use super::*;
use std::io::BufRead;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::thread;

/// If a process ends between the lookup of its directory and the opening, the error differs from that for a missing
/// directory.
#[test]
fn a_process_that_ends_while_it_is_looked_at_is_gone() -> io::Result<()> {
    let mut cat = cat()?;
    let found = fs::File::open(format!("/proc/{}", cat.id()))?;
    cat.kill()?;
    cat.wait()?;
    for name in ["task", "."] {
        let path = format!("/proc/self/fd/{}/{name}", found.as_raw_fd());
        let error = fs::read_dir(path).err().map(|error| is_gone(&error));
        assert_eq!(error, Some(true), "{name}");
    }
    Ok(())
}

fn cat() -> io::Result<Child> {
    Command::new("cat").stdin(Stdio::piped()).spawn()
}

#[test]
fn children_are_found_whichever_thread_made_them() -> io::Result<()> {
    let own = crate::linux::own::pid();
    let mut here = cat()?;
    // That thread is there while they are looked for: what it made goes to another when it ends.
    let there = thread::spawn(move || Ok::<_, io::Error>((cat()?, children(own)?)));
    let (mut there, found) = there.join().expect("no panic")?;
    let made = [here.id() as i32, there.id() as i32];
    for child in [&mut here, &mut there] {
        child.kill()?;
        child.wait()?;
    }
    assert!(made.iter().all(|child| found.contains(child)), "{found:?}");
    Ok(())
}

#[test]
fn the_child_of_a_process_with_one_thread_is_found() -> io::Result<()> {
    // A shell gives its background processes /dev/null as input, unless they get it through another descriptor.
    let script = "exec 3<&0; cat <&3 & echo $!; wait";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(Stdio::piped());
    let mut shell = shell.stdout(Stdio::piped()).spawn()?;
    let mut said = String::new();
    let output = shell.stdout.take().expect("it is piped");
    io::BufReader::new(output).read_line(&mut said)?;
    let found = children(shell.id() as i32)?;
    // At the end of its input the child ends, and then the shell.
    drop(shell.stdin.take());
    shell.wait()?;
    assert_eq!(found, [said.trim().parse().expect("a pid")]);
    Ok(())
}

#[test]
fn a_name_with_parentheses_is_parsed() {
    let mut line = b"42 (a) b (c) S 7 8 9 ".to_vec();
    line.extend(
        (7..=52)
            .map(|n| format!("{n} "))
            .collect::<String>()
            .bytes(),
    );
    let stat = parse_stat(&line).expect("parsed");
    assert_eq!(
        (
            stat.state,
            stat.parent,
            stat.session,
            stat.threads,
            stat.started,
            stat.exit_code
        ),
        (b'S', 7, 9, 20, 22, 52)
    );
}

#[test]
fn finds_itself() {
    let me = stat(crate::linux::own::pid()).expect("this process exists");
    assert_eq!(Some(me.parent), crate::linux::own::parent_pid());
    assert!(!me.is_zombie());
    assert_eq!(stat(i32::MAX), None);
}
