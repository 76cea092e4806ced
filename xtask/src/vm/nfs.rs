//! A home on NFS: the machine itself is the server, mounted with version 3 and with version 4.

use super::Scenario;
use super::machine::{Machine, User};

/// The scenarios, as scripts in which `$v` is the version and `$OUTLIVE_HOME` is on the server.
const SHOWN: [(&str, &str); 6] = [
    ("run, wait, log, list, prune", EVERYDAY),
    ("stop, signal, send", TALKING),
    ("a keeper that is killed is replaced", KEEPER),
    ("both keepers killed: adopted", BOTH),
    ("more output than its bound", BOUNDED),
    ("another host: unreachable, never lost", ELSEWHERE),
];

const SET_UP: &str = "set -e
dir=/mnt/nfs$v; export OUTLIVE_HOME=$dir/home$v
systemctl start rpcbind nfs-server
mkdir -p $dir
case $v in 4) vers=4.2;; *) vers=$v;; esac
mountpoint -q $dir || mount -t nfs -o vers=$vers 127.0.0.1:/srv/nfs $dir
is() { [ \"$1\" = \"$2\" ] || { echo \"$1 is not $2\"; exit 1; }; }
has() { case $1 in *$2*) ;; *) echo \"no $2 in $1\"; exit 1;; esac; }
";

const EVERYDAY: &str = "
outlive run --id a --wait -- sh -c 'echo hello; exit 3' > out || code=$?
is \"$code\" 3; has \"$(cat out)\" hello; is \"$(outlive log a)\" hello
has \"$(outlive list)\" 'exited 3'
said=$(outlive doctor)
has \"$said\" 'other machines may use it too'
case $said in *BROKEN*) echo \"$said\"; exit 1;; esac
outlive prune --all --force
[ ! -e $OUTLIVE_HOME/jobs/a ]
";

const TALKING: &str = "
outlive run --id b --stdin pipe -- cat
echo words | outlive send b
outlive send b --eof
outlive wait b --timeout 60s
is \"$(outlive log b)\" words
outlive run --id b2 -- sleep 600
has \"$(outlive stop b2)\" stopped
";

const KEEPER: &str = "
outlive run --id k --shell 'until [ -e /t/k$v ]; do sleep 1; echo .; done; exit 7'
keeper=$(grep -o '\"keeper\":[{\"a-z:]*[0-9]*' $OUTLIVE_HOME/jobs/k/journal | grep -o '[0-9]*' | tail -1)
kill -9 $keeper; sleep 2; touch /t/k$v
outlive wait k --timeout 60s || code=$?
is \"$code\" 7
";

/// Before Linux 6.15 the outcome is unknown, so the job is checked while it runs.
const BOTH: &str = "
outlive run --id p --shell 'until [ -e /t/p$v ]; do sleep 1; done; echo end; exit 7'
pkill -9 -f \"outlive-keeper $OUTLIVE_HOME/jobs/p\"
sleep 1; has \"$(outlive show p)\" running
touch /t/p$v
outlive wait p --timeout 60s || true
has \"$(outlive log p)\" end
";

const BOUNDED: &str = "
outlive run --id o --max-output 256K -- seq 1 300000
outlive wait o --timeout 120s
is \"$(outlive log o --raw | tail -1)\" 300000
[ $(du -k $OUTLIVE_HOME/jobs/o | tail -1 | cut -f1) -lt 700 ]
";

/// Another host has another boot, another machine id, another name and its own process IDs.
const ELSEWHERE: &str = "
outlive run --id e --shell 'until [ -e /t/e$v ]; do sleep 1; done; exit 7'
cat > /t/there.sh <<'E'
set -e
hostname elsewhere
echo 11111111-2222-3333-4444-555555555555 > /t/boot; mount --bind /t/boot /proc/sys/kernel/random/boot_id
echo 0123456789abcdef0123456789abcdef > /t/machine; mount --bind /t/machine /etc/machine-id
outlive show e; outlive list | grep '^e '
before=$(date +%s); code=0
outlive wait e --timeout 5s || code=$?
echo code $code after $(($(date +%s) - before))
outlive stop e || true
E
said=$(unshare --pid --fork --mount-proc --mount --uts sh /t/there.sh 2>&1)
has \"$said\" unreachable; has \"$said\" 'kept on vm1'; has \"$said\" 'code 124 after'
case $said in *lost*) echo \"$said\"; exit 1;; esac
took=${said##*code 124 after }; took=${took%%[!0-9]*}
[ $took -ge 5 ] && [ $took -le 12 ] || { echo \"wait took $took s\"; exit 1; }
has \"$(outlive show e)\" running
touch /t/e$v
outlive wait e --timeout 60s || code=$?
is \"$code\" 7
";

pub fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for version in [3, 4] {
        for (what, script) in SHOWN {
            scenarios.push(Scenario {
                name: format!("NFS version {version}: {what}"),
                show: Box::new(move |machine| show(machine, version, script)),
            });
        }
    }
    scenarios
}

fn show(machine: &Machine, version: u32, script: &str) -> Result<(), String> {
    let script = format!("export v={version}\n{SET_UP}{script}");
    machine.run(User::Root, &script).map(drop)
}
