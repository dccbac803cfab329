#!/usr/bin/env bash
# Writes the files that are derived from the chart: its schema, its README, and the plain manifests, one file for each preset.
#
#   hack/update-chart.sh          into deploy/
#   hack/update-chart.sh FOLDER   into FOLDER, which is laid out like deploy/
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

out=$(mkdir -p "${1:-deploy}" && cd "${1:-deploy}" && pwd)
if [[ $out != "$root/deploy" ]]; then
	cp -r deploy/chart "$out"
	rm -f "$out/chart/README.md" "$out/chart/values.schema.json" "$out/chart/files/keys.txt" "$out/chart/files/kube-rules.json"
fi
(cd hack/chart && GOWORK=off go run . "$out/chart")
go run ./cmd/ccm docs --kube-rules "$out/chart/files/kube-rules.json"

helm4=$(helm 4)
kube_version=$(hack/controlplane/build.sh --versions | sed -n 's/^kubernetes v//p')
mkdir -p "$out/manifests"
rm -f "$out"/manifests/*.yaml
for preset in "$out"/chart/presets/*.yaml; do
	name=$(basename "$preset")
	{
		echo "# Rendered from deploy/chart with presets/$name by hack/update-chart.sh. Do not edit."
		"$helm4" template unified-ccm "$out/chart" --namespace kube-system --kube-version "$kube_version" -f "$preset" \
			--set clusterName=kubernetes,image.tag=unreleased |
			grep -vE '^ *(helm.sh/chart|app.kubernetes.io/managed-by|app.kubernetes.io/version): ' | sed 's/[[:space:]]*$//'
	} >"$out/manifests/$name"
done
