#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: processes that outlive it, known by a file in $run with their number and their time of birth,
# so that one which has got the number of another since is never taken for it.

# born prints the time at which a process was started, in ticks since this machine was, after which number of boots.
born() { # pid
	local line
	line=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	read -ra line <<<"${line##*) }" # The command, in parentheses, may hold anything.
	[[ ${line[0]} != Z ]] && printf '%s %s\n' "$(</proc/sys/kernel/random/boot_id)" "${line[19]}"
}

alive() { # name
	local pid birth
	{ read -r pid && read -r birth; } 2>/dev/null <"$run/$1" || return 1
	[[ $(born "$pid") == "$birth" ]]
}

# signal is for a process and its children, and has no effect if it has ended.
signal() { # signal name
	if alive "$2"; then kill -s "$1" -- "-$(head -1 "$run/$2")" 2>/dev/null || true; fi
}

# end waits until a process that has got a signal has ended, and kills it after half a minute.
end() { # name
	local until=$((SECONDS + 30))
	while alive "$1" && ((SECONDS < until)); do pause; done
	if alive "$1"; then
		signal KILL "$1"
		say "$1 did not end by itself and was killed"
	fi
	rm -f "$run/$1"
}

pause() { read -rt 0.3 <> <(:) || true; }

# start runs a command in a session of its own, unless it runs. Its port, or - for none, must be free.
start() { # name port command...
	local name=$1 port=$2
	shift 2
	if alive "$name"; then return; fi
	if [[ $port != - ]] && (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		die "port $port, for $name, is taken: use a new folder with PORTS_FROM=10000"
	fi
	setsid "$@" </dev/null >>"$logs/$name.log" 2>&1 9>&- &
	printf '%s\n%s\n' $! "$(born $!)" >"$run/$name"
}

# await waits until a command succeeds while a process lives.
await() { # name command...
	local name=$1 until=$((SECONDS + 300))
	shift
	until "$@" >/dev/null 2>&1; do
		alive "$name" || fails "$name" "has ended"
		((SECONDS < until)) || fails "$name" "is not ready after 5 minutes"
		pause
	done
}

fails() { # log what
	tail -n 15 "$logs/$1.log" >&2
	die "$1 $2; its log is $logs/$1.log"
}

# once runs a command if it has not succeeded in this lab before.
once() { # name command...
	local name=$1
	shift
	if [[ -e $finished/$name ]]; then return; fi
	"$@" >>"$logs/$name.log" 2>&1 || fails "$name" "failed"
	touch "$finished/$name"
	say "$name: done"
}

# answers reports whether a web server answers, be it with an error.
answers() { curl --silent --output /dev/null --noproxy '*' --max-time 5 "http://127.0.0.1:$1/"; }
