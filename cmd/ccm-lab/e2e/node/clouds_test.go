package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/gce"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
)

// TestPresetAWS and those of the other clouds run the chart with the preset of a cloud against its simulator.
func TestPresetAWS(t *testing.T)       { testPreset(t, aws.ProviderName) }
func TestPresetGCE(t *testing.T)       { testPreset(t, gce.ProviderName) }
func TestPresetOpenStack(t *testing.T) { testPreset(t, openstack.ProviderName) }
func TestPresetVSphere(t *testing.T)   { testPreset(t, vsphere.ProviderName) }

func testPreset(t *testing.T, provider string) {
	c := newCluster(t, provider, 2)
	c.install()
	c.startPodNetworks()
	c.checkContainers()
	c.createWeb("web")
	c.step("deleting the Service, and the release")
	_, err := c.kubectl("delete", "service", "web")
	c.must(err)
	if left := c.cloud.World.LoadBalancers(); len(left) > 0 {
		t.Errorf("the cloud still has load balancers: %+v", left)
	}
	c.checkRestarts(managerPods)
	_, err = c.helm("uninstall", release, "--wait")
	c.must(err)
	c.await("the end of the manager's pods", func(ctx context.Context) error { return c.countPods(ctx, 0) })
}

// createWeb creates a Service and waits until its load balancer has both nodes as members. It returns the address.
func (c *cluster) createWeb(name string) (address string) {
	c.t.Helper()
	c.step("creating Service %s", name)
	services := c.plane.client.CoreV1().Services("default")
	_, err := services.Create(c.t.Context(), &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: lab.ServiceAnnotations(c.provider)},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"},
			Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{})
	c.must(err)
	c.await("the load balancer of "+name, func(ctx context.Context) (err error) {
		address, err = c.addressOf(ctx, name)
		return err
	})
	c.awaitMembers(len(c.machines))
	return address
}

// addressOf returns the address or the host name of a Service's load balancer.
func (c *cluster) addressOf(ctx context.Context, name string) (string, error) {
	service, err := c.plane.client.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		return ingress.IP + ingress.Hostname, nil
	}
	return "", errors.New("it has no address")
}

// countPods returns an error unless the namespace of the managers has n pods.
func (c *cluster) countPods(ctx context.Context, n int) error {
	pods, err := c.listPods(ctx, system, "")
	if err == nil && len(pods) != n {
		err = fmt.Errorf("there are %d pods, want %d", len(pods), n)
	}
	return err
}

// checkRestarts checks that no container of the pods was restarted: a probe that fails for too long kills it.
func (c *cluster) checkRestarts(selector string) {
	c.t.Helper()
	for _, pod := range c.pods(system, selector) {
		for _, status := range pod.Status.ContainerStatuses {
			if status.RestartCount > 0 {
				c.t.Errorf("pod %s was restarted %d times: %+v", pod.Name, status.RestartCount, status.LastTerminationState)
			}
		}
	}
}

// TestMoveAWS and TestMoveOpenStack replace the DaemonSet of a cloud's own chart by the Deployment of this chart, and
// roll back. The pods of both run ccm, under the arguments, accounts and security contexts of their charts.
func TestMoveAWS(t *testing.T)       { testMove(t, aws.ProviderName, "aws-cloud-controller-manager") }
func TestMoveOpenStack(t *testing.T) { testMove(t, openstack.ProviderName, "openstack-ccm") }

func testMove(t *testing.T, provider, name string) {
	c := newCluster(t, provider, 2)
	m := move{cluster: c, release: name, daemonSet: provider + "-cloud-controller-manager"}
	// Unlike this chart, those do not tolerate nodes that are not ready.
	c.startPodNetworks()
	m.installTheirs()
	c.awaitInitialized()
	addresses := map[string]string{"before": c.createWeb("before")}

	m.upgrade()
	m.checkAddresses(addresses)
	addresses["ours"] = c.createWeb("ours")

	c.step("rolling back to the cloud's own chart")
	_, err := c.helm("rollback", name, "1", "--wait", "--timeout=3m")
	c.must(err)
	m.awaitDaemonSet()
	m.checkAddresses(addresses)
	addresses["after"] = c.createWeb("after")
	m.checkAddresses(addresses)
}

// move is a release of a cloud's own chart that is upgraded.
type move struct {
	*cluster
	release, daemonSet string
}

// installTheirs installs the cloud's own chart.
func (m move) installTheirs() {
	m.t.Helper()
	m.step("installing the cloud's own chart")
	values := m.awsValues
	if m.provider == openstack.ProviderName {
		values = m.openStackValues
	} else {
		_, err := m.kubectl("-n", system, "create", "secret", "generic", "aws-cloud-config",
			"--from-literal=cloud.conf="+m.cloud.Config)
		m.must(err)
	}
	m.must(os.WriteFile(m.plane.file("theirs.yaml"), []byte(values()), 0o600))
	// The account of that chart has no permission to read the UID of the cluster; ccm needs it.
	_, err := m.kubectl("create", "clusterrole", "cluster-uid", "--verb=get", "--resource=namespaces",
		"--resource-name="+system)
	m.must(err)
	_, err = m.kubectl("create", "clusterrolebinding", "cluster-uid", "--clusterrole=cluster-uid",
		"--serviceaccount="+system+":cloud-controller-manager")
	m.must(err)
	theirs := filepath.Join(os.Getenv(folderVariable), m.provider+"-chart")
	_, err = m.helm(slices.Concat([]string{"install", m.release, theirs, "--values=" + m.plane.file("theirs.yaml"),
		"--wait", "--timeout=3m"}, m.environment("env"))...)
	m.must(err)
	m.awaitDaemonSet()
}

// awsValues are values of AWS' own chart.
func (m move) awsValues() string {
	return fmt.Sprintf(`image: {repository: %s, tag: %s}
args:
- --v=2
- --cloud-provider=aws
- --cloud-config=/etc/aws/cloud.conf
- --cluster-name=e2e
- --configure-cloud-routes=false
extraVolumes: [{name: cloud-config, secret: {secretName: aws-cloud-config}}]
extraVolumeMounts: [{name: cloud-config, mountPath: /etc/aws}]
`, imageRepository, version)
}

// openStackValues are values of OpenStack's own chart, in which each section of cloud.conf is a map.
func (m move) openStackValues() string {
	var out strings.Builder
	fmt.Fprintf(&out, "image: {repository: %s, tag: %s}\ncluster: {name: e2e}\n", imageRepository, version)
	out.WriteString("controllerExtraArgs: |-\n  - --cluster-cidr=" + podRange + "\ncloudConfig:\n")
	for line := range strings.Lines(m.cloud.Config) {
		line = strings.TrimSpace(line)
		if section, ok := strings.CutPrefix(line, "["); ok {
			fmt.Fprintf(&out, "  %s%s:\n", strings.ToLower(section[:1]), strings.TrimSuffix(section[1:], "]"))
		} else if key, value, ok := strings.Cut(line, " = "); ok {
			fmt.Fprintf(&out, "    %s: %q\n", key, value)
		}
	}
	return out.String()
}

// awaitDaemonSet waits until each node has a ready pod of the cloud's own chart, and no other manager's pod.
func (m move) awaitDaemonSet() {
	m.t.Helper()
	m.await("the pods of the cloud's own chart", func(ctx context.Context) error {
		set, err := m.plane.client.AppsV1().DaemonSets(system).Get(ctx, m.daemonSet, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if set.Status.NumberReady != int32(len(m.machines)) || set.Status.UpdatedNumberScheduled != set.Status.NumberReady {
			return fmt.Errorf("status %+v", set.Status)
		}
		return m.countPods(ctx, len(m.machines))
	})
}

// upgrade upgrades the release to this chart, with the values that ccm chart-values writes.
func (m move) upgrade() {
	m.t.Helper()
	m.step("upgrading the release to this chart")
	if m.provider == openstack.ProviderName {
		_, err := m.kubectl("-n", system, "annotate", "secret", "cloud-config", "helm.sh/resource-policy=keep")
		m.must(err)
	}
	values, err := m.helm("get", "values", m.release, "-o", "yaml")
	m.must(err, os.WriteFile(m.plane.file("moved.yaml"), []byte(values), 0o600))
	_, err = run(m.t.Context(), "sh", "-c", fmt.Sprintf("%s chart-values -f %s >%s", program("ccm"),
		m.plane.file("moved.yaml"), m.plane.file("ours.yaml")))
	m.must(err)
	_, err = m.helm("upgrade", m.release, chart(), "--values="+m.plane.file("ours.yaml"), "--set=image.tag="+version,
		"--wait", "--timeout=3m")
	m.must(err)
	ours := "app.kubernetes.io/instance=" + m.release
	m.awaitReady(system, ours, 2)
	m.await("the end of the other chart's pods", func(ctx context.Context) error {
		_, err := m.plane.client.AppsV1().DaemonSets(system).Get(ctx, m.daemonSet, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(err, errors.New("the DaemonSet exists"))
		}
		return m.countPods(ctx, 2)
	})
	m.checkRestarts(ours)
}

// checkAddresses checks that load balancers have kept their addresses.
func (m move) checkAddresses(want map[string]string) {
	m.t.Helper()
	for name, address := range want {
		if now, err := m.addressOf(m.t.Context(), name); err != nil || now != address {
			m.t.Errorf("the load balancer of %s is %q (%v), was %s", name, now, err, address)
		}
	}
}
