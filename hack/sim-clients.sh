#!/usr/bin/env bash
# Drives simulated AWS with the aws command line of Debian (awscli), operation by operation, and compares
# the responses with AWS' documentation, which that package has. Without it, prints a message and succeeds.
# Arguments name the scripts to run: ec2, elb, elbv2, sts; without any, all.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$root/hack/lib-clients.sh"
clients=$root/providers/aws/sim/clients

{ read -r aws && read -r python; } < <(find_client aws awscli) || true
if [[ -z $aws ]]; then
	echo "sim-clients: skipped, because no aws command line is installed (Debian: apt-get install awscli)"
	exit 0
fi

build_simulators

# run_script runs one script against a simulator of its own, and records the requests.
run_script() { # script
	local here=$work/$1 endpoint simulator status=0
	mkdir "$here"
	start_simulator "$here" aws --instances=7 || return 1
	# This runs in a shell of its own, which may be ended.
	# shellcheck disable=SC2064
	trap "kill $simulator 2>/dev/null || true" EXIT
	aws=$aws endpoint=$endpoint work=$here "$clients/$1.sh" || status=1
	stop_simulator || status=1
	return $status
}

scripts=("$@")
((${#scripts[@]})) || scripts=(ec2 elb elbv2 sts)
pids=() failed=0
for script in "${scripts[@]}"; do
	run_script "$script" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || failed=1
done
((${#scripts[@]} < 4)) || "$clients/operations.sh" "$work" || failed=1
# shellcheck disable=SC2086
$python "$clients/answers.py" "$work" "$clients/exceptions" || failed=1
exit $failed
