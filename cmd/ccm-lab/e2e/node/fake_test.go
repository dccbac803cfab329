package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// TestFake runs the chart on two nodes of cloud fake, from the first node that joins to the deletion of a machine.
func TestFake(t *testing.T) {
	c := newCluster(t, fake.ProviderName, 2)
	c.createEcho()
	c.awaitUnschedulable("app=web", "untolerated taint")
	// The cloud is another process, so that two managers can share it.
	c.install("--set=replicaCount=2,metrics.service.enabled=true")
	c.startPodNetworks()
	c.awaitReady("default", "app=web", 1)
	_, err := c.kubectl("scale", "deployment", "web", "--replicas=2")
	c.must(err)
	c.awaitReady("default", "app=web", 2)
	c.checkContainers()
	c.checkAntiAffinity()
	c.checkControlPlane()
	address := c.checkTraffic()
	c.checkScrape()

	client := c.startClient(address)
	c.checkUpgrade(address)
	c.checkFailedUpgrade()
	c.checkDrain(address)
	c.step("requests to the load balancer during upgrade, rollback and drain: %s", client.stop())
	if failed := client.failed.Load(); failed > 0 {
		t.Errorf("%d requests failed; the first: %v", failed, client.first.Load())
	}
	c.checkDeletedMachine(address)
}

// echo is a Deployment whose pods prefer different nodes, and their Service.
const echo = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
      containers:
      - name: web
        image: ` + podImage + `
        args: [serve]
        env:
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 3}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

func (c *cluster) createEcho() {
	c.t.Helper()
	c.step("creating pods and a Service of type LoadBalancer")
	c.apply(echo)
}

// checkAntiAffinity checks that the manager's pods are on different nodes, and that a third one waits for a node.
func (c *cluster) checkAntiAffinity() {
	c.t.Helper()
	c.step("checking anti-affinity: a third pod of the manager has no node")
	pods := c.pods(system, managerPods)
	if len(pods) != 2 || pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		c.t.Fatalf("the manager's %d pods are not on two nodes", len(pods))
	}
	_, err := c.kubectl("-n", system, "scale", "deployment", release, "--replicas=3")
	c.must(err)
	c.awaitUnschedulable(managerPods, "anti-affinity", "free ports")
	_, err = c.kubectl("-n", system, "scale", "deployment", release, "--replicas=2")
	c.must(err)
	c.awaitReady(system, managerPods, 2)
}

// checkControlPlane checks that the manager's pods run on nodes of the control plane only.
func (c *cluster) checkControlPlane() {
	c.t.Helper()
	c.step("checking that no pod of the manager runs on a node that is not of the control plane")
	const worker = "node-2"
	_, err := c.kubectl("label", "node", worker, controlPlaneLabel+"-")
	c.must(err)
	_, err = c.kubectl("-n", system, "delete", "pod", "-l", managerPods, "--field-selector=spec.nodeName="+worker)
	c.must(err)
	c.awaitUnschedulable(managerPods, "node affinity")
	_, err = c.kubectl("label", "node", worker, controlPlaneLabel+"=")
	c.must(err)
	c.awaitReady(system, managerPods, 2)
}

// checkTraffic checks that all pods answer at the load balancer's address, the node ports and the cluster IP, and returns
// the address.
func (c *cluster) checkTraffic() (address string) {
	c.t.Helper()
	var service *v1.Service
	c.await("the Service's load balancer", func(ctx context.Context) (err error) {
		if service, err = c.plane.client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{}); err != nil {
			return err
		}
		if len(service.Status.LoadBalancer.Ingress) == 0 {
			return errors.New("it has none")
		}
		return nil
	})
	address = service.Status.LoadBalancer.Ingress[0].IP
	targets := []string{address + ":80"}
	for _, m := range c.machines {
		targets = append(targets, fmt.Sprintf("%s:%d", m.address, service.Spec.Ports[0].NodePort))
	}
	for _, target := range targets {
		c.step("requests to http://%s", target)
		want := map[string]bool{}
		for _, pod := range c.pods("default", "app=web") {
			want[pod.Name] = true
		}
		c.await("answers of all pods at "+target, func(ctx context.Context) error {
			answer, err := get(ctx, "http://"+target)
			if err != nil {
				return err
			}
			pod, _, _ := strings.Cut(answer, " ")
			if delete(want, pod); len(want) > 0 {
				return fmt.Errorf("no answer of %v", want)
			}
			return nil
		})
	}
	return address
}

// checkScrape scrapes the manager as Prometheus does with the ServiceMonitor: each endpoint of the Service, with the
// token of an account that is bound to the chart's role. Without the binding it is refused.
func (c *cluster) checkScrape() {
	c.t.Helper()
	c.step("scraping the manager with the ServiceMonitor's credentials")
	c.apply(serviceMonitorDefinition)
	_, err := c.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/servicemonitors.monitoring.coreos.com")
	c.must(err)
	_, err = c.helm("upgrade", release, chart(), "--reuse-values", "--set=metrics.serviceMonitor.enabled=true", "--wait")
	c.must(err)
	monitor := c.serviceMonitor()
	c.apply(prometheus)
	c.awaitReady("default", "app=prometheus", 1)
	pod := c.pods("default", "app=prometheus")[0]
	fetch := func(ctx context.Context, url string) (string, error) {
		return get(ctx, "http://"+pod.Status.PodIP+":8080/fetch?url="+url)
	}
	urls := c.scrapeURLs(monitor)
	if len(urls) != 2 {
		c.t.Fatalf("the ServiceMonitor selects %v, want two endpoints", urls)
	}
	for _, url := range urls {
		if answer, err := fetch(c.t.Context(), url); err == nil || !strings.Contains(err.Error(), "403") {
			c.t.Errorf("%s without the role: %v %.80q, want 403", url, err, answer)
		}
	}
	_, err = c.kubectl("create", "clusterrolebinding", "prometheus", "--serviceaccount=default:prometheus",
		"--clusterrole=system:"+release+":metrics-reader")
	c.must(err)
	for _, url := range urls {
		c.await("metrics of "+url, func(ctx context.Context) error {
			answer, err := fetch(ctx, url)
			if err == nil && !strings.Contains(answer, `kubernetes_build_info{`) {
				err = fmt.Errorf("no metrics: %.200q", answer)
			}
			return err
		})
	}
}

// checkUpgrade upgrades to another version and rolls back. The load balancer keeps its address.
func (c *cluster) checkUpgrade(address string) {
	c.t.Helper()
	c.step("upgrading the release to %s", nextVersion)
	_, err := c.helm("upgrade", release, chart(), "--reuse-values", "--set=image.tag="+nextVersion, "--wait")
	c.must(err)
	c.awaitVersion(nextVersion)
	c.awaitLeader()
	c.step("rolling back")
	_, err = c.helm("rollback", release, "--wait")
	c.must(err)
	c.awaitVersion(version)
	c.awaitLeader()
	c.checkAddress(address)
}

// checkFailedUpgrade upgrades to a configuration with a wrong address. The new pod is not ready, so that the rollout
// stops, and a pod of the old configuration leads.
func (c *cluster) checkFailedUpgrade() {
	c.t.Helper()
	c.step("upgrading to a configuration with a cloud that does not exist")
	leader := c.awaitLeader()
	for _, pod := range c.pods(system, managerPods) {
		if pod.Spec.NodeName == leader { // It is replaced first.
			_, err := c.kubectl("-n", system, "annotate", "pod", pod.Name, "controller.kubernetes.io/pod-deletion-cost=-1")
			c.must(err)
		}
	}
	_, err := c.kubectl("-n", system, "create", "secret", "generic", "no-cloud",
		"--from-literal=cloud.conf=[Global]\nendpoint = http://"+planeAddress+":1\n")
	c.must(err)
	_, err = c.helm("upgrade", release, chart(), "--reuse-values", "--set=cloudConfig.existingSecret=no-cloud")
	c.must(err)
	c.await("a new pod that does not get ready", func(ctx context.Context) error {
		pods, err := c.listPods(ctx, system, managerPods)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			for _, status := range pod.Status.ContainerStatuses {
				running := status.State.Running
				if mounts(&pod, "no-cloud") && !status.Ready &&
					(status.RestartCount > 0 || running != nil && time.Since(running.StartedAt.Time) > unreadyTime) {
					return nil
				}
			}
		}
		return fmt.Errorf("no pod with the configuration runs for %s, or ended, and is not ready", unreadyTime)
	})
	old := slices.DeleteFunc(c.pods(system, managerPods), func(pod v1.Pod) bool { return mounts(&pod, "no-cloud") })
	if len(old) != 1 || !podReady(&old[0]) {
		c.t.Errorf("%d pods of the release before are left, want one that is ready", len(old))
	}
	c.createBalancer("during-failed-upgrade")
	_, err = c.helm("rollback", release, "--wait")
	c.must(err)
	c.awaitReady(system, managerPods, 2)
}

// unreadyTime is longer than a manager needs to be ready.
const unreadyTime = 8 * time.Second

// mounts reports whether a pod mounts a Secret.
func mounts(pod *v1.Pod, secret string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Secret != nil && v.Secret.SecretName == secret
	})
}

// checkDrain drains the leader's node. The other manager leads, and does the work.
func (c *cluster) checkDrain(address string) {
	c.t.Helper()
	leader := c.awaitLeader()
	c.step("draining %s, the leader's node", leader)
	drained := time.Now()
	_, err := c.kubectl("drain", leader, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")
	c.must(err)
	c.await("another leader", func(ctx context.Context) error {
		holder, err := c.holder(ctx)
		if err == nil && holder == leader {
			err = fmt.Errorf("the leader is on %s", holder)
		}
		return err
	})
	c.step("another manager leads %.0f s after the start of the drain", time.Since(drained).Seconds())
	for _, pod := range c.pods(system, managerPods) {
		if pod.Spec.NodeName == leader && pod.DeletionTimestamp == nil {
			c.t.Errorf("pod %s is on the drained node", pod.Name)
		}
	}
	c.createBalancer("during-drain")
	c.awaitReady("default", "app=web", 2)
	c.checkAddress(address)
	_, err = c.kubectl("uncordon", leader)
	c.must(err)
	c.awaitReady(system, managerPods, 2)
}

// checkDeletedMachine terminates the machine of a node. The manager deletes the node, and the other node's pods
// answer.
func (c *cluster) checkDeletedMachine(address string) {
	c.t.Helper()
	const name = "node-2"
	c.step("terminating the machine of %s", name)
	c.must(c.cloud.World.Terminate(name))
	m := c.machines[name]
	delete(c.machines, name)
	c.must(m.stop(c.t.Context()))
	c.await("the deletion of node "+name, func(ctx context.Context) error {
		_, err := c.node(ctx, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it exists"))
	})
	c.step("node %s is deleted; waiting for its pods on the other node", name)
	c.awaitReady("default", "app=web", 2)
	c.awaitMembers(1)
	c.await("an answer", func(ctx context.Context) error {
		_, err := get(ctx, "http://"+address)
		return err
	})
	node, err := c.node(c.t.Context(), "node-1")
	c.must(err)
	if tainted(node, cloudproviderapi.TaintNodeShutdown) || tainted(node, cloudproviderapi.TaintExternalCloudProvider) {
		c.t.Errorf("taints of node-1: %v", node.Spec.Taints)
	}
}

// client sends requests to the load balancer, one after the other.
type client struct {
	count, failed atomic.Int64
	first         atomic.Value
	cancel        context.CancelFunc
	done          chan struct{}
}

// startClient starts a client that runs until it is stopped.
func (c *cluster) startClient(address string) *client {
	ctx, cancel := context.WithCancel(c.t.Context())
	l := &client{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if _, err := get(ctx, "http://"+address); err != nil && ctx.Err() == nil {
				l.failed.Add(1)
				l.first.CompareAndSwap(nil, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
			}
			l.count.Add(1)
		}
	}()
	return l
}

func (l *client) stop() string {
	l.cancel()
	<-l.done
	return fmt.Sprintf("%d, %d failed", l.count.Load(), l.failed.Load())
}
