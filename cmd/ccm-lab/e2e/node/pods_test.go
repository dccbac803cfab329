package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managerPods selects the pods of the chart.
const managerPods = "app.kubernetes.io/instance=" + release

// listPods returns the pods that a label selects, without those that have ended or are being deleted.
func (c *cluster) listPods(ctx context.Context, namespace, selector string) ([]v1.Pod, error) {
	list, err := c.plane.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(pod v1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded
	}), nil
}

// pods is listPods outside of a condition.
func (c *cluster) pods(namespace, selector string) []v1.Pod {
	c.t.Helper()
	pods, err := c.listPods(c.t.Context(), namespace, selector)
	c.must(err)
	return pods
}

func podReady(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	})
}

// awaitReady waits until exactly n pods exist, and are ready.
func (c *cluster) awaitReady(namespace, selector string, n int) {
	c.t.Helper()
	c.await("pods "+selector, func(ctx context.Context) error {
		pods, err := c.listPods(ctx, namespace, selector)
		if err != nil {
			return err
		}
		var problems []error
		for _, pod := range pods {
			if !podReady(&pod) {
				problems = append(problems, fmt.Errorf("%s is not ready: %+v", pod.Name, pod.Status.Conditions))
			}
		}
		if len(pods) != n {
			problems = append(problems, fmt.Errorf("there are %d, want %d", len(pods), n))
		}
		return errors.Join(problems...)
	})
}

// awaitUnschedulable waits for a pod that the scheduler finds no node for, because of one of the reasons.
func (c *cluster) awaitUnschedulable(selector string, reasons ...string) {
	c.t.Helper()
	c.await("a pod without a node", func(ctx context.Context) error {
		list, err := c.plane.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		var messages []string
		for _, pod := range list.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type != v1.PodScheduled || condition.Status != v1.ConditionFalse {
					continue
				}
				messages = append(messages, condition.Message)
				if slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(condition.Message, reason) }) {
					return nil
				}
			}
		}
		return fmt.Errorf("%d pods, messages %q", len(list.Items), messages)
	})
}

// awaitVersion waits until all pods of the manager are ready, with the image of a version.
func (c *cluster) awaitVersion(tag string) {
	c.t.Helper()
	c.awaitReady(system, managerPods, 2)
	for _, pod := range c.pods(system, managerPods) {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Image != imageRepository+":"+tag {
				c.t.Errorf("pod %s runs %s, want %s", pod.Name, status.Image, tag)
			}
			if status.RestartCount > 0 {
				c.t.Errorf("pod %s was restarted %d times: %+v", pod.Name, status.RestartCount, status.LastTerminationState)
			}
		}
	}
}

// awaitLeader waits until a pod that exists holds the lease, and returns its node.
func (c *cluster) awaitLeader() (node string) {
	c.t.Helper()
	c.await("a leader", func(ctx context.Context) (err error) {
		if node, err = c.holder(ctx); err != nil {
			return err
		}
		pods, err := c.listPods(ctx, system, managerPods)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(pods, func(pod v1.Pod) bool { return pod.Spec.NodeName == node }) {
			return nil
		}
		return fmt.Errorf("the lease is held on %s, which has no pod", node)
	})
	return node
}

// createBalancer creates a Service and waits until it has a load balancer.
func (c *cluster) createBalancer(name string) {
	c.t.Helper()
	_, err := c.kubectl("create", "service", "loadbalancer", name, "--tcp=80")
	c.must(err)
	c.await("the load balancer of "+name, func(ctx context.Context) error {
		service, err := c.plane.client.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("it has none")
		}
		return err
	})
}

// checkAddress checks that Service web has the load balancer that it had.
func (c *cluster) checkAddress(address string) {
	c.t.Helper()
	service, err := c.plane.client.CoreV1().Services("default").Get(c.t.Context(), "web", metav1.GetOptions{})
	c.must(err)
	ingress := service.Status.LoadBalancer.Ingress
	if len(ingress) != 1 || ingress[0].IP != address {
		c.t.Errorf("the load balancer of web is %+v, was %s", ingress, address)
	}
}

// awaitMembers waits until each load balancer of the cloud has n members.
func (c *cluster) awaitMembers(n int) {
	c.t.Helper()
	c.await("members", func(context.Context) error {
		for _, lb := range c.cloud.World.LoadBalancers() {
			for _, l := range lb.Listeners {
				if len(l.Members) != n {
					return fmt.Errorf("%s has the members %v, want %d", lb.Name, l.Members, n)
				}
			}
		}
		return nil
	})
}

// get returns the body of an answer with status 200.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %.200s", response.Status, body)
	}
	return string(body), errors.Join(err, response.Body.Close())
}

// checkContainers checks what the kernel shows of the manager's processes: the user and group, no capabilities, the
// seccomp filter, the network of the node, a root file system without writes, and a Secret that the group can read.
func (c *cluster) checkContainers() {
	c.t.Helper()
	c.step("checking users, capabilities, files and networks of the manager's processes")
	pods := c.pods(system, managerPods)
	for _, pod := range pods {
		pid := c.managerProcess(&pod)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		c.must(err)
		for _, want := range []string{
			"Uid:\t65532\t65532\t65532\t65532", "Gid:\t65532\t65532\t65532\t65532", "CapEff:\t0000000000000000",
			"CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
		} {
			if !strings.Contains(string(status), want+"\n") {
				c.t.Errorf("pod %s: no %q in\n%s", pod.Name, want, status)
			}
		}
		c.checkNetwork(&pod, pid)
		root := fmt.Sprintf("/proc/%d/root", pid)
		var fs syscall.Statfs_t
		c.must(syscall.Statfs(root, &fs))
		if fs.Flags&1 == 0 { // ST_RDONLY
			c.t.Errorf("pod %s: its root file system can be written", pod.Name)
		}
		// The file is a link to one in a folder of the version of the Secret.
		link, err := os.Readlink(root + "/etc/unified-ccm/..data")
		c.must(err)
		info, err := os.Stat(filepath.Join(root, "etc/unified-ccm", link, "cloud.conf"))
		c.must(err)
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid != 0 || owner.Gid != 65532 || info.Mode().Perm() != 0o440 {
			c.t.Errorf("pod %s: cloud.conf has mode %v and owner %+v, want 0440 of root and the group of fsGroup", pod.Name,
				info.Mode(), owner)
		}
	}
}

// checkNetwork checks that a process is in the network of its node.
func (c *cluster) checkNetwork(pod *v1.Pod, pid int) {
	c.t.Helper()
	of, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", pid))
	c.must(err)
	node, err := os.Stat(c.machines[pod.Spec.NodeName].namespace())
	c.must(err)
	if !os.SameFile(of, node) {
		c.t.Errorf("pod %s is not in the network of its node", pod.Name)
	}
}

// managerProcess returns the process of a manager's pod.
func (c *cluster) managerProcess(pod *v1.Pod) int {
	c.t.Helper()
	var names []string
	for _, pid := range c.machines[pod.Spec.NodeName].pids() {
		cgroup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		program, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		name, _, _ := strings.Cut(string(program), "\x00")
		if strings.Contains(string(cgroup), string(pod.UID)) && name == "/ccm" {
			return pid
		}
		names = append(names, name)
	}
	c.t.Fatalf("pod %s has no process /ccm; the node has %v", pod.Name, names)
	return 0
}

// serviceMonitorDefinition is the resource of the Prometheus operator, without its schema.
const serviceMonitorDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, plural: servicemonitors}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// prometheus is a pod with an account of its own, which has no permissions.
const prometheus = `apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: v1
kind: Pod
metadata: {name: prometheus, namespace: default, labels: {app: prometheus}}
spec:
  serviceAccountName: prometheus
  nodeName: node-1
  containers:
  - name: prometheus
    image: ` + podImage + `
    args: [serve]
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
`

// monitor is what Prometheus reads of a ServiceMonitor.
type monitor struct {
	Spec struct {
		Selector  metav1.LabelSelector
		Endpoints []struct {
			Port, Scheme, Path, BearerTokenFile string
			TLSConfig                           struct{ InsecureSkipVerify bool }
		}
	}
}

func (c *cluster) serviceMonitor() (m monitor) {
	c.t.Helper()
	out, err := c.kubectl("-n", system, "get", "servicemonitor", release, "-o", "json")
	c.must(err, json.Unmarshal([]byte(out), &m))
	const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	if len(m.Spec.Endpoints) != 1 || m.Spec.Endpoints[0].BearerTokenFile != token ||
		!m.Spec.Endpoints[0].TLSConfig.InsecureSkipVerify {
		c.t.Fatalf("the ServiceMonitor does not scrape with the token of the account: %s", out)
	}
	return m
}

// scrapeURLs returns what the ServiceMonitor makes Prometheus scrape: its path at each endpoint of the Services that it
// selects.
func (c *cluster) scrapeURLs(m monitor) (urls []string) {
	c.t.Helper()
	endpoint := m.Spec.Endpoints[0]
	options := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&m.Spec.Selector)}
	services, err := c.plane.client.CoreV1().Services(system).List(c.t.Context(), options)
	c.must(err)
	for _, service := range services.Items {
		slices, err := c.plane.client.DiscoveryV1().EndpointSlices(system).List(c.t.Context(),
			metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + service.Name})
		c.must(err)
		for _, slice := range slices.Items {
			for _, port := range slice.Ports {
				if port.Name == nil || *port.Name != endpoint.Port || port.Port == nil {
					continue
				}
				for _, e := range slice.Endpoints {
					urls = append(urls, fmt.Sprintf("%s://%s:%d%s", endpoint.Scheme, e.Addresses[0], *port.Port, endpoint.Path))
				}
			}
		}
	}
	return urls
}
