# A place that can only run one command: runs its argument in a home of its own, and prints what that printed.
#
#   execute.sh STATE COMMAND
#
# `STATE/setting` says what the place is like, as assignments:
#   home, cache   the home there, and the directory for programs
#   noise         prints the greeting of a login before and after, and a line without an end
#   merge         prints errors among the rest
#   ascii         replaces what is not plain text
#   cut           prints at most so many characters: the beginning and the end, and between them how many were left out
#   limit         ends the command after so many seconds
#   slow          waits for so many seconds before it begins
#   variables     more variables there, as NAME=VALUE
#   seed, lose, twice, break
#                 of 100 calls, so many lose their answer, are executed twice, or are not executed at all
# Each call appends a byte to `STATE/calls`, whose length so is the number of the call, and its command to
# `STATE/commands`.

state=$1
command=$2
noise= merge= ascii= cut= limit= slow= variables= seed=1 lose=0 twice=0 break=0
. "$state/setting"

printf . >>"$state/calls"
call=$(wc -c <"$state/calls")
printf '%s\n' "$command" >>"$state/commands"

# Whether something happens to this call that happens to $2 of 100. $1 tells the kinds apart.
happens() {
	[ $(((seed * 7919 + call * call * 31 + call * 104729 + $1 * 60493) / 7 % 100)) -lt "$2" ]
}

execute() {
	set -- env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$home" XDG_CACHE_HOME="$cache" $variables sh -c "$command"
	[ -z "$limit" ] || set -- timeout "$limit" "$@"
	case $merge in
	'') "$@" ;;
	*) "$@" 2>&1 ;;
	esac
}

[ -z "$slow" ] || sleep "$slow"
if happens 1 "$break"; then
	echo 'the service is busy' >&2
	exit 1
fi
if [ -z "$noise$ascii$cut" ] && [ "$lose$twice" = 00 ]; then
	execute
	exit
fi
happens 2 "$twice" && execute >/dev/null 2>&1 </dev/null
text=$(
	[ -z "$noise" ] || printf 'Welcome to the box!\nLast login: today <<outlive 12 \n$ '
	execute
	[ -z "$noise" ] || printf '\nlogout\n>> '
)
happens 3 "$lose" && exit 0
[ -z "$ascii" ] || text=$(printf '%s' "$text" | tr '\200-\377' '?')
if [ -n "$cut" ] && [ ${#text} -gt "$cut" ]; then
	left=$((${#text} - cut))
	printf '%s' "$text" | head -c $((cut / 2))
	printf '\n[... %s characters left out ...]\n' "$left"
	printf '%s' "$text" | tail -c $((cut / 2))
else
	printf '%s\n' "$text"
fi
