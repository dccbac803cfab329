// Package node tests the chart on real kubelets: each has a network namespace, a host name, a container runtime and a
// kube-proxy of its own, and the addresses of a machine of a simulated cloud. `make e2e-node` runs the tests as root.
//
// What they do not show: these nodes share one kernel and one disk, and a machine ends by the death of all its
// processes. There is no cluster DNS, no registry, no NetworkPolicy and no Prometheus: images are loaded from files,
// and a pod with Prometheus' credentials scrapes. The managers of the clouds' own charts are ccm, because their
// images are not available. Only cloud fake forwards traffic. Pods keep the OOM score of the container runtime,
// because a lower one needs CAP_SYS_RESOURCE, which machines of some CI services do not have. cgroups are those of
// cgroupfs.
package node
