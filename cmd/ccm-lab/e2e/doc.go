// Package e2e tests the ccm binary as a process, against a real kube-apiserver and a simulated cloud over
// HTTP. Its tests need the binaries that `make build` and `make apiserver` put into bin/; `make e2e` makes
// both.
//
// Every test has its own control plane, cloud and managers: Nodes are cluster-scoped, and a manager watches
// all of them.
package e2e
