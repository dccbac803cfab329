#!/usr/bin/env bash
# Runs the commands of the documentation: for each cloud, a lab (a real API server, ccm, the simulated cloud), and in it
# the shell blocks that are marked for that cloud, each page in a shell of its own. hack/docs-commands.awk has the marks.
#
#   hack/e2e-docs.sh                          every page
#   hack/e2e-docs.sh docs/tutorial.md ...     some pages
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if (($# > 0)); then pages=("$@"); else mapfile -t pages < <(documentation_pages); fi
helm4=$(helm 4)
hack/controlplane/build.sh etcd kube-apiserver kubectl

work=$(mktemp -d)
lab=
stop() {
	# A background process ignores SIGINT until it handles it, so one that has just started would never end.
	[[ -z $lab ]] || { kill -TERM "$lab" 2>/dev/null && wait "$lab" 2>/dev/null; } || true
	lab=
}
trap 'stop; rm -rf "$work"' EXIT

mkdir -p "$work/bin" "$work/home/.kube"
go build -o "$work/bin/" ./cmd/ccm ./cmd/ccm-lab
ln -s "$helm4" "$work/bin/helm"
ln -s "${KUBEBUILDER_ASSETS:-$root/bin}/kubectl" "$work/bin/"

# start_lab starts a lab, sets KUBECONFIG, and creates a folder like a checkout, in which the commands run.
start_lab() { # cloud
	local until=$((SECONDS + 120))
	: >"$work/lab.log" # The line that ends the wait must not be that of the lab before.
	CCM_BIN=$work/bin/ccm "$work/bin/ccm-lab" run --provider="$1" >"$work/lab.log" 2>&1 &
	lab=$!
	unset KUBECONFIG
	until grep -q '^Ctrl-C ends' "$work/lab.log"; do
		if ((SECONDS >= until)) || ! kill -0 "$lab" 2>/dev/null; then
			cat "$work/lab.log"
			echo "the lab of $1 is not ready"
			return 1
		fi
		sleep 0.2
	done
	KUBECONFIG=$(sed -n 's/^export KUBECONFIG=//p' "$work/lab.log" | head -n1)
	export KUBECONFIG
	rm -rf "$work/checkout"
	mkdir "$work/checkout"
	ln -s "$root"/{deploy,examples,docs,hack} "$work/checkout"
	cp "$(dirname "$KUBECONFIG")/cloud.conf" "$work/checkout/"
	mkdir "$work/checkout/bin"
	printf 'image: {registry: registry.invalid, repository: unified-ccm, tag: test}\n' >"$work/checkout/bin/image.yaml"
	cp "$KUBECONFIG" "$work/home/.kube/config"
}

# The simulator of AWS accepts these.
export AWS_ACCESS_KEY_ID=AKIASIMULATED AWS_SECRET_ACCESS_KEY=simulated
failed=0
for cloud in $(providers); do
	started=
	for page in "${pages[@]}"; do
		{
			echo 'set -euo pipefail'
			awk -v cloud="$cloud" -f hack/docs-commands.awk "$page"
		} >"$work/script"
		grep -q '^echo ' "$work/script" || continue
		if [[ -z $started ]]; then
			start_lab "$cloud" || exit 1
			started=1
		fi
		printf '%-10s %s\n' "$cloud" "$page"
		if ! (cd "$work/checkout" && HOME=$work/home PATH=$work/bin:$PATH timeout 120 bash "$work/script") >"$work/out" 2>&1; then
			sed 's/^/    /' "$work/out"
			failed=1
		fi
		# The next page starts in an empty namespace.
		for release in $("$helm4" list --kubeconfig "$KUBECONFIG" --namespace kube-system --short); do
			"$helm4" uninstall --kubeconfig "$KUBECONFIG" --namespace kube-system "$release" >/dev/null
		done
		"$work/bin/kubectl" --namespace kube-system delete secrets --all >/dev/null
	done
	stop
done
exit $failed
