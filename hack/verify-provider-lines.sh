#!/usr/bin/env bash
# A new cloud is its own folder: outside of it, the lines below and no others name the cloud that came last. Generated
# files and the documentation do not count, nor tests, which may have it as an example.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cloud=gce

# cloud_files are the files that only this cloud has outside of its folder. Each is modelled on that of another cloud.
cloud_files=(
	"cmd/ccm/providers_$cloud.go"
	"cmd/ccm-lab/internal/lab/simulator_$cloud.go"
	"cmd/ccm-lab/internal/compare/translation/$cloud.go"
	"deploy/chart/presets/$cloud.yaml"
	"hack/sim-clients-$cloud.sh"
	"hack/update-$cloud-roles.sh"
)
# shared are the files that every cloud has lines in, with their maximum number, and why.
shared=(
	"go.work 2 the modules of the provider and its simulator"
	"cmd/go.mod 3 both modules, as go mod tidy writes them"
	"cmd/ccm-lab/go.mod 4 both modules, as go mod tidy writes them"
	"cmd/ccm-lab/internal/lab/simulators.go 2 the entry of the lab, and its import"
	"cmd/ccm-lab/internal/compare/settings.go 4 the fields that show a setting, for ccm-lab compare"
	"cmd/ccm-lab/internal/compare/translation/translation.go 3 the settings of the cloud's own manager, and their import"
	"cmd/ccm-lab/e2e/frameworkccm/main.go 1 the import of the manager that ccm is compared with"
	"deploy/chart/README.md.head 2 the row of the preset, and the link to the guide"
	"deploy/chart/values.yaml 1 the names of the clouds"
	"hack/site/hugo.yaml 1 the page with the permissions that the cloud's account needs"
)
# examples name the cloud where any other one would do.
examples=(
	cmd/internal/ccmapp/configcmd.go
	cmd/ccm-lab/compare.go
	cmd/ccm-lab/internal/compare/sample/sample.go
	hack/verify-binary-size.sh
)

failed=0 lines=0
declare -A allowed
for file in "${cloud_files[@]}" "${examples[@]}"; do allowed[$file]=any; done
for entry in "${shared[@]}"; do
	read -r file limit _ <<<"$entry"
	allowed[$file]=$limit
done
while IFS=: read -r file count; do
	limit=${allowed[$file]:-0}
	[[ $limit != any ]] || continue
	lines=$((lines + count))
	if ((count > limit)); then
		echo "$file: $count lines name $cloud, at most $limit are expected: shared code takes what differs between clouds" \
			"from their descriptors and simulators"
		failed=1
	fi
done < <(git grep -ciI --untracked -e "$cloud" -- . ":!providers/$cloud" ':!docs' ':!*.md' ':!changelog.d' \
	':!*_test.go' ':!deploy/manifests' ':!deploy/chart/values.schema.json' ':!deploy/chart/files/kube-rules.json' ':!hack/verify-provider-lines.sh' \
	":!deploy/$cloud" ':!*.sum')
for file in "${cloud_files[@]}"; do
	[[ -e $file ]] || { echo "$file: is missing" && failed=1; }
done
echo "note: outside of its folder, a cloud has $lines lines in ${#shared[@]} shared files, and ${#cloud_files[@]} files of its" \
	"own with $(cat "${cloud_files[@]}" | wc -l) lines"
exit $failed
