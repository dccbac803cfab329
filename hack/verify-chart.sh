#!/usr/bin/env bash
# The chart works as documented: generated files are up to date, Helm 4 (and 3, with HELM3=1) lints it, and wrong values are
# rejected with the nearest key. Helm installs it with each preset on a real API server; ccm then runs with the arguments
# and the account of the Deployment against the simulated cloud, initializes a node, makes a load balancer ready, and
# serves /metrics. Each permission of the roles is used, and none is missing. Helm upgrades and uninstalls it.
#
# ccm chart-values converts the values of other managers' charts, and its output is valid. Releases of AWS' and
# OpenStack's own charts, the real ones, are upgraded to this chart and rolled back, each time with a manager that is
# killed in the middle of its work: hack/lib-chart-move.sh.
#
#   hack/verify-chart.sh             all presets
#   hack/verify-chart.sh aws fake    some of them
#   hack/verify-chart.sh move        only the upgrades from the clouds' own charts, and the way back
#
#   STARTS   a file to which the start-up times are added, in milliseconds
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source hack/lib-chart-move.sh

helm4=$(helm 4)
# Compiling a second Helm takes a minute, so that only make e2e-chart does it.
helm3=$helm4
[[ -z ${HELM3:-} ]] || helm3=$(helm 3)
hack/controlplane/build.sh etcd kube-apiserver kubectl
assets=${KUBEBUILDER_ASSETS:-$root/bin}
work=$(mktemp -d)
pids=()    # the control plane
running=() # ccm and the simulator of one preset
stop() {
	# None of their files is kept, so that they need no orderly end.
	kill -KILL "${pids[@]}" "${running[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$work"
}
trap stop EXIT
# Most checks are commands without output of their own.
set -o errtrace
trap 'echo "failed: ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"' ERR

free_port() {
	local port
	while port=$((20000 + RANDOM % 10000)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	printf '%s' "$port"
}

alive() {
	local pid
	for pid in "${pids[@]}" "${running[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}

await() { # description seconds command...
	local description=$1 until=$((SECONDS + $2))
	shift 2
	until "$@" >"$work/last" 2>&1; do
		# Without all processes, the condition cannot come true.
		if ((SECONDS >= until)) || ! alive; then
			echo "$description: not reached; the last output:"
			cat "$work/last"
			tail -n 8 "$work"/[!a]*.log
			return 1
		fi
		sleep 0.5
	done
}

# Helm assumes a version of Kubernetes if it is built from its module.
kube_version=$(hack/controlplane/build.sh --versions | sed -n 's/^kubernetes v//p')

echo "== generated files"
hack/update-chart.sh "$work/deploy"
for path in chart manifests; do
	diff -r "deploy/$path" "$work/deploy/$path" || { echo "run: make generate" && exit 1; }
done

echo "== alerts and dashboard"
# -count=1: go test caches no files outside of the module, and these tests read the chart and the documentation.
(cd hack/chart && GOWORK=off go test -count=1 ./...)

echo "== lint"
for preset in deploy/chart/presets/*.yaml; do
	for helm in "$helm3" "$helm4"; do
		"$helm" lint --strict --quiet --kube-version "$kube_version" deploy/chart -f "$preset" \
			--set clusterName=verify,image.tag=verify
	done
done

echo "== wrong values"
rejects() { # expected settings
	for helm in "$helm3" "$helm4"; do
		if answer=$("$helm" template unified-ccm deploy/chart --kube-version "$kube_version" --set "$2" 2>&1) ||
			! grep -qF -- "$1" <<<"$answer"; then
			printf 'with %s, %s does not say "%s":\n%s\n' "$2" "$helm" "$1" "$answer"
			return 1
		fi
	done
}
rejects 'cloudProvider is required' clusterName=a
rejects 'clusterName is required' cloudProvider=aws,image.tag=v1
rejects 'image.tag is required: this chart is not of a release' cloudProvider=aws,clusterName=a
rejects 'would run a pod on each node' cloudProvider=aws,clusterName=a,kind=DaemonSet,controlPlaneNodes=preferred
rejects "missing property 'name'" 'cloudProvider=aws,image.pullSecrets[0].nam=registry'
rejects "got string, want object" 'cloudProvider=aws,tolerations[0]=all'
rejects 'clustername is not a value of this chart: did you mean clusterName?' cloudProvider=fake,clustername=a
rejects 'image.tga is not a value of this chart: did you mean image.tag?' cloudProvider=fake,image.tga=v1
rejects 'args.--v: write the name of the flag without dashes: v' cloudProvider=fake,args.--v=1
rejects 'routes.enabled needs routes.clusterCIDR' cloudProvider=fake,routes.enabled=true
rejects "got string, want integer" cloudProvider=fake,replicaCount=two
rejects "'hold-all'" cloudProvider=fake,loadBalancers.disruption=never

etcd_port=$(free_port)
api_port=$(free_port)
token=verify-chart
# The simulator of AWS accepts these.
export AWS_ACCESS_KEY_ID=AKIASIMULATED AWS_SECRET_ACCESS_KEY=simulated

# One key pair is enough for everything; the program that makes it comes with Go.
generate=$(go env GOROOT)/src/crypto/tls/generate_cert.go
(cd "$work" && go run "$generate" --host 127.0.0.1 --ecdsa-curve P256 >/dev/null 2>&1)
printf '%s,admin,admin,system:masters\n' "$token" >"$work/tokens"

"$assets/etcd" --data-dir "$work/etcd" --unsafe-no-fsync \
	--listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
	--listen-peer-urls "http://127.0.0.1:0" >"$work/etcd.log" 2>&1 &
pids+=($!)
cat >"$work/audit-policy.yaml" <<-YAML
	apiVersion: audit.k8s.io/v1
	kind: Policy
	omitStages: [RequestReceived, ResponseStarted]
	rules:
	  - level: Metadata
	    users: ["system:serviceaccount:kube-system:unified-ccm"]
	  - level: None
YAML
"$assets/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd_port" --authorization-mode RBAC \
	--bind-address 127.0.0.1 --advertise-address 127.0.0.1 --endpoint-reconciler-type none --secure-port "$api_port" \
	--tls-cert-file "$work/cert.pem" --tls-private-key-file "$work/key.pem" --token-auth-file "$work/tokens" \
	--service-account-issuer https://verify.invalid --service-cluster-ip-range 10.96.0.0/16 \
	--service-account-key-file "$work/cert.pem" --service-account-signing-key-file "$work/key.pem" \
	--requestheader-client-ca-file "$work/cert.pem" --requestheader-allowed-names front-proxy \
	--requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
	--requestheader-extra-headers-prefix X-Remote-Extra- \
	--audit-policy-file "$work/audit-policy.yaml" --audit-log-path "$work/audit.log" --audit-log-mode blocking \
	>"$work/kube-apiserver.log" 2>&1 &
pids+=($!)

kubeconfig() { # file user-settings
	cat >"$1" <<-YAML
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "https://127.0.0.1:$api_port", certificate-authority: "$work/cert.pem"}}]
		users: [{name: u, user: {$2}}]
		contexts: [{name: x, context: {cluster: c, user: u}}]
		current-context: x
	YAML
}
kubeconfig "$work/admin" "token: $token"
kubectl() { "$assets/kubectl" --kubeconfig "$work/admin" "$@"; }

await "an API server" 90 kubectl get --raw /readyz
await "the namespace kube-system" 30 kubectl get namespace kube-system

echo "== plain manifests"
for manifest in deploy/manifests/*.yaml; do
	kubectl apply --dry-run=server -f "$manifest" >/dev/null
done

echo "== DaemonSet, further permissions, credentials of a registry"
"$helm4" template unified-ccm deploy/chart --namespace kube-system --kube-version "$kube_version" -f deploy/chart/presets/aws.yaml \
	--set kind=DaemonSet,clusterName=verify,image.tag=verify,image.pullSecrets[0].name=registry \
	--set rbac.secrets[0].name=vcenter,rbac.secrets[1].name=other,rbac.secrets[1].namespace=default \
	--set-json 'rbac.extraRules=[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]' >"$work/daemonset.yaml"
kubectl apply -f "$work/daemonset.yaml" >/dev/null
kubectl -n kube-system get daemonset unified-ccm -o 'go-template={{(index .spec.template.spec.imagePullSecrets 0).name}}' |
	grep -qx registry
may() { # yes|no, what, and where
	local answer
	answer=$(kubectl auth can-i get "${@:2}" --as=system:serviceaccount:kube-system:unified-ccm || true)
	[[ $answer == "$1" ]] || { echo "may the account get ${*:2}: $answer, want $1" && return 1; }
}
may yes secret/vcenter -n kube-system
may no secret/another -n kube-system
may yes secret/other -n default
may no secret/vcenter -n default
may yes configmap/any -n default
kubectl delete -f "$work/daemonset.yaml" >/dev/null

echo "== permissions of one provider"
cp -r deploy/chart "$work/chart-with-rules"
cat >"$work/chart-with-rules/files/kube-rules.json" <<-'JSON'
	{"aws": [
		{"namespace": "default", "apiGroup": "", "resources": ["configmaps"], "names": ["uid"], "verbs": ["get"]},
		{"apiGroup": "discovery.k8s.io", "resources": ["endpointslices"], "verbs": ["get", "list"]}
	]}
JSON
for preset in aws openstack aws-openstack; do
	"$helm4" template unified-ccm "$work/chart-with-rules" --namespace kube-system --kube-version "$kube_version" \
		-f "deploy/chart/presets/$preset.yaml" --set clusterName=verify,image.tag=verify >"$work/rules.yaml"
	kubectl apply -f "$work/rules.yaml" >/dev/null
	may "$([[ $preset == aws* ]] && echo yes || echo no)" configmap/uid -n default
	may "$([[ $preset == aws* ]] && echo yes || echo no)" endpointslices.discovery.k8s.io -n default
	may no configmap/other -n default
	may no configmap/uid -n kube-system
	kubectl delete -f "$work/rules.yaml" >/dev/null
done

(cd cmd && go build -o "$work/ccm" ./ccm)
go build -o "$work/ccm-lab" ./cmd/ccm-lab

has() { # template pattern object...
	local template=$1 pattern=$2
	shift 2
	kubectl get "$@" -o "go-template=$template" | grep -qE "$pattern"
}

readiness() { # pattern
	"$assets/kubectl" --kubeconfig /dev/null --server "https://127.0.0.1:$ccm_port" --insecure-skip-tls-verify \
		--token "$token" get --raw '/readyz?verbose' | grep -E -- "$1"
}

# metrics reads /metrics with a token: only callers with the permission get them.
metrics() { # token
	"$assets/kubectl" --kubeconfig /dev/null --server "https://127.0.0.1:$ccm_port" --insecure-skip-tls-verify \
		--token "$1" get --raw /metrics
}

# arguments prints the arguments of a workload's pods, adapted to a process outside of a pod: variables of the
# container are expanded, and the port is free.
arguments() { # [object]
	local object=${1:-deployment/unified-ccm} container='(index .spec.template.spec.containers 0)' variables
	variables=$(kubectl -n kube-system get "$object" \
		-o "go-template={{range $container.env}}{{if .value}}"'s|\$({{.name}})|{{.value}}|{{"\n"}}{{end}}{{end}}')
	kubectl -n kube-system get "$object" -o "go-template={{range $container.args}}"'{{.}}{{"\n"}}{{end}}' |
		sed -e "$variables" -e "s|=/etc/unified-ccm/\([a-z]*\)/cloud.conf|=$work/\1.conf|g" \
			-e "s|=/etc/[a-z-]*/cloud.conf|=$work/cloud.conf|" -e '/^--secure-port=/d'
}

install() { # preset
	local name=$1
	echo "== $name"
	start_sim "$name"
	kubectl -n kube-system create secret generic unified-ccm-cloud-config --from-file="$work/cloud.conf" >/dev/null
	helm_on "$helm3" install unified-ccm deploy/chart -f "deploy/chart/presets/$name.yaml" \
		--set cloudConfig.existingSecret=unified-ccm-cloud-config,clusterName=verify,image.tag=verify \
		--set routes.enabled=true,routes.clusterCIDR=10.244.0.0/16,networkPolicy.enabled=true \
		--set args.node-not-found-grace=1s,args.node-deletion-confirmation=1s,args.node-monitor-period=1s >"$work/notes"
	grep -qF "manages cluster verify on $name" "$work/notes"

	kubeconfig "$work/account" "token: $(kubectl -n kube-system create token unified-ccm)"
	ccm_port=$(free_port)
	local started=${EPOCHREALTIME//[.,]/}
	start_ccm "$name"
	# The port is opened once the cloud and the API server have answered.
	until (exec 3<>"/dev/tcp/127.0.0.1/$ccm_port") 2>/dev/null; do alive && sleep 0.02 || break; done
	record_start "$name" $(((${EPOCHREALTIME//[.,]/} - started) / 1000))

	register_node
	kubectl apply -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: Node
		metadata: {name: without-instance}
		---
		apiVersion: v1
		kind: Service
		metadata: {name: web, namespace: default}
		spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
	YAML
	await "leadership" 60 has '{{.spec.holderIdentity}}' . -n kube-system lease cloud-controller-manager
	await "the lease's holder in the readiness" 30 readiness '^\[\+\]lease cloud-controller-manager is held by '
	await "the node's provider ID" 60 has '{{.spec.providerID}}' '^[a-z]+://' node node-1
	await "the node's address" 30 has '{{range .status.addresses}}{{.type}} {{end}}' IP node node-1
	await "the Service's load balancer" 60 \
		has '{{range .status.loadBalancer.ingress}}{{.ip}}{{.hostname}}{{end}}' . service web
	await "the Service's events" 30 has '{{range .items}}{{.reason}} {{end}}' EnsuredLoadBalancer events
	kubectl get node node-1 -o 'custom-columns=NODE:.metadata.name,PROVIDER-ID:.spec.providerID,INTERNAL-IP:'\
'.status.addresses[?(@.type=="InternalIP")].address'
	kubectl get service web
	# Provider fake adopts nodes that it has no instance for.
	[[ $name == fake ]] || await "the deletion of the node without an instance" 60 missing node without-instance
	kubectl label node node-1 node.kubernetes.io/instance-type- >/dev/null
	await "the node's label" 60 \
		has '{{index .metadata.labels "node.kubernetes.io/instance-type"}}' '^[a-z0-9.-]+$' node node-1
	await "metrics for an admin" 60 metrics "$token"
	if metrics unknown >/dev/null 2>&1; then
		echo "/metrics answers unknown callers"
		return 1
	fi
	verify_cluster_name_guard "$name"
	helm_on "$helm4" upgrade unified-ccm deploy/chart --reset-then-reuse-values --set dryRun=true >/dev/null
	arguments | grep -qx -- --dry-run=true
	refuses 'dryRun is required: this release is a dry run' -f "deploy/chart/presets/$name.yaml" --set clusterName=verify,image.tag=verify
	kubectl delete service web --wait=false >/dev/null
	await "the deletion of the Service" 60 missing service web

	kill_ccm
	# API servers that stream no lists, and those whose streaming is off, are listed.
	KUBE_FEATURE_WatchListClient=false start_ccm "$name-2"
	await "leadership of the dry run" 60 \
		has '{{.spec.holderIdentity}}' . -n kube-system lease cloud-controller-manager-dry-run
	await "lists" 30 grep -q 'Caches are synced' "$work/ccm-$name-2.log"
	stop_running
	helm_on "$helm4" get manifest unified-ccm >>"$work/manifest.yaml"
	helm_on "$helm4" uninstall unified-ccm >/dev/null
	kubectl -n kube-system delete secret/unified-ccm-cloud-config lease/cloud-controller-manager \
		lease/cloud-controller-manager-dry-run >/dev/null
	kubectl delete node --all >/dev/null
	kubectl delete events --all >/dev/null
	if kubectl get clusterroles,clusterrolebindings -o name | grep unified-ccm; then
		echo "remains after helm uninstall"
		return 1
	fi
}

# verify_cluster_name_guard checks that no upgrade changes the name of the cluster, unless it is allowed, and that the
# message names the one to keep.
verify_cluster_name_guard() { # preset
	refuses 'this upgrade lacks the values of the release' --set dryRun=true
	refuses 'clusterName is required: this release has verify' --set cloudProvider="$1",image.tag=verify
	refuses 'clusterName changes from verify to other' --reset-then-reuse-values --set clusterName=other
	refuses 'clusterName changes from verify to other' --reset-then-reuse-values --set args.cluster-name=other
	refuses 'clusterName changes from verify to other' --reset-then-reuse-values --set clusterName=other,kind=DaemonSet
	helm_on "$helm4" upgrade unified-ccm deploy/chart --reset-then-reuse-values --dry-run=server \
		--set clusterName=other,allowClusterNameChange=true >/dev/null
}

refuses() { # expected flags of helm upgrade
	for helm in "$helm3" "$helm4"; do
		if answer=$(helm_on "$helm" upgrade unified-ccm deploy/chart "${@:2}" 2>&1) || ! grep -qF -- "$1" <<<"$answer"; then
			printf 'an upgrade with %s does not say "%s":\n%s\n' "${*:2}" "$1" "$answer"
			return 1
		fi
	done
}

# register_node registers the node of a simulated cloud's instance, as its kubelet does.
register_node() { # [name [label]]
	kubectl apply -f - >/dev/null <<-YAML
		apiVersion: v1
		kind: Node
		metadata: {name: "${1:-node-1}", labels: {kubernetes.io/hostname: "${1:-node-1}"${2:+, $2}}}
		spec:
		  podCIDR: 10.244.1.0/24
		  podCIDRs: [10.244.1.0/24]
		  taints: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: "true", effect: NoSchedule}]
	YAML
}

# record_start prints the time until ccm serves /readyz, beside that of the last release, and adds it to STARTS.
record_start() { # preset milliseconds
	local last
	last=$(awk -v preset="$1" '$1 == preset { print $2 }' hack/release/starts.txt)
	echo "note: $1 serves /readyz $2 ms after its start${last:+; the last release: $last ms}"
	[[ -z ${STARTS:-} ]] || printf '%s %s\n' "$1" "$2" >>"$STARTS"
}

start_ccm() { # name of its log [object [program]]; with the arguments of the Deployment
	local arguments
	mapfile -t arguments < <(arguments "${2:-deployment/unified-ccm}")
	"$work/${3:-ccm}" "${arguments[@]}" --kubeconfig "$work/account" --authentication-kubeconfig "$work/account" \
		--authorization-kubeconfig "$work/account" --bind-address 127.0.0.1 --secure-port "$ccm_port" \
		>"$work/ccm-$1.log" 2>&1 &
	running+=($!)
}

# start_sim starts the simulated cloud. It and ccm use free ports, so that nothing is shared.
start_sim() { # provider flags...
	running=()
	add_sim "$1" cloud.conf 1 "${@:2}"
}

add_sim() { # provider file instances flags...
	: >"$work/$2" # not that of an earlier one
	"$work/ccm-lab" sim "$1" --instances="$3" "${@:4}" >"$work/$2" 2>"$work/sim-$1.log" &
	running+=($!)
	await "a cloud.conf of $1" 30 test -s "$work/$2"
}

# install_clouds installs a preset of several clouds: each gets its node and its load balancer. All have an instance
# node-1, so that the nodes have the label of their cloud.
install_clouds() { # preset clouds...
	local preset=$1 cloud nodes=0
	shift
	echo "== $preset"
	running=()
	for cloud in "$@"; do
		add_sim "$cloud" "$cloud.conf" $((++nodes))
		cp "$work/$cloud.conf" "$work/cloud.conf"
		kubectl -n kube-system create secret generic "unified-ccm-cloud-config-$cloud" --from-file="$work/cloud.conf" >/dev/null
	done
	helm_on "$helm4" install unified-ccm deploy/chart -f "deploy/chart/presets/$preset.yaml" \
		--set clusterName=verify,image.tag=verify >"$work/notes"
	kubeconfig "$work/account" "token: $(kubectl -n kube-system create token unified-ccm)"
	ccm_port=$(free_port)
	start_ccm "$preset"
	nodes=0
	for cloud in "$@"; do
		register_node "node-$((++nodes))" "node.unified-ccm.io/provider: $cloud"
		kubectl apply -f - >/dev/null <<-YAML
			apiVersion: v1
			kind: Service
			metadata: {name: "web-$cloud", namespace: default}
			spec:
			  type: LoadBalancer
			  loadBalancerClass: unified-ccm.io/$cloud
			  externalTrafficPolicy: Local
			  ports: [{port: 80}]
			---
			apiVersion: discovery.k8s.io/v1
			kind: EndpointSlice
			metadata: {name: "web-$cloud", namespace: default, labels: {kubernetes.io/service-name: "web-$cloud"}}
			addressType: IPv4
			ports: [{port: 80}]
			endpoints: [{addresses: [10.244.1.2], nodeName: node-1}]
		YAML
	done
	nodes=0
	for cloud in "$@"; do
		await "the provider ID of the node of $cloud" 60 has '{{.spec.providerID}}' "^$cloud://" node "node-$((++nodes))"
		await "the load balancer of $cloud" 60 \
			has '{{range .status.loadBalancer.ingress}}{{.ip}}{{.hostname}}{{end}}' . service "web-$cloud"
	done
	# All endpoints are on the node of the first cloud.
	for cloud in "${@:2}"; do
		await "the Event about endpoints on nodes of another cloud than $cloud" 60 has \
			"{{range .items}}{{if eq .reason \"LoadBalancerEndpointsElsewhere\"}}{{.involvedObject.name}} {{end}}{{end}}" \
			"^(web-$cloud )+\$" events
	done
	kubectl delete endpointslices "${@/#/web-}" >/dev/null
	kubectl delete services --wait=false "${@/#/web-}" >/dev/null
	for cloud in "$@"; do await "the deletion of the Service of $cloud" 60 missing service "web-$cloud"; done
	stop_running
	helm_on "$helm4" get manifest unified-ccm >>"$work/manifest.yaml"
	helm_on "$helm4" uninstall unified-ccm >/dev/null
	kubectl -n kube-system delete lease/cloud-controller-manager "${@/#/secret/unified-ccm-cloud-config-}" >/dev/null
	kubectl delete node --all >/dev/null
	kubectl delete events --all >/dev/null
}

kill_ccm() {
	kill -KILL "${running[1]}"
	wait "${running[1]}" 2>/dev/null || true
	unset 'running[1]'
}

stop_running() {
	kill -KILL "${running[@]}"
	wait "${running[@]}" 2>/dev/null || true
	running=()
}

# verify_conversion checks that the output of ccm chart-values is valid for the chart.
verify_conversion() {
	echo "== values of other managers' charts"
	local file
	for file in cmd/internal/chartvalues/testdata/*.yaml "$(upstream_chart aws)/values.yaml"; do
		"$work/ccm" chart-values -f "$file" >"$work/values.yaml" 2>/dev/null
		for helm in "$helm3" "$helm4"; do
			"$helm" lint --strict --quiet --kube-version "$kube_version" deploy/chart -f "$work/values.yaml" \
				--set image.tag=verify
		done
	done
}

helm_on() { # helm arguments...
	HELM_CONFIG_HOME=$work/helm HELM_CACHE_HOME=$work/helm HELM_DATA_HOME=$work/helm \
		"$1" --kubeconfig "$work/admin" --namespace kube-system "${@:2}"
}

missing() { ! kubectl get "$@" >/dev/null 2>&1; }

mapfile -t presets < <(basename -s .yaml deploy/chart/presets/*.yaml)
verify_conversion
for name in "${@:-"${presets[@]}"}"; do
	case $name in
	move) move_all ;;
	*-*) install_clouds "$name" ${name//-/ } ;;
	*) install "$name" ;;
	esac
done
if (($# > 0)); then
	echo "== permissions are compared with all presets only"
	exit
fi
move_all

echo "== permissions"
(cd hack/chart && GOWORK=off go run ./permissions system:serviceaccount:kube-system:unified-ccm \
	"$work/manifest.yaml" "$work/audit.log" permissions/used.txt)
echo "each permission of the roles is used, and no other is needed"
