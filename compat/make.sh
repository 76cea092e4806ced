#!/usr/bin/env bash
# Makes the folder of one release: its programs, and a home with ended jobs of every kind.
#
#   compat/make.sh COMMIT             builds the programs of COMMIT (a commit or tag) first
#   compat/make.sh COMMIT PROGRAMS    takes both programs from the directory PROGRAMS instead
#
# A folder that exists is never changed. See README.md beside this script.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
commit=$1
repository=$(cd "$(dirname "$0")/.." && pwd)
folder=$repository/compat/$commit
machine=$(uname -m)
target=$machine-unknown-linux-musl
if [ -e "$folder" ]; then
    echo "$folder exists. A release is never changed: remove it yourself if it was never committed" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -eq 2 ]; then
    programs=$2
else
    git clone --quiet --no-checkout "$repository" "$work/source"
    git -C "$work/source" checkout --quiet --detach "$commit"
    (cd "$work/source" && CARGO_TARGET_DIR=$work/target \
        cargo build --release --locked --target "$target" -p outlive-cli)
    programs=$work/target/$target/release
fi

mkdir "$work/made"
"$repository/compat/home.sh" "$programs" "$work/made"

mkdir -p "$folder/$machine"
for program in outlive outlive-keeper; do
    xz -9e --stdout "$programs/$program" >"$folder/$machine/$program.xz"
done
cp "$work/made/"{jobs.jsonl,inbox.json} "$folder/"
# The interrupted job's socket cannot be stored, and nobody listens there.
tar --directory "$work/made" --sparse --sort=name --owner=0 --group=0 --numeric-owner --exclude=control \
    --create home | xz -9e >"$folder/home.tar.xz"
ls -l "$folder" "$folder/$machine"
