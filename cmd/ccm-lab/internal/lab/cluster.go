package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// ClusterOptions configure a cluster.
type ClusterOptions struct {
	// Provider is one of Providers, or several of them with commas.
	Provider string
	// Dir is an existing directory for logs, the kubeconfig and the data of all processes.
	Dir string
	// Cloud configures the simulated cloud.
	Cloud SimulatorOptions
	// Listen is the address of the simulated cloud; empty for a free port of the loopback.
	Listen string
	// CloudConfig returns the content of ccm's cloud.conf, given the cloud's URL and the simulator's
	// cloud.conf; nil uses the latter.
	CloudConfig func(endpoint, generated string) string
	// ManagerArgs are ccm's arguments in addition to paths and addresses.
	ManagerArgs []string
	// Step runs one step of the start and reports its progress; nil runs it silently.
	Step func(ctx context.Context, name string, do func(context.Context) error) error
}

// Cluster is a whole cluster: control plane, simulated cloud and ccm.
type Cluster struct {
	Plane *ControlPlane
	// Clouds are the clouds of the cluster, Cloud the first one.
	Clouds []*Cloud
	Cloud  *Cloud
	// ManagerOptions start every ccm of the cluster.
	ManagerOptions ManagerOptions

	manager *Manager
	// port is the secure port of manager.
	port int
}

// ClusterName is the --cluster-name of a lab's cluster.
const ClusterName = "lab"

// StartCluster starts the simulated cloud, the control plane and ccm. On an error, or when ctx ends, it stops all of
// them.
func StartCluster(ctx context.Context, b Binaries, o ClusterOptions) (_ *Cluster, err error) {
	step := o.Step
	if step == nil {
		step = func(ctx context.Context, _ string, do func(context.Context) error) error { return do(ctx) }
	}
	c := &Cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
	}()
	providers := strings.Split(o.Provider, ",")
	o.Cloud.SeveralClouds = len(providers) > 1
	for _, provider := range providers {
		err = step(ctx, o.Cloud.starting(provider), func(ctx context.Context) error {
			cloud, err := StartCloud(ctx, provider, cmp.Or(o.Listen, "127.0.0.1:0"), o.Cloud)
			if err == nil {
				c.Clouds = append(c.Clouds, cloud)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	c.Cloud = c.Clouds[0]
	err = step(ctx, "starting etcd and kube-apiserver", func(ctx context.Context) (err error) {
		c.Plane, err = StartControlPlane(ctx, b, o.Dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	config, err := c.writeConfigs(o)
	if err != nil {
		return nil, err
	}
	c.ManagerOptions = ManagerOptions{
		Binary: b.CCM, Provider: o.Provider, Kubeconfig: c.Plane.Kubeconfig, CloudConfig: config,
		ClusterName: ClusterName, Log: filepath.Join(o.Dir, "ccm.log"), Args: o.ManagerArgs,
	}
	err = step(ctx, "starting ccm", func(ctx context.Context) error { return c.StartManager(ctx) })
	if err != nil {
		return nil, err
	}
	return c, nil
}

// writeConfigs writes the configurations of all clouds, and returns the value of --cloud-config.
func (c *Cluster) writeConfigs(o ClusterOptions) (string, error) {
	var values []string
	for _, cloud := range c.Clouds {
		name, prefix := "cloud.conf", ""
		if len(c.Clouds) > 1 {
			name, prefix = cloud.Provider+".conf", cloud.Provider+"="
		}
		content := cloud.Config
		if o.CloudConfig != nil {
			content = o.CloudConfig(cloud.Endpoint, content)
		}
		path := filepath.Join(o.Dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", err
		}
		values = append(values, prefix+path)
	}
	return strings.Join(values, ","), nil
}

// StartManager starts ccm with additional arguments, and waits until it has made its first call to the cloud
// or reports healthy: another manager may make no call while the cluster is empty. Only one ccm runs at a
// time, so it needs no lease.
func (c *Cluster) StartManager(ctx context.Context, args ...string) error {
	port, err := FreePort(ctx)
	if err != nil {
		return err
	}
	o := c.ManagerOptions
	o.Args = append([]string{
		"--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
	}, o.Args...)
	o.Args = append(o.Args, args...)
	log := c.Cloud.World.Front().Log()
	before := log.Len()
	if c.manager, err = StartManager(o); err != nil {
		return err
	}
	c.port = port
	return c.manager.awaitStart(ctx, o, func() bool { return log.Len() > before || healthy(ctx, port) })
}

// Manager returns the running ccm process, or the last one; nil before StartManager.
func (c *Cluster) Manager() *Manager { return c.manager }

// Ended returns the reason why ccm exited, with the last line of its log; "" while it runs.
func (c *Cluster) Ended() string {
	if c.manager == nil {
		return ""
	}
	select {
	case <-c.manager.Done():
	default:
		return ""
	}
	return c.manager.ended(c.ManagerOptions, 1).Error()
}

// StopManager stops ccm, and waits until it has exited.
func (c *Cluster) StopManager(ctx context.Context) {
	if c.manager != nil {
		c.manager.Stop(ctx)
	}
}

// Stop stops everything, dependents first.
func (c *Cluster) Stop(ctx context.Context) error {
	c.StopManager(ctx)
	var errs []error
	if c.Plane != nil {
		errs = append(errs, c.Plane.Stop())
	}
	for _, cloud := range c.Clouds {
		errs = append(errs, cloud.Close())
	}
	return errors.Join(errs...)
}

// SyncedServices returns the number of syncs of the framework's service controller that have succeeded since the
// manager started: those that its work queue has ended, without those that it retries. Events do not have it: client-go
// drops Events while a thousand wait to be sent.
func (c *Cluster) SyncedServices(ctx context.Context) (int, error) {
	text, err := GetFromManager(ctx, c.port, "/metrics")
	if err != nil {
		return 0, fmt.Errorf("reading the metrics of ccm: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("parsing the metrics of ccm: %w", err)
	}
	const queue = "service"
	var ended, retried float64
	for _, metric := range families["workqueue_work_duration_seconds"].GetMetric() {
		if hasName(metric, queue) {
			ended += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	for _, metric := range families["workqueue_retries_total"].GetMetric() {
		if hasName(metric, queue) {
			retried += metric.GetCounter().GetValue()
		}
	}
	return int(ended - retried), nil
}

// The ports of FreePort. Those of connections begin at 32,768 on Linux, so that none of them takes the port before its
// server listens.
const firstPort, lastPort = 20_000, 32_000

// FreePort returns a TCP port of the loopback that was free when it was checked.
func FreePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	var err error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // no secret
		var listener net.Listener
		if listener, err = config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("finding a free port: %w", err)
}
