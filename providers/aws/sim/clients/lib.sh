# Sourced by the scripts of this folder. $aws is the command line, $endpoint the simulator, $work a folder in
# which each call leaves what went over the wire, for answers.py.
# shellcheck shell=bash
set -euo pipefail

export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-west-2
export AWS_PAGER="" AWS_MAX_ATTEMPTS=1 AWS_EC2_METADATA_DISABLED=true AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_ENDPOINT_URL

failures=0
checks=0

# request runs one command; its standard error, in which --debug shows the wire, goes to a file of its own.
request() { # service operation arguments...
	"$aws" --endpoint-url "$endpoint" --output text --debug "$@" 2>"$(mktemp "$work/wire.$1.$2.XXXXXX")" | tr '\t\n' '  ' | sed 's/ *$//'
}

# get prints what a command answers, on one line, and ends the run if it fails.
get() {
	request "$@" || { echo "FAIL $1 $2: $(reason "$1" "$2")" >&2; exit 1; }
}

# reason is the error of the last call of an operation.
reason() {
	local log
	log=$(ls -t "$work/wire.$1.$2."* | head -1)
	grep -a -E '^(An error occurred|usage:|Unknown options|Waiter|Could not)' "$log" | head -1 || tail -1 "$log"
}

# ok checks that a command succeeds and answers a text.
ok() { # want service operation arguments...
	local want=$1 have
	shift
	checks=$((checks + 1))
	if ! have=$(request "$@"); then
		failed "$1 $2: $(reason "$1" "$2")"
	elif [[ $have != "$want" ]]; then
		failed "$1 $2: answered '$have', want '$want'"
	fi
}

# refused checks that a command fails with an error code.
refused() { # code service operation arguments...
	local want=$1
	shift
	checks=$((checks + 1))
	if request "$@" >/dev/null; then
		failed "$1 $2: succeeded, want error $want"
	elif [[ $(reason "$1" "$2") != *"($want)"* ]]; then
		failed "$1 $2: $(reason "$1" "$2"), want $want"
	fi
}

failed() {
	failures=$((failures + 1))
	echo "FAIL $1" >&2
}

# finish ends a script.
finish() {
	echo "$(basename "$0" .sh): $checks checks, $failures failed"
	((failures == 0))
}
