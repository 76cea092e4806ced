//! Shows that limits hold with version 2 of control groups: in a scope of systemd, in a group that a user was given, and
//! that an end for want of memory is told from others there.

use super::Scenario;
use super::machine::{Machine, User};

pub fn scenarios() -> Vec<Scenario> {
    let both = [User::Root, User::Job].into_iter();
    let mut all: Vec<Scenario> = both
        .flat_map(|user| {
            [
                of(user, "every limit holds in a scope of its own", IN_SCOPE),
                of(
                    user,
                    "a job out of memory is killed as a whole",
                    OUT_OF_MEMORY,
                ),
                of(
                    user,
                    "keepers survive when their job is out of memory",
                    KEEPERS,
                ),
                of(
                    user,
                    "both keepers are killed, and the limit still holds",
                    ADOPTED,
                ),
                of(user, "a running job's usage is counted by its group", USAGE),
            ]
        })
        .collect();
    all.push(of(
        User::Root,
        "without a limit the kernel's log names the leader",
        FROM_LOG,
    ));
    all.push(Scenario {
        name: "a user's job is limited in a group that was delegated".to_owned(),
        show: Box::new(delegated),
    });
    all
}

fn of(user: User, what: &str, script: &'static str) -> Scenario {
    Scenario {
        name: format!("limits, {}: {what}", user.name()),
        show: Box::new(move |machine| {
            machine.run(User::Root, "loginctl enable-linger jobuser")?;
            machine
                .run(user, &format!("{BEGIN}{script}{END}"))
                .map(drop)
        }),
    }
}

/// What every script begins with.
const BEGIN: &str = "\
exec 2>&1
id=limits-$$
jobs=$HOME/.local/state/outlive/jobs
fail() { echo \"$1\"; outlive show $id --json; tail -n 5 $jobs/$id/journal; exit 1; }
has() { outlive show $id --json | grep -q -- \"$1\" || fail \"without $1\"; }
group() { grep -o '\"directory\":\"[^\"]*' $jobs/$id/journal | cut -d'\"' -f4; }
";

/// Nothing may be left of the groups.
const END: &str = "
group=$(group)
n=0; while [ -n \"$group\" ] && [ -e \"$group\" ]; do n=$((n+1)); [ $n -lt 50 ] || fail \"$group is left\"; sleep 0.2; done
outlive prune --all --force > /dev/null
";

const IN_SCOPE: &str = "\
outlive run --id $id --memory 64M --cpus 0.5 --pids 20 --nice 3 --shell 'nice; cat /proc/self/cgroup; sleep 5' || fail run
has '\"enforced_by\":\"cgroup_v2\"'
g=$(group)
[ \"$(cat $g/memory.max $g/memory.oom.group $g/cpu.max $g/pids.max | tr '\\n' ' ')\" = '67108864 1 50000 100000 20 ' ] || fail limits
case $g in */outlive-$id-*.scope/outlive-$id-*) ;; *) fail \"$g is in no scope\";; esac
outlive wait $id --timeout 100s || fail wait
[ \"$(outlive log $id --raw | head -1)\" = 3 ] || fail nice
outlive log $id --raw | grep -q /outlive-$id- || fail inside
";

const OUT_OF_MEMORY: &str = "\
outlive run --id $id --memory 64M --shell 'sleep 200 & tail /dev/zero; echo went on' || fail run
outlive wait $id --timeout 200s
has '\"ended_by\":\"memory\"'
has '\"signal\":\"SIGKILL\"'
outlive log $id --raw | grep -q went && fail 'it went on'
grep -q closed $jobs/$id/journal || fail 'something is left'
";

const KEEPERS: &str = "\
outlive run --id $id --memory 64M -- tail /dev/zero || fail run
outlive wait $id --timeout 200s
has '\"ended_by\":\"memory\"'
[ $(grep -c '\"kept\"' $jobs/$id/journal) = 1 ] || fail 'a keeper was killed'
";

const ADOPTED: &str = "\
outlive run --id $id --memory 64M --shell 'until [ -e /tmp/go-'$id' ]; do sleep 0.5; done; exec tail /dev/zero' || fail run
for p in $(grep '\"kept\"' $jobs/$id/journal | grep -o '\"pid\":[0-9]*' | cut -d: -f2); do kill -9 $p; done
outlive show $id > /dev/null
grep -q adopted $jobs/$id/journal || fail 'not adopted'
touch /tmp/go-$id
outlive wait $id --timeout 200s
rm /tmp/go-$id
# Kernels before 6.15 keep no exit record for a keeper that is not the parent.
outlive show $id --json | grep -q '\"ended_by\":\"memory\"\\|\"kind\":\"lost\"' || fail 'another end'
";

const USAGE: &str = "\
outlive run --id $id --memory 200M --shell '(head -c 40000000 /dev/zero; sleep 30) | tail' || fail run
n=0; until outlive show $id | grep -q 'uses.*[34][0-9]\\.[0-9] MiB of memory now.*at most.* written, 3 processes'; do
n=$((n+1)); [ $n -lt 40 ] || { outlive show $id; fail usage; }; sleep 0.5; done
outlive stop $id || fail stop
has '\"peak_memory_bytes\":4[0-9]*'
";

const FROM_LOG: &str = "\
outlive run --id $id -- tail /dev/zero || fail run
outlive wait $id --timeout 220s
has '\"ended_by\":\"memory\"'
";

/// Without systemd in between: root gives a user a group with two groups in it, as container engines do.
fn delegated(machine: &Machine) -> Result<(), String> {
    machine.run(
        User::Root,
        "g=/sys/fs/cgroup/given; mkdir -p $g/login
echo '+memory +cpu +pids' > /sys/fs/cgroup/cgroup.subtree_control
echo '+memory +cpu +pids' > $g/cgroup.subtree_control
chown -R jobuser $g
exec 2>&1
echo $$ > $g/login/cgroup.procs
# `su` would begin a session, which has a scope of its own.
setpriv --reuid=jobuser --regid=jobuser --init-groups sh -c 'export HOME=/home/jobuser; cd
id=given-$$
fail() { echo \"$1\"; outlive show $id --json; cat ~/.local/state/outlive/jobs/$id/journal; exit 1; }
outlive run --id $id --memory 64M --pids 20 --shell \"sleep 100 & tail /dev/zero; echo on\" || fail run
grep -q /sys/fs/cgroup/given/outlive-$id- ~/.local/state/outlive/jobs/$id/journal || fail place
outlive wait $id --timeout 200s
outlive show $id --json | grep -q \"\\\"ended_by\\\":\\\"memory\\\"\" || fail ended_by
sleep 1
[ -z \"$(find /sys/fs/cgroup/given -name \"outlive*\")\" ] || fail left
outlive prune --all --force > /dev/null'
code=$?
echo $$ > /sys/fs/cgroup/cgroup.procs
rmdir $g/login $g
exit $code",
    )
    .map(drop)
}
