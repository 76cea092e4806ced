# Runs at a place, in the `sh` that a transport started there: finds or takes our program, and becomes it.
#
# The other side sends this text as one command, after it has set these variables:
#   mark, token   together they begin each line that we say; apart, so that an echo of this text is no such line
#   digest, size  of the program; its name is far-<digest>
#   home          the directory for the jobs here, or nothing
#   far_dir       one more directory to try for the program, or nothing
#   request       of a place that can only run one command and return its text: the request that the program is to carry
#                 out; else nothing
#   pieces        with `request`: in so many pieces the program was sent; 0 if that is not known
#
# What we say, each on a line of its own. Everything else on the output is the noise of login scripts.
#   have DIR                    the program is there
#   need SYSTEM MACHINE FORM    send it, as gzip or plain: a line "LENGTH FORM", then so many bytes
#   placed DIR                  the program is there now
#   nowhere REASONS             no directory can take it
# After `have` and `placed`, the program has replaced this shell. After `need`, nothing more may be sent until
# `placed` is said, because `head` reads ahead.
#
# With `request`, nothing is read, and each line ends with ` ;`, because the text may be cut.
#   need SYSTEM MACHINE FORM LETTERS PIECES DIR    that many pieces are there: send the rest, as base64 or octal
#
# Nothing here may change what the program inherits: no umask, no directory, no exported variable, no ignored signal.

say() {
	printf '\n%s-%s %s\n' "$mark" "$token" "$*${request:+ ;}"
}

# Whether $1 is a directory of this user that nobody else can write to. If it is a link, that must be this user's too:
# in /tmp, anybody can make a link with our name. Sets `why` if not.
is_ours() {
	for how in -ldn -ldnL; do
		set -f
		set -- "$1" $(ls $how "$1" 2>/dev/null)
		set +f
		case ${2-} in
		l*) [ $how = -ldn ] || { why='is a broken link' && return 1; } ;;
		d????-??-*) ;;
		d*) why='can be changed by other users' && return 1 ;;
		'') why='does not exist' && return 1 ;;
		*) why='is no directory' && return 1 ;;
		esac
		[ "$4" = "$uid" ] || { why='belongs to another user' && return 1; }
		set -- "$1"
	done
}

# Whether the program is in the directory $1. One of another size was damaged when the machine crashed.
is_in() {
	is_ours "$1" && [ -f "$1/$name" ] && [ -x "$1/$name" ] && [ $(wc -c <"$1/$name") = "$size" ]
}

# Makes the directory $1 if there is none, and tries whether it takes programs that can be executed. Sets `why` if not.
takes_programs() {
	made=
	if ! [ -d "$1" ]; then
		(umask 077 && mkdir -p "$1") 2>/dev/null || { why='cannot be made' && return 1; }
		made=$1
	fi
	is_ours "$1" || { rmdir "$made" 2>/dev/null; return 1; }
	part=$1/$name.part-$token
	if (umask 077 && printf '#!/bin/sh\nexit 0\n' >"$part" && chmod 700 "$part") 2>/dev/null; then
		"$part" </dev/null 2>/dev/null && rm -f "$part" && return 0
		why='allows no programs (noexec)'
	else
		why='cannot be written to'
	fi
	rm -f "$part" 2>/dev/null
	rmdir "$made" 2>/dev/null
	return 1
}

# Asks for the program and puts it into the directory $1, where it appears under its name when it is complete. Sets
# `why` if that failed; what was sent is then used up.
take() {
	if [ -n "$request" ]; then
		assemble "$1"
	else
		say need "$system" "$machine" "$form"
		read -r length packed || exit 1
		unpack_with "$packed"
		head -c "$length" | (umask 077 && $unpack >"$part"; cat >/dev/null)
	fi
	if [ $(wc -c <"$part") = "$size" ] && chmod 700 "$part" && mv -f "$part" "$1/$name"; then
		return 0
	fi
	why='did not take the whole program (is the disk full?)'
	rm -f "$part"
	# Another command has put it together meanwhile.
	is_in "$1" && return 0
	# Some of the pieces were of another program, or cut.
	[ -z "$request" ] || { pieces=0 && assemble "$1"; }
	return 1
}

unpack_with() {
	case $1 in
	gzip) unpack='gzip -dc' ;;
	*) unpack=cat ;;
	esac
}

# Puts the pieces together that other commands have left in the directory $1. If some are missing, says which is the first,
# and ends.
assemble() {
	pile=$1/$name.$form
	piece=0
	while [ -f "$pile/$piece" ]; do piece=$((piece + 1)); done
	if [ "$pieces" = 0 ] || [ "$piece" -lt "$pieces" ]; then
		letters=octal
		[ "$(printf aGk= | base64 -d 2>/dev/null)" = hi ] && letters=base64
		say need "$system" "$machine" "$form" "$letters" "$piece" "$1"
		trap - 0 1 2 13 15
		exit 0
	fi
	unpack_with "$form"
	piece=0
	while [ "$piece" -lt "$pieces" ]; do
		cat "$pile/$piece" || break
		piece=$((piece + 1))
	done | (umask 077 && $unpack >"$part"; cat >/dev/null)
	rm -rf "$pile"
}

# Becomes the program in the directory $2; $1 is what to say.
become() {
	trap - 0 1 2 13 15
	say "$1" "$2"
	[ -z "$request" ] || exec "$2/$name" carry "$request"
	if [ -n "$home" ]; then
		exec "$2/$name" --digest "$digest" --home "$home"
	fi
	exec "$2/$name" --digest "$digest"
}

unset IFS
name=far-$digest
uid=$(id -u)
part=
made=
tried=

case $home in
'~/'*) home=$HOME/${home#??} ;;
esac
case $far_dir in
'~/'*) far_dir=$HOME/${far_dir#??} ;;
esac

set --
case ${XDG_CACHE_HOME-} in
/*) set -- "$@" "$XDG_CACHE_HOME/outlive" ;;
esac
case ${HOME-} in
/?*) set -- "$@" "$HOME/.cache/outlive" ;;
esac
set -- "$@" "/var/tmp/outlive-$uid" "/tmp/outlive-$uid"
[ -z "$far_dir" ] || set -- "$@" "$far_dir"

for dir; do
	is_in "$dir" && become have "$dir"
done

system=$(uname -s)
machine=$(uname -m)
form=plain
command -v gzip >/dev/null 2>&1 && form=gzip

# What is half there goes when this shell ends.
trap 'rm -f "$part"; rmdir "$made" 2>/dev/null' 0
trap 'exit 1' 1 2 13 15
for dir; do
	if takes_programs "$dir" && take "$dir"; then
		become placed "$dir"
	fi
	tried="$tried$dir $why, "
done
say nowhere "${tried%, }"
exit 1
