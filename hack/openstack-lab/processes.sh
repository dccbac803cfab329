#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: processes that outlive it. A file in $run has the process ID and the start time of each, so that
# another process with a reused ID is not mistaken for it.

# start_time prints when a process was started: the ID of the boot, and the ticks since then.
start_time() { # pid
	local line
	line=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	read -ra line <<<"${line##*) }" # The command, in parentheses, may have any characters.
	[[ ${line[0]} != Z ]] && printf '%s %s\n' "$(</proc/sys/kernel/random/boot_id)" "${line[19]}"
}

is_running() { # name
	local pid birth
	{ read -r pid && read -r birth; } 2>/dev/null <"$run/$1" || return 1
	[[ $(start_time "$pid") == "$birth" ]]
}

# send_signal signals a process and its children. It has no effect if the process has ended.
send_signal() { # signal name
	if is_running "$2"; then kill -s "$1" -- "-$(head -1 "$run/$2")" 2>/dev/null || true; fi
}

# stop_process waits until a process that has got a signal has ended, and kills it after half a minute.
stop_process() { # name
	local until=$((SECONDS + 30))
	while is_running "$1" && ((SECONDS < until)); do pause; done
	if is_running "$1"; then
		send_signal KILL "$1"
		say "$1 did not end by itself and was killed"
	fi
	rm -f "$run/$1"
}

pause() { read -rt 0.3 <> <(:) || true; }

# start runs a command in a session of its own, unless it runs. Its port, or - for none, must be free.
start() { # name port command...
	local name=$1 port=$2
	shift 2
	if is_running "$name"; then return; fi
	if [[ $port != - ]] && (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		die "port $port, for $name, is taken: use a new folder with PORTS_FROM=10000"
	fi
	setsid "$@" </dev/null >>"$logs/$name.log" 2>&1 9>&- &
	printf '%s\n%s\n' $! "$(start_time $!)" >"$run/$name"
}

# await waits until a command succeeds while a process lives.
await() { # name command...
	local name=$1 until=$((SECONDS + 300))
	shift
	until "$@" >/dev/null 2>&1; do
		is_running "$name" || fail "$name" "has ended"
		((SECONDS < until)) || fail "$name" "is not ready after 5 minutes"
		pause
	done
}

fail() { # log message
	tail -n 15 "$logs/$1.log" >&2
	die "$1 $2; its log is $logs/$1.log"
}

# run_once runs a command if it has not succeeded in this lab before.
run_once() { # name command...
	local name=$1
	shift
	if [[ -e $finished/$name ]]; then return; fi
	"$@" >>"$logs/$name.log" 2>&1 || fail "$name" "failed"
	touch "$finished/$name"
	say "$name: done"
}

# http_responds reports whether a web server answers, be it with an error.
http_responds() { curl --silent --output /dev/null --noproxy '*' --max-time 5 "http://127.0.0.1:$1/"; }
