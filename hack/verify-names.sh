#!/usr/bin/env bash
# The tree names no developer's machine: no home folders, no private registries or proxies, no loopback service of one
# machine, and no unfinished code, in files of any kind. The linter reads only Go.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
search() { # message, extended regular expression, pathspecs...
	local message=$1 pattern=$2 found
	shift 2
	found=$(git grep -nIE --untracked -e "$pattern" -- "$@" ':!hack/verify-names.sh' ':!*go.sum' || true)
	if [[ -n $found ]]; then
		printf '%s:\n%s\n' "$message" "$found"
		failed=1
	fi
}

search "a path of one machine" '(^|[^[:alnum:]_.-])/(home|Users|root|work|workspace)/[[:alnum:]_.-]+' .
search "an address of one network" '(^|[^0-9.])192\.168\.[0-9]+\.[0-9]+:[0-9]+/|\.(internal|corp|lan|local):[0-9]+/' .
search "a registry or proxy that is not the public one" \
	'GOPROXY=([^f]|f[^i])|GONOSUMDB|GOINSECURE|(index-url|registry-mirror)|artifactory|nexus\.' .
search "unfinished code" '(^|[^[:alnum:]_.])(TODO|FIXME|XXX|HACK)([^[:alnum:]_]|$)' .

# A replace directive may point into this repository, at another published version of the same module and, in the module
# that builds Kubernetes, at a published version; anything else is a private fork.
forks=$(git grep -nE --untracked -e '=>' -- '*go.mod' | grep -vE '=> (\.\.?/|k8s\.io/[a-z-]+ v[0-9.]+$)' |
	grep -vE ':[[:space:]]*(replace )?([^ ]+)( v[^ ]+)? => \2 v[^ ]+$' || true)
if [[ -n $forks ]]; then
	printf 'a replacement that is not published:\n%s\n' "$forks"
	failed=1
fi
exit $failed
