#!/usr/bin/env bash
# Each provider builds alone, the others left out by their exclude_<name> tags.
# The list of providers of that binary has no other.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t all < <(providers)
(cd cmd && go build -o "$root/bin/.ccm-all" ./ccm)
out=$root/bin/.ccm-alone
trap 'rm -f "$root/bin/.ccm-all" "$out"' EXIT

# The error about an unknown provider has the list.
linked_providers() { # binary -> names of the providers of this repository that it knows
	local answer name
	answer=$("$1" --cloud-provider=no-such-provider --kubeconfig=/dev/null 2>&1 || true)
	for name in "${all[@]}"; do
		if grep -qw -- "$name" <<<"$answer"; then printf '%s\n' "$name"; fi
	done
}

if [[ $(linked_providers "$root/bin/.ccm-all") != "$(printf '%s\n' "${all[@]}")" ]]; then
	echo "ccm should link ${all[*]}; its output:"
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
	if [[ $(linked_providers "$out") != "$name" ]]; then
		echo "built alone, $name should be the only provider; the output of ccm:"
		"$out" --cloud-provider=no-such-provider --kubeconfig=/dev/null || true
		failed=1
	fi
done

# A binary without providers compiles too, for users who link their own.
without_providers=$build_tags$(printf ',exclude_%s' "${all[@]}")
echo "none: -tags '$without_providers'"
(cd cmd && go build -tags "$without_providers" -o "$out" ./ccm) || failed=1
exit $failed
