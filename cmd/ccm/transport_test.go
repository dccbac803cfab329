//go:build !exclude_aws && !exclude_fake && !exclude_openstack && !exclude_vsphere

package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// cloudConfigs are configurations with credentials, by provider. ENDPOINT is the URL of the cloud, HOST its host and port.
var cloudConfigs = map[string]string{
	"fake":      credentials["fake"]["token"],
	"aws":       credentials["aws"]["environment"],
	"openstack": credentials["openstack"]["password"],
	"vsphere":   "[Global]\nuser = u\npassword = SECRET\ninsecure-flag = INSECURE\n[VirtualCenter \"HOST\"]\ndatacenters = dc\nport = PORT\n",
}

// checkCloud checks the credentials of a provider at a server, and returns the error.
func checkCloud(t *testing.T, name, endpoint, insecure string) error {
	t.Helper()
	_, address, _ := strings.Cut(endpoint, "://")
	host, port, _ := strings.Cut(address, ":")
	conf := write(t, "cloud.conf", strings.NewReplacer("ENDPOINT", endpoint, "HOST", host, "PORT", port, "SECRET", planted,
		"INSECURE", insecure).Replace(cloudConfigs[name]))
	cloud, err := cloudprovider.InitCloudProvider(name, conf)
	if err != nil {
		t.Fatal(err)
	}
	checker, ok := cloud.(provider.Checker)
	if !ok {
		t.Fatalf("%s has no check of its credentials", name)
	}
	return checker.Check(t.Context())
}

func setCredentials(t *testing.T) {
	t.Helper()
	for name, value := range secretEnvironment {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
}

// TestRedirectsAreNotFollowed: a redirect of a cloud's API would send the credentials to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	setCredentials(t)
	for _, name := range provider.Names() {
		t.Run(name, func(t *testing.T) {
			start := httptest.NewServer
			if name == "vsphere" { // Its clients speak TLS only.
				start = httptest.NewTLSServer
			}
			var requests, stolen atomic.Int32
			other := start(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
			defer other.Close()
			cloud := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				// 307 repeats the method and the body.
				http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
			}))
			defer cloud.Close()
			if err := checkCloud(t, name, cloud.URL, "true"); err == nil {
				t.Error("a redirect counts as accepted credentials")
			}
			if requests.Load() == 0 {
				t.Fatal("the cloud got no request")
			}
			if n := stolen.Load(); n > 0 {
				t.Errorf("the host of the redirect got %d requests", n)
			}
		})
	}
}

// TestCertificatesAreVerified: a server with a certificate of an unknown authority gets no request.
func TestCertificatesAreVerified(t *testing.T) {
	setCredentials(t)
	for _, name := range provider.Names() {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			cloud := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
			var handshakes atomic.Int32
			cloud.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					handshakes.Add(1)
				}
			}
			cloud.Config.ErrorLog = log.New(io.Discard, "", 0)
			cloud.StartTLS()
			defer cloud.Close()
			if err := checkCloud(t, name, cloud.URL, "false"); err == nil {
				t.Error("the certificate of an unknown authority is accepted")
			}
			if handshakes.Load() == 0 {
				t.Fatal("there was no connection")
			}
			if n := requests.Load(); n > 0 {
				t.Errorf("an unverified server got %d requests", n)
			}
		})
	}
}
