// Package node tests the chart on real kubelets: each has a network namespace, a host name, a container runtime and a
// kube-proxy of its own, and the addresses of a machine of a simulated cloud. `make e2e-node` runs the tests as root.
//
// These nodes share one kernel: the tests do not show what differs between machines, such as the loss of a disk or of a
// clock. Machines end by the death of all their processes. There is no cluster DNS, no registry, no NetworkPolicy and no
// Prometheus: images are loaded from files, and a pod with Prometheus' credentials scrapes. The managers of the clouds'
// own charts are ccm, because their images are not available. Only cloud fake forwards traffic. Where the machine has no
// CAP_SYS_RESOURCE, kubelets and pods keep the OOM score of their parent.
package node
