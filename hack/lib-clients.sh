# Functions for scripts that drive a simulated cloud with its own command line. Sourced after lib.sh.
# shellcheck shell=bash

# find_client prints the first command of a name whose Python interpreter finds the modules, and the interpreter
# on a second line: of several command lines, the one that is installed for the packages that it needs.
find_client() { # command modules
	local candidate interpreter
	while IFS= read -r candidate; do
		interpreter=$(sed -n '1s/^#! *//p' "$candidate")
		# Not quoted: it may have arguments.
		# shellcheck disable=SC2086
		if [[ $interpreter == *python* ]] && $interpreter -c "import $2" 2>/dev/null; then
			printf '%s\n' "$candidate" "$interpreter"
			return
		fi
	done < <(type -ap "$1")
}

# build_simulators creates the folder $work, for all files of a run, with ccm-lab in it. It is removed at the end.
build_simulators() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"; jobs -p | xargs -r kill 2>/dev/null || true' EXIT
	go build -o "$work/ccm-lab" ./cmd/ccm-lab
}

# start_simulator runs one in the background, as $simulator, and waits until it answers, at $endpoint. Its
# cloud.conf and its log are in the folder.
start_simulator() { # folder provider [options]
	local here=$1
	shift
	: >"$here/log" # The line that ends the wait must not be that of the simulator before.
	"$work/ccm-lab" sim "$1" --listen=127.0.0.1:0 --seed=1 "${@:2}" >"$here/cloud.conf" 2>"$here/log" &
	simulator=$!
	until endpoint=$(grep -oE 'answers at https?://[0-9.:]+' "$here/log" | sed 's/answers at //'); do
		kill -0 "$simulator" 2>/dev/null || { cat "$here/log" >&2; return 1; }
		read -rt 0.1 <> <(:) || true
	done
}

# stop_simulator stops it by SIGINT: it then reports errors in its exit code.
stop_simulator() {
	kill -INT "$simulator"
	wait "$simulator"
}
