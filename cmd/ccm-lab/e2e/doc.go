// Package e2e tests what a user runs: the ccm binary, as a process, against a real kube-apiserver
// and a simulated cloud that it reaches over HTTP. Its tests need the binaries that `make build`
// and `make apiserver` put into bin/; `make e2e` makes both.
//
// Every test has a control plane, a cloud and its managers for itself: Nodes belong to the whole
// cluster, and a manager looks at all of them.
package e2e
