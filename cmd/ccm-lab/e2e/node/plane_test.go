package node

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// planeAddress is the address of the control plane and the cloud in the network of the tests.
	planeAddress = "100.64.0.1"
	apiServer    = "https://" + planeAddress + ":6443"
	serviceRange = "10.96.0.0/16"
	podRange     = "10.244.0.0/16"
)

// plane is a control plane: etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
type plane struct {
	dir       string
	client    kubernetes.Interface
	processes []*process
}

// admin is the path of a kubeconfig of an administrator.
func (p *plane) admin() string { return filepath.Join(p.dir, "admin.kubeconfig") }

func (p *plane) file(name string) string { return filepath.Join(p.dir, name) }

// startPlane starts a control plane and waits until the API server is ready.
func startPlane(ctx context.Context, dir string) (*plane, error) {
	p := &plane{dir: dir}
	if err := writeCertificate(p.file("cert.pem"), p.file("key.pem")); err != nil {
		return nil, err
	}
	tokens := "admin,admin,admin,system:masters\n" +
		"kcm,system:kube-controller-manager,kcm\nscheduler,system:kube-scheduler,scheduler\nproxy,system:kube-proxy,proxy\n"
	for i := range 9 {
		tokens += fmt.Sprintf("node-%d,system:node:node-%d,node-%d,system:nodes\n", i, i, i)
	}
	if err := os.WriteFile(p.file("tokens"), []byte(tokens), 0o600); err != nil {
		return nil, err
	}
	for _, token := range []string{"admin", "kcm", "scheduler"} {
		if err := p.writeKubeconfig(p.file(token+".kubeconfig"), token); err != nil {
			return nil, err
		}
	}
	if err := p.start("etcd", "--data-dir="+p.file("etcd"), "--unsafe-no-fsync", "--listen-peer-urls=http://127.0.0.1:0",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379"); err != nil {
		return nil, err
	}
	if err := p.startAPIServer(); err != nil {
		return p, err
	}
	if err := p.connect(ctx); err != nil {
		return p, err
	}
	if err := p.start("kube-controller-manager", "--kubeconfig="+p.file("kcm.kubeconfig"), "--leader-elect=false",
		"--secure-port=0", "--use-service-account-credentials", "--root-ca-file="+p.file("cert.pem"),
		"--service-account-private-key-file="+p.file("key.pem"), "--allocate-node-cidrs", "--cluster-cidr="+podRange,
		"--service-cluster-ip-range="+serviceRange, "--node-monitor-grace-period=12s",
		"--node-monitor-period=1s"); err != nil {
		return p, err
	}
	return p, p.start("kube-scheduler", "--kubeconfig="+p.file("scheduler.kubeconfig"), "--leader-elect=false",
		"--secure-port=0")
}

func (p *plane) startAPIServer() error {
	cert, key := p.file("cert.pem"), p.file("key.pem")
	return p.start("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--bind-address="+planeAddress, "--advertise-address="+planeAddress,
		"--secure-port=6443", "--tls-cert-file="+cert, "--tls-private-key-file="+key, "--client-ca-file="+cert,
		"--token-auth-file="+p.file("tokens"), "--kubelet-client-certificate="+cert, "--kubelet-client-key="+key,
		"--kubelet-preferred-address-types=InternalIP", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+cert, "--service-account-signing-key-file="+key,
		"--service-cluster-ip-range="+serviceRange, "--requestheader-client-ca-file="+cert,
		"--requestheader-allowed-names=front-proxy", "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-")
}

func (p *plane) start(name string, args ...string) error {
	started, err := startProcess(p.dir, name, append([]string{program(name)}, args...)...)
	if err == nil {
		p.processes = append(p.processes, started)
	}
	return err
}

func (p *plane) stop() {
	for _, process := range p.processes {
		process.kill()
	}
}

func (p *plane) writeKubeconfig(path, token string) error {
	return os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "%s", certificate-authority: "%s"}}]
users: [{name: u, user: {token: "%s"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, apiServer, p.file("cert.pem"), token), 0o600)
}

// connect waits until the API server is ready and has the system's objects.
func (p *plane) connect(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.admin())
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	return await(ctx, testTimeout, func(ctx context.Context) error {
		for _, process := range p.processes {
			if process.ended() {
				return fmt.Errorf("%s has ended:\n%s", process.name, process.tail(5))
			}
		}
		if _, err := p.client.CoreV1().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
			return err
		}
		_, err := p.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		return err
	})
}

// writeCertificate writes one key pair for everything: it serves, is the authority that clients and kubelets trust, is
// the API server's client certificate at kubelets, and signs tokens of accounts.
func writeCertificate(certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.ParseIP(planeAddress), net.ParseIP("10.96.0.1"), net.ParseIP("127.0.0.1")},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	var cert, secret strings.Builder
	if err := pem.Encode(&cert, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
		return err
	}
	if err := pem.Encode(&secret, &pem.Block{Type: "EC PRIVATE KEY", Bytes: private}); err != nil {
		return err
	}
	if err := os.WriteFile(certFile, []byte(cert.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(keyFile, []byte(secret.String()), 0o600)
}
