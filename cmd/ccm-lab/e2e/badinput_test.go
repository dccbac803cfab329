package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	fakesim "github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// TestBadInput has what only a real API server or a real cloud can answer. Everything else that
// users get wrong (provider, configuration, flags, files) is tested on the process in cmd/ccm.
// Each ends in one line on stderr that names the fix, and nothing else.
func TestBadInput(t *testing.T) {
	t.Parallel()
	c := newCluster(t, setup{})
	guarded := c.guardedCloud("right")
	rightToken := c.write("right.conf", "[Global]\nendpoint = "+guarded+"\ntoken = right\n")
	unknownUser := c.kubeconfig("unknown-user", func(r *rest.Config) { withToken(r, "unknown-hunter2") })
	otherAuthority := c.kubeconfig("no-authority", func(r *rest.Config) { r.CAData = nil })
	powerless := c.kubeconfig("powerless", func(r *rest.Config) { withToken(r, c.powerlessToken()) })
	daemon := []string{"--cloud-provider=fake", "--cluster-cidr=10.244.0.0/16", "--secure-port=0"}
	planAll := []string{"plan", "--cloud-provider=fake", "--all", "--configure-cloud-routes=false"}
	with := func(args []string, kubeconfig, config string) []string {
		return append([]string{}, append(args, "--kubeconfig="+kubeconfig, "--cloud-config="+config)...)
	}
	admin, cloud := c.plane.Kubeconfig, c.live.Options.CloudConfig

	for _, tc := range []struct {
		name string
		args []string
		code int
		want string // regular expression; "" for nothing on stderr
	}{
		{"the cloud takes the token", with(planAll, admin, rightToken), exitOK, ``},
		{"the API server does not know the user", with(daemon, unknownUser, cloud), exitEnvironment,
			`^ccm: API server https://\S+ rejects the credentials \(401 Unauthorized\): renew those in --kubeconfig=` + unknownUser + `$`},
		{"the API server's certificate is of an unknown authority", with(daemon, otherAuthority, cloud), exitEnvironment,
			`^ccm: API server https://\S+: the connection is not trusted: .*; check the certificate authority in --kubeconfig=` + otherAuthority + `$`},
		{"the user of a plan may read nothing", with(planAll, powerless, cloud), exitEnvironment,
			`^ccm: the cluster's UID cannot be read.*forbidden`},
		{"plan of a Service that is not there", with([]string{"plan", "--cloud-provider=fake", "--service=default/nowhere"}, admin, cloud), exitEnvironment,
			`^ccm: --service=default/nowhere: the cluster has no such Service$`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stdout, stderr, code := ccm(t, tc.args...)
			if code != tc.code {
				t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, tc.code, stdout, stderr)
			}
			if !regexp.MustCompile(tc.want).MatchString(strings.TrimSuffix(stderr, "\n")) || strings.Count(stderr, "\n") > 1 || (tc.want == "") != (stderr == "") {
				t.Errorf("stderr is\n  %s\nwant one line\n  %s", stderr, tc.want)
			}
			if strings.Contains(stdout+stderr, "hunter2") {
				t.Error("a secret is printed")
			}
		})
	}
}

// guardedCloud serves a fake cloud that demands a token, and returns its URL.
func (c *cluster) guardedCloud(token string) string {
	c.t.Helper()
	cloud, err := fakesim.New(fakesim.Options{Token: token})
	c.must(err)
	server := httptest.NewServer(cloud.Front())
	c.t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return server.URL
}

// kubeconfig writes the administrator's kubeconfig with a change.
func (c *cluster) kubeconfig(name string, change func(*rest.Config)) string {
	c.t.Helper()
	r := rest.CopyConfig(c.plane.Config)
	change(r)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: r.Host, CertificateAuthorityData: r.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: r.BearerToken, ClientCertificateData: r.CertData, ClientKeyData: r.KeyData}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	content, err := clientcmd.Write(*config)
	c.must(err)
	return c.write(name, string(content))
}

func withToken(r *rest.Config, token string) {
	r.CertData, r.KeyData, r.BearerToken = nil, nil, token
}

// powerlessToken is that of an account that exists and has no rights.
func (c *cluster) powerlessToken() string {
	c.t.Helper()
	accounts := c.plane.Client.CoreV1().ServiceAccounts(namespace)
	account, err := accounts.Create(c.t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{GenerateName: "powerless-"}}, metav1.CreateOptions{})
	c.must(err)
	request, err := accounts.CreateToken(c.t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	c.must(err)
	return request.Status.Token
}

// TestAPIServerGoesAway: a manager that loses its API server at work cannot go on as the leader. It
// ends by itself, without a stack trace, and a new one goes on where it stopped.
func TestAPIServerGoesAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t, setup{noRoutes: true, flags: []string{
		"--leader-elect=true", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms",
	}})
	server, err := url.Parse(c.plane.Config.Host)
	c.must(err)
	line := c.tunnel(server.Host)
	admin := c.live.Options.Kubeconfig
	c.live.Options.Kubeconfig = c.kubeconfig("tunnel", func(r *rest.Config) { r.Host = "https://" + line.addr() })
	c.must(c.session.JoinN(t.Context(), 1))
	c.start()
	c.converge()
	line.cut()
	c.must(c.session.Put(t.Context(), service("web", 80)))
	manager := c.live.Manager()
	c.eventually("the end of the manager", func(context.Context) error {
		select {
		case <-manager.Done():
			return nil
		default:
			return errors.New("it is still there")
		}
	})
	if manager.Err() == nil {
		t.Error("the manager ended with exit code 0: its supervisor would not restart it")
	}
	log := strings.Join(lab.Tail(c.live.Options.Log, 1000), "\n")
	if strings.Contains(log, "goroutine ") || strings.Contains(log, "panic:") {
		t.Error("the manager's last words are a stack trace")
	}
	if !strings.Contains(log, "leaderelection lost") {
		t.Error("the manager does not say why it ended")
	}
	c.live.Options.Kubeconfig = admin
	c.must(c.live.Restart(t.Context(), conformance.ManagerOptions{}))
	c.converge()
}

// tunnel forwards connections until it is cut.
type tunnel struct {
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// tunnel starts one to a TCP address.
func (c *cluster) tunnel(target string) *tunnel {
	c.t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	c.must(err)
	t := &tunnel{listener: listener}
	t.ctx, t.cancel = context.WithCancel(c.t.Context())
	c.t.Cleanup(t.cut)
	t.done.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // It was cut.
			}
			t.done.Go(func() { t.forward(from, target) })
		}
	})
	return t
}

func (t *tunnel) addr() string { return t.listener.Addr().String() }

// cut breaks all connections and refuses new ones.
func (t *tunnel) cut() {
	t.cancel()
	_ = t.listener.Close() // Closed twice at most.
	t.done.Wait()
}

func (t *tunnel) forward(from net.Conn, target string) {
	var dialer net.Dialer
	to, err := dialer.DialContext(t.ctx, "tcp", target)
	if err != nil {
		_ = from.Close()
		return
	}
	hangUp := func() { _ = errors.Join(from.Close(), to.Close()) }
	stop := context.AfterFunc(t.ctx, hangUp)
	defer stop()
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // It ends when either side hangs up.
			hangUp()
		})
	}
	both.Wait()
}
