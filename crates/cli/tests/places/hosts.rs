//! The hosts of these tests are what they should be: this is about the fixture, with plain `ssh`.

use crate::fixture::Net;
use outlive_testkit::ran::Ran;
use std::process::Command;

/// What a command prints on a host.
fn on(net: &Net, host: usize, command: &str) -> Ran {
    let mut ssh = Command::new(net.hosts.programs().join("ssh"));
    ssh.args(["-T", "-oBatchMode=yes", "-oConnectTimeout=2"]);
    Ran::of(ssh.arg(format!("h{host}")).arg(command))
}

#[test]
#[ignore = "cargo xtask places runs it"]
fn a_host_has_a_network_processes_and_a_boot_of_its_own() {
    needs!(Hosts);
    let net = Net::of(2);
    assert_eq!(on(&net, 1, "hostname").text(), "h1");
    assert_eq!(
        on(&net, 2, "echo $HOME").text(),
        net.hosts.home(2).display().to_string()
    );
    let boot = |host| on(&net, host, "cat /proc/sys/kernel/random/boot_id").text();
    let (first, second) = (boot(1), boot(2));
    assert_ne!(first, second);
    assert_eq!(on(&net, 1, "cat /proc/1/comm").text(), "sshd");
    type Change = fn(&Net);
    let links: [(Change, Change); 3] = [
        (|net| net.hosts.unplug(1), |net| net.hosts.plug(1)),
        (|net| net.hosts.mute(1), |net| net.hosts.unmute(1)),
        (|net| net.hosts.deafen(1), |net| net.hosts.undeafen(1)),
    ];
    for (breaks, mends) in links {
        breaks(&net);
        assert_eq!(on(&net, 1, "true").code, 255);
        assert_eq!(on(&net, 2, "true").code, 0);
        mends(&net);
        assert_eq!(on(&net, 1, "true").code, 0);
    }
    net.hosts.crash(1);
    assert_eq!(on(&net, 1, "true").code, 255);
    assert!(net.hosts.processes(1).is_empty());
    net.hosts.boot(1).unwrap();
    assert_ne!(boot(1), first);
}
