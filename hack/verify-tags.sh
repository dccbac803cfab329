#!/usr/bin/env bash
# Each provider builds alone, the others left out by their exclude_<name> tags,
# and then it is the only one that the binary's list of providers has.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t all < <(providers)
(cd cmd && go build -o "$root/bin/.ccm-all" ./ccm)
out=$root/bin/.ccm-alone
trap 'rm -f "$root/bin/.ccm-all" "$out"' EXIT

# The list stands in the one-line answer to a provider that does not exist.
linked() { # binary -> names of the providers of this repository that it knows
	local answer name
	answer=$("$1" --cloud-provider=no-such-provider --kubeconfig=/dev/null 2>&1 || true)
	for name in "${all[@]}"; do
		if grep -qw -- "$name" <<<"$answer"; then printf '%s\n' "$name"; fi
	done
}

if [[ $(linked "$root/bin/.ccm-all") != "$(printf '%s\n' "${all[@]}")" ]]; then
	echo "ccm should link ${all[*]}; it says:"
	"$root/bin/.ccm-all" --cloud-provider=no-such-provider --kubeconfig=/dev/null || true
	exit 1
fi

failed=0
for name in "${all[@]}"; do
	tags=$build_tags
	for other in "${all[@]}"; do
		[[ $other == "$name" ]] || tags+=",exclude_$other"
	done
	echo "$name alone: -tags '$tags'"
	(cd cmd && go vet -tags "$tags" ./ccm && go build -tags "$tags" -o "$out" ./ccm) || { failed=1 && continue; }
	if [[ $(linked "$out") != "$name" ]]; then
		echo "built alone, $name should be the only provider; ccm says:"
		"$out" --cloud-provider=no-such-provider --kubeconfig=/dev/null || true
		failed=1
	fi
done

# And none at all must still compile, for those who link their own.
everything=$build_tags$(printf ',exclude_%s' "${all[@]}")
echo "none: -tags '$everything'"
(cd cmd && go build -tags "$everything" -o "$out" ./ccm) || failed=1
exit $failed
