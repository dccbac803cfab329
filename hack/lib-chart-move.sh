# How hack/verify-chart.sh moves a release of a cloud's own chart to this chart and back. Sourced by it.
#
# The charts are those of the Go modules of the clouds' own managers, which nothing imports. The managers that start
# with the arguments and the account of those charts are ccm, under their names: their images are not available here.
# shellcheck shell=bash

# upstream_chart prints the folder of a cloud's own chart.
upstream_chart() { # cloud
	case $1 in
	aws) chart_of_module k8s.io/cloud-provider-aws@v1.37.0 aws-cloud-controller-manager ;;
	openstack)
		local chart=$work/openstack-chart
		if [[ ! -d $chart ]]; then
			cp -r --no-preserve=mode "$(chart_of_module k8s.io/cloud-provider-openstack@v1.36.0 \
				openstack-cloud-controller-manager)" "$chart"
			common_chart "$chart/charts/common" 2.14.1
		fi
		printf '%s\n' "$chart"
		;;
	esac
}

chart_of_module() { # module@version chart
	(cd "$work" && GOWORK=off GOFLAGS=-mod=mod go mod download -json "$1") |
		sed -n 's|.*"Dir": "\(.*\)".*|\1/charts/'"$2|p"
}

# common_chart writes the one template of Bitnami's library chart that OpenStack's chart uses. The library itself is in
# a chart repository only, and tests need no network besides Go's modules.
common_chart() { # folder version
	mkdir -p "$1/templates"
	printf 'apiVersion: v2\nname: common\ntype: library\nversion: %s\n' "$2" >"$1/Chart.yaml"
	cat >"$1/templates/_labels.tpl" <<-'TPL'
		{{- define "common.labels.standard" -}}
		app.kubernetes.io/name: {{ .Chart.Name }}
		app.kubernetes.io/instance: {{ .Release.Name }}
		app.kubernetes.io/managed-by: {{ .Release.Service }}
		{{- end -}}
	TPL
}

# election are flags that shorten the wait for the lease of a killed manager.
election=(--leader-elect-lease-duration=4s --leader-elect-renew-deadline=3s --leader-elect-retry-period=1s)

# upstream_values prints values of a cloud's own chart.
upstream_values() { # cloud
	case $1 in
	aws)
		cat <<-YAML
			image: {repository: ghcr.io/unified-ccm/unified-ccm, tag: latest}
			args:
			  - --v=2
			  - --cloud-provider=aws
			  - --cloud-config=/etc/aws/cloud.conf
			  - --cluster-name=move
			  - --configure-cloud-routes=false
			  - --concurrent-service-syncs=1
			$(printf '  - %s\n' "${election[@]}")
			extraVolumes: [{name: cloud-config, secret: {secretName: aws-cloud-config}}]
			extraVolumeMounts: [{name: cloud-config, mountPath: /etc/aws}]
		YAML
		;;
	openstack)
		cat <<-YAML
			image: {repository: ghcr.io/unified-ccm/unified-ccm, tag: latest}
			cluster: {name: move}
			controllerExtraArgs: |-
			  - --cluster-cidr=10.244.0.0/16
			  - --concurrent-service-syncs=1
			$(printf '  - %s\n' "${election[@]}")
			cloudConfig:
		YAML
		# Each section of the file is a map in the chart, with a small first letter.
		awk '/^\[/ { printf "  %s%s:\n", tolower(substr($0, 2, 1)), substr($0, 3, length($0) - 3) }
			/ = / { split($0, pair, " = "); printf "    %s: \"%s\"\n", pair[1], pair[2] }' "$work/cloud.conf"
		;;
	esac
}

# move upgrades a release of a cloud's own chart to this chart while Services are waiting, and rolls it back while
# Services are deleted. Each manager is killed in the middle of that, and the next one finishes.
move() { # cloud helm-that-installs helm-that-upgrades
	local cloud=$1 first=$2 second=$3 release=$1-ccm theirs=daemonset/$1-cloud-controller-manager uid
	echo "== upgrade from the own chart of $cloud, and back: ${first##*/}, ${second##*/}"
	[[ $cloud != aws ]] || release=aws-cloud-controller-manager # which is the name of its DaemonSet, too
	local ours=deployment/$release-unified-ccm
	# With this latency and one worker, the managers are killed before they have finished.
	start_sim "$cloud" --latency=300ms
	upstream_values "$cloud" >"$work/theirs.yaml"
	register_node
	helm_on "$first" install "$release" "$(upstream_chart "$cloud")" -f "$work/theirs.yaml" >/dev/null
	kubectl create clusterrole cluster-uid --verb=get --resource=namespaces --resource-name=kube-system >/dev/null
	kubectl create clusterrolebinding cluster-uid --clusterrole=cluster-uid \
		--serviceaccount=kube-system:cloud-controller-manager >/dev/null
	uid=$(uid_of_account)
	ccm_port=$(free_port)
	start_upstream move-theirs
	await "the node's provider ID" 60 has '{{.spec.providerID}}' "^$cloud://" node node-1

	for name in a b c d e f; do
		kubectl create service loadbalancer "$name" --tcp=80 >/dev/null
	done
	await "a first load balancer" 90 addresses -ge 1
	kill_ccm
	addresses -lt 6
	[[ $cloud != openstack ]] ||
		kubectl -n kube-system annotate secret cloud-config helm.sh/resource-policy=keep >/dev/null
	helm_on "$first" get values "$release" -o yaml >"$work/moved.yaml"
	"$work/ccm" chart-values -f "$work/moved.yaml" >"$work/values.yaml"
	helm_on "$second" upgrade "$release" deploy/chart -f "$work/values.yaml" --set image.tag=verify >/dev/null
	missing -n kube-system "$theirs"
	[[ $cloud != openstack ]] || kubectl -n kube-system get secret cloud-config >/dev/null
	# IAM roles name the account that AWS' chart has created.
	[[ $cloud != aws || $(uid_of_account) == "$uid" ]]
	read_config "$release-unified-ccm-cloud-config"
	use_account_of "$ours"
	start_ccm move-ours "$ours"
	await "the load balancers of all Services" 120 addresses -eq 6
	verify_no_changes "$cloud"

	kubectl delete service a b c --wait=false >/dev/null
	await "the deletion of a Service" 90 addresses -lt 6
	kill_ccm
	addresses -gt 3
	helm_on "$second" rollback "$release" 1 >/dev/null
	missing -n kube-system "$ours"
	start_upstream move-back
	await "the deletion of three Services" 120 missing service a b c
	await "the other load balancers" 60 addresses -eq 3
	verify_no_changes "$cloud"
	kubectl delete service d e f >/dev/null
	stop_running
	helm_on "$second" uninstall "$release" >/dev/null
	kubectl -n kube-system delete lease/cloud-controller-manager >/dev/null
	kubectl delete clusterrole/cluster-uid clusterrolebinding/cluster-uid >/dev/null
	kubectl delete node --all >/dev/null
}

# start_upstream starts ccm as the cloud's own chart does with our image. AWS' chart has flags only: its image has the
# manager as its entrypoint, and ours has ccm under that name. The first argument of OpenStack's is the manager. It
# uses the variables cloud and theirs of move.
start_upstream() { # name of its log
	local program=ccm
	[[ $cloud != aws ]] || program=aws-cloud-controller-manager
	[[ $program == ccm ]] || ln -sf ccm "$work/$program"
	read_config cloud-config
	use_account_of "$theirs"
	start_ccm "$1" "$theirs" "$program"
}

# uid_of_account prints the UID of the account that the clouds' own charts create.
uid_of_account() {
	kubectl -n kube-system get serviceaccount cloud-controller-manager -o 'go-template={{.metadata.uid}}'
}

# use_account_of makes ccm run with the account of a workload.
use_account_of() { # object
	local account
	account=$(kubectl -n kube-system get "$1" -o 'go-template={{.spec.template.spec.serviceAccountName}}')
	kubeconfig "$work/account" "token: $(kubectl -n kube-system create token "$account")"
}

# read_config replaces cloud.conf by that of a Secret of a chart; AWS' charts have none here.
read_config() { # Secret
	if kubectl -n kube-system get secret "$1" -o 'go-template={{index .data "cloud.conf" | base64decode}}' \
		>"$work/of-chart" 2>/dev/null; then
		mv "$work/of-chart" "$work/cloud.conf"
	else
		[[ $cloud == aws ]]
	fi
}

# addresses compares the number of Services with a load balancer.
addresses() { # operator number
	local list='{{range .items}}{{range .status.loadBalancer.ingress}}{{.hostname}}{{.ip}}{{"\n"}}{{end}}{{end}}'
	test "$(kubectl get services -o "go-template=$list" | grep -c '[a-z0-9]')" "$1" "$2"
}

# verify_no_changes checks that the cloud matches the Services.
verify_no_changes() { # cloud
	"$work/ccm" plan --cloud-provider="$1" --cloud-config="$work/cloud.conf" --kubeconfig="$work/admin" \
		--cluster-name=move --configure-cloud-routes=false --all >"$work/plan" || { cat "$work/plan" && return 1; }
}

# move_all moves a release of each cloud. With HELM3=1, Helm 3 alone, and Helm 4 that takes over what Helm 3 installed.
move_all() {
	move aws "$helm3" "$helm4"
	move openstack "$helm3" "$helm3"
	[[ $helm3 == "$helm4" ]] || move openstack "$helm4" "$helm4"
}
