package ccmapp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

const (
	// apiServerWait is the time that an API server has to answer at start: it may be starting at the same time.
	// After it the process exits, and its supervisor restarts it.
	apiServerWait = 10 * time.Second
	// apiServerPause is the time between two attempts.
	apiServerPause = time.Second
	// apiServerTimeout bounds one attempt, for addresses that drop packets.
	apiServerTimeout = 3 * time.Second
)

// errNoCluster reports that neither a kubeconfig nor a pod's service account is available.
var errNoCluster = errors.New("no cluster")

// restConfig returns how to reach the API server, by the framework's rules: --kubeconfig and
// --master, or else the service account of the pod.
func (s source) restConfig() (*rest.Config, error) {
	if s.kubeconfig == "" && s.master == "" {
		// Not through clientcmd, which logs before it tries the service account.
		config, err := rest.InClusterConfig()
		if err == nil {
			return config, nil
		}
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.Join(noKubeconfig(), errNoCluster)
		}
		return nil, cli.EnvironmentErrorf("this pod has no usable service account (%s): set automountServiceAccountToken: "+
			"true, or give --%s=FILE", cli.Cause(err), flagKubeconfig)
	}
	if s.kubeconfig != "" {
		if _, err := os.Stat(s.kubeconfig); err != nil {
			return nil, cli.EnvironmentErrorf("--%s=%s: %s; check the path", flagKubeconfig, s.kubeconfig, cli.Cause(err))
		}
	}
	config, err := clientcmd.BuildConfigFromFlags(s.master, s.kubeconfig)
	if err != nil {
		return nil, cli.EnvironmentErrorf("--%s=%s: this is not a kubeconfig of a cluster: %s", flagKubeconfig, s.kubeconfig,
			kubeconfigCause(err))
	}
	return config, nil
}

// kubeconfigCause removes what a decoder reports about Go types.
func kubeconfigCause(err error) string {
	text, _, _ := strings.Cut(cloudapi.OneLine(err), "; json parse error")
	return text
}

func noKubeconfig() error {
	unused := ""
	if env := os.Getenv("KUBECONFIG"); env != "" {
		unused = fmt.Sprintf(" (the KUBECONFIG variable is not used: --%s=%s)", flagKubeconfig, env)
	}
	return cli.EnvironmentErrorf("no Kubernetes API server is named, and this is not a pod of a cluster: give --%s=FILE%s",
		flagKubeconfig, unused)
}

// apiServer waits for an API server to answer.
type apiServer struct {
	clock clock.Clock
	wait  time.Duration
	pause time.Duration
}

// reach returns the API server's version once it has returned a response that shows it works; "" if this account may
// not read the version. Permanent failures (certificates, rejected credentials) end the attempts.
func (a apiServer) reach(ctx context.Context, config *rest.Config, s source) (string, error) {
	config = rest.CopyConfig(config)
	config.Timeout = apiServerTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", cli.EnvironmentErrorf("API server %s: %s; check %s", config.Host, err, s.origin())
	}
	start := a.clock.Now()
	for {
		response, err := client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		switch {
		case err == nil:
			return versionOf(response), nil
		case apierrors.IsForbidden(err):
			return "", nil
		case apierrors.IsUnauthorized(err):
			return "", cli.EnvironmentErrorf("API server %s rejects the credentials (401 Unauthorized): renew those in %s",
				config.Host, s.origin())
		case untrusted(err):
			return "", cli.EnvironmentErrorf("API server %s: the connection is not trusted: %s; check the certificate "+
				"authority in %s", config.Host, urlCause(err), s.origin())
		case a.clock.Since(start) >= a.wait:
			return "", cli.EnvironmentErrorf("API server %s does not answer (tried for %s): %s; check that it runs, and its "+
				"address in %s",
				config.Host, a.wait, urlCause(err), s.origin())
		}
		select {
		case <-ctx.Done():
			return "", cli.EnvironmentErrorf("stopped while waiting for API server %s: %s", config.Host, urlCause(err))
		case <-a.clock.After(a.pause):
		}
	}
}

// origin describes the source of the address and the credentials.
func (s source) origin() string {
	switch {
	case s.kubeconfig != "":
		return "--" + flagKubeconfig + "=" + s.kubeconfig
	case s.master != "":
		return "--" + flagMaster
	default:
		return "the pod's service account"
	}
}

// untrusted reports whether TLS failed for a permanent reason.
func untrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host)
}

// urlCause returns the message without the method and URL that net/http puts in front.
func urlCause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
