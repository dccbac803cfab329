#!/usr/bin/env bash
# Drives simulated AWS with the aws command line of Debian (awscli), operation by operation, and compares
# the answers with AWS' documentation, which that package holds. Where it is not installed, says so and succeeds.
# Arguments name the scripts to run: ec2, elb, elbv2, sts; without any, all.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
clients=$root/providers/aws/sim/clients

# Of several command lines, the one whose interpreter finds the package that the documentation is in.
aws='' python=''
while IFS= read -r candidate; do
	interpreter=$(sed -n '1s/^#! *//p' "$candidate")
	# Not quoted: it may have arguments.
	# shellcheck disable=SC2086
	if [[ $interpreter == *python* ]] && $interpreter -c 'import awscli' 2>/dev/null; then
		aws=$candidate python=$interpreter
		break
	fi
done < <(type -ap aws)
if [[ -z $aws ]]; then
	echo "sim-clients: skipped, because no aws command line is installed (Debian: apt-get install awscli)"
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"; jobs -p | xargs -r kill 2>/dev/null || true' EXIT
go build -o "$work/ccm-lab" ./cmd/ccm-lab

# drive runs one script against a simulator of its own, and notes what was asked of it.
drive() { # script
	local here=$work/$1 endpoint status=0
	mkdir "$here"
	"$work/ccm-lab" sim aws --listen=127.0.0.1:0 --instances=7 --seed=1 >"$here/cloud.conf" 2>"$here/log" &
	local simulator=$!
	# This runs in a shell of its own, which may be ended.
	# shellcheck disable=SC2064
	trap "kill $simulator 2>/dev/null || true" EXIT
	until endpoint=$(grep -oE 'answers at http://[0-9.:]+' "$here/log" | sed 's/answers at //'); do
		kill -0 $simulator 2>/dev/null || { cat "$here/log" >&2; return 1; }
		read -rt 0.1 <> <(:) || true
	done
	aws=$aws endpoint=$endpoint work=$here "$clients/$1.sh" || status=1
	kill -INT $simulator
	wait $simulator || status=1
	return $status
}

scripts=("$@")
((${#scripts[@]})) || scripts=(ec2 elb elbv2 sts)
pids=() failed=0
for script in "${scripts[@]}"; do
	drive "$script" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || failed=1
done
((${#scripts[@]} < 4)) || "$clients/operations.sh" "$work" || failed=1
# shellcheck disable=SC2086
$python "$clients/answers.py" "$work" "$clients/exceptions" || failed=1
exit $failed
