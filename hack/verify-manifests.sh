#!/usr/bin/env bash
# deploy/manifests pass a real API server's dry run, and their role is enough: ccm
# runs under that account, with the arguments that stand in the Deployment, makes
# a node and a load balancer ready, answers /metrics, and is refused nothing.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

hack/controlplane/build.sh etcd kube-apiserver kubectl
assets=${KUBEBUILDER_ASSETS:-$root/bin}
work=$(mktemp -d)
pids=()
stop() {
	# Nothing of theirs is kept, so they need not end in order.
	kill -KILL "${pids[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$work"
}
trap stop EXIT

free_port() {
	local port
	while port=$((20000 + RANDOM % 10000)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	printf '%s' "$port"
}

alive() {
	local pid
	for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}

await() { # what seconds command...
	local what=$1 until=$((SECONDS + $2))
	shift 2
	until "$@" >"$work/last" 2>&1; do
		# A process that has ended will not make anything happen any more.
		if ((SECONDS >= until)) || ! alive; then
			echo "$what did not happen; last answer:"
			cat "$work/last"
			tail -n 8 "$work"/*.log
			return 1
		fi
		sleep 0.5
	done
}

etcd_port=$(free_port)
api_port=$(free_port)
ccm_port=$(free_port)
token=verify-manifests

# One key pair is enough for everything; the program that makes it comes with Go.
(cd "$work" && go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" --host 127.0.0.1 --ecdsa-curve P256 >/dev/null 2>&1)
printf '%s,admin,admin,system:masters\n' "$token" >"$work/tokens"

"$assets/etcd" --data-dir "$work/etcd" --unsafe-no-fsync \
	--listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
	--listen-peer-urls "http://127.0.0.1:0" >"$work/etcd.log" 2>&1 &
pids+=($!)
"$assets/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd_port" --authorization-mode RBAC \
	--bind-address 127.0.0.1 --advertise-address 127.0.0.1 --endpoint-reconciler-type none --secure-port "$api_port" \
	--tls-cert-file "$work/cert.pem" --tls-private-key-file "$work/key.pem" --token-auth-file "$work/tokens" \
	--service-account-issuer https://verify.invalid --service-cluster-ip-range 10.96.0.0/16 \
	--service-account-key-file "$work/cert.pem" --service-account-signing-key-file "$work/key.pem" \
	--requestheader-client-ca-file "$work/cert.pem" --requestheader-allowed-names front-proxy \
	--requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
	--requestheader-extra-headers-prefix X-Remote-Extra- \
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

echo "== dry run"
kubectl apply --dry-run=server -k deploy/manifests
kubectl apply -k deploy/manifests >/dev/null

echo "== ccm under its own account"
account_token=$(kubectl -n kube-system create token unified-ccm)
kubeconfig "$work/account" "token: $account_token"
setting() { kubectl -n kube-system get configmap unified-ccm -o "jsonpath={.data.$1}"; }
kubectl -n kube-system get secret unified-ccm-cloud-config -o 'go-template={{index .data "cloud.conf" | base64decode}}' >"$work/cloud.conf"
mapfile -t arguments < <(
	kubectl -n kube-system get deployment unified-ccm \
		-o 'go-template={{range (index .spec.template.spec.containers 0).args}}{{.}}{{"\n"}}{{end}}' |
		sed -e "s|\$(CLOUD_PROVIDER)|$(setting cloud-provider)|" -e "s|\$(CLUSTER_NAME)|$(setting cluster-name)|" \
			-e "s|\$(CONFIGURE_CLOUD_ROUTES)|true|" -e "s|\$(CLUSTER_CIDR)|10.244.0.0/16|" \
			-e "s|\$(LEASE_NAME)|$(setting lease-name)|" -e "s|/etc/unified-ccm/cloud.conf|$work/cloud.conf|"
)
if grep -F '$(' <<<"${arguments[*]}"; then
	echo "an argument of the Deployment uses a variable that this script does not know"
	exit 1
fi
(cd cmd && go build -o "$work/ccm" ./ccm)
"$work/ccm" "${arguments[@]}" --kubeconfig "$work/account" --authentication-kubeconfig "$work/account" \
	--authorization-kubeconfig "$work/account" --bind-address 127.0.0.1 --secure-port "$ccm_port" >"$work/ccm.log" 2>&1 &
pids+=($!)

kubectl apply -f - >/dev/null <<-YAML
	apiVersion: v1
	kind: Node
	metadata: {name: node-1, labels: {kubernetes.io/hostname: node-1}}
	spec:
	  podCIDR: 10.244.1.0/24
	  podCIDRs: [10.244.1.0/24]
	  taints: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: "true", effect: NoSchedule}]
	---
	apiVersion: v1
	kind: Service
	metadata: {name: web, namespace: default}
	spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
YAML

has() { # template pattern object...
	local template=$1 pattern=$2
	shift 2
	kubectl get "$@" -o "go-template=$template" | grep -qE "$pattern"
}
await "leadership" 60 has '{{.spec.holderIdentity}}' . -n kube-system lease "$(setting lease-name)"
await "the node's provider ID" 60 has '{{.spec.providerID}}' '^[a-z]+://' node node-1
await "the node's address" 30 has '{{range .status.addresses}}{{.type}} {{end}}' IP node node-1
await "the Service's load balancer" 60 has '{{range .status.loadBalancer.ingress}}{{.ip}}{{.hostname}}{{end}}' . service web
await "the Service's events" 30 has '{{range .items}}{{.reason}} {{end}}' EnsuredLoadBalancer events

# Metrics are for those who may read them, and only for them.
metrics() { # token
	"$assets/kubectl" --kubeconfig /dev/null --server "https://127.0.0.1:$ccm_port" --insecure-skip-tls-verify \
		--token "$1" get --raw /metrics
}
await "metrics for an admin" 60 metrics "$token"
if metrics nobody >/dev/null 2>&1; then
	echo "/metrics answers callers that nobody knows"
	exit 1
fi

refused=$(grep -iE 'forbidden|cannot (get|list|watch|create|update|patch|delete) resource' "$work/ccm.log" | head -n 5 || true)
if [[ -n $refused ]]; then
	printf 'the role is too small:\n%s\n' "$refused"
	exit 1
fi
echo "ccm was refused nothing"
