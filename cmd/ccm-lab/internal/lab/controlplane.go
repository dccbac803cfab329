package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// startTimeout has a margin: on a busy machine with two cores kube-apiserver takes 10 seconds.
	startTimeout = 90 * time.Second
	stopTimeout  = 10 * time.Second
	// serviceRange has room for the cluster IPs of all Services of a lab, of both families.
	serviceRange = "10.96.0.0/16,fd00:10:96::/112"
)

// ControlPlane is etcd and kube-apiserver, running on free ports of the loopback.
type ControlPlane struct {
	// Config and Kubeconfig (a file) have the rights of a cluster administrator.
	Config     *rest.Config
	Kubeconfig string
	Client     kubernetes.Interface

	plane *envtest.ControlPlane
	dir   string
}

// StartControlPlane starts both and waits until the API server is ready. Logs, the kubeconfig, certificates
// and etcd's data are written to dir, which must exist. The caller stops it.
func StartControlPlane(ctx context.Context, b Binaries, dir string) (*ControlPlane, error) {
	etcdData, certificates := filepath.Join(dir, "etcd"), filepath.Join(dir, "certificates")
	if err := errors.Join(os.MkdirAll(etcdData, 0o700), os.MkdirAll(certificates, 0o700)); err != nil {
		return nil, err
	}
	etcdLog, err := os.Create(filepath.Join(dir, "etcd.log"))
	if err != nil {
		return nil, err
	}
	serverLog, err := os.Create(filepath.Join(dir, "kube-apiserver.log"))
	if err != nil {
		return nil, errors.Join(err, etcdLog.Close())
	}
	c := &ControlPlane{dir: dir, plane: &envtest.ControlPlane{
		Etcd: &envtest.Etcd{
			Path: b.Etcd, Out: etcdLog, Err: etcdLog, StartTimeout: startTimeout, StopTimeout: stopTimeout,
			DataDir: etcdData,
		},
		APIServer: &envtest.APIServer{
			Path: b.APIServer, Out: serverLog, Err: serverLog, StartTimeout: startTimeout, StopTimeout: stopTimeout,
			CertDir: certificates,
		},
	}}
	c.plane.APIServer.Configure().Set("service-cluster-ip-range", serviceRange)
	started := make(chan error, 1)
	go func() { started <- c.plane.Start() }()
	select {
	case err = <-started:
	case <-ctx.Done():
		// Start cannot be cancelled: wait until it returns, and stop the processes.
		if err := <-started; err == nil {
			_ = c.Stop()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w (see %s and %s)", err, etcdLog.Name(), serverLog.Name())
	}
	return c, c.connect()
}

func (c *ControlPlane) connect() error {
	admin := envtest.User{Name: "lab", Groups: []string{"system:masters"}}
	user, err := c.plane.AddUser(admin, &rest.Config{QPS: 500, Burst: 1000})
	if err != nil {
		return errors.Join(err, c.Stop())
	}
	content, err := user.KubeConfig()
	if err == nil {
		c.Config, c.Kubeconfig = user.Config(), filepath.Join(c.dir, "kubeconfig")
		err = os.WriteFile(c.Kubeconfig, content, 0o600)
	}
	if err == nil {
		c.Client, err = kubernetes.NewForConfig(c.Config)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("connecting to the control plane: %w", err), c.Stop())
	}
	return nil
}

// Stop ends both processes. Their directory stays.
func (c *ControlPlane) Stop() error {
	err := c.plane.Stop()
	if err == nil || !c.accepts() {
		// envtest kills an API server that still waits for its clients' watches, and returns an error. The
		// processes have ended, so this counts as success.
		return nil
	}
	return fmt.Errorf("stopping the control plane: %w", err)
}

// accepts reports whether one of the processes still accepts connections a second after it was killed.
func (c *ControlPlane) accepts() bool {
	serving := c.plane.APIServer.SecureServing
	deadline := time.Now().Add(time.Second)
	for _, address := range []string{net.JoinHostPort(serving.Address, serving.Port), c.plane.Etcd.URL.Host} {
		target, err := net.ResolveTCPAddr("tcp", address)
		for err == nil {
			if time.Now().After(deadline) {
				return true
			}
			var conn *net.TCPConn
			if conn, err = net.DialTCP("tcp", nil, target); err == nil {
				_ = conn.Close()
			}
		}
	}
	return false
}
