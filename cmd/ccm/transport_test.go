//go:build !exclude_aws && !exclude_fake && !exclude_openstack && !exclude_vsphere

package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// cloudConfigs are configurations with credentials, by provider. ENDPOINT is the URL of the cloud, HOST its host and port.
var cloudConfigs = map[string]string{
	"fake": credentials["fake"]["token"],
	"aws":  credentials["aws"]["environment"],
	"gce": "[global]\nproject-id = p\nlocal-zone = r-a\nnetwork-name = n\napi-endpoint = ENDPOINT/compute/v1/\n" +
		"token-body = SECRET\n",
	"openstack": credentials["openstack"]["password"],
	"vsphere":   "[Global]\nuser = u\npassword = SECRET\ninsecure-flag = INSECURE\n[VirtualCenter \"HOST\"]\ndatacenters = dc\nport = PORT\n",
}

// checkCloud checks the credentials of a provider at a server, and returns the error. settings replace words of the
// configuration, in pairs.
func checkCloud(t *testing.T, name, endpoint string, settings ...string) error {
	t.Helper()
	_, address, _ := strings.Cut(endpoint, "://")
	host, port, _ := strings.Cut(address, ":")
	conf := write(t, "cloud.conf", strings.NewReplacer(append(settings, "ENDPOINT", endpoint, "HOST", host, "PORT", port,
		"SECRET", planted)...).Replace(cloudConfigs[name]))
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
	metadata := httptest.NewServer(http.HandlerFunc(metadataToken))
	t.Cleanup(metadata.Close)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(metadata.URL, "http://"))
}

// metadataToken is the metadata server of an instance of Compute Engine. It returns an access token.
func metadataToken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Metadata-Flavor", "Google")
	fmt.Fprintf(w, `{"access_token": %q, "expires_in": 3600, "token_type": "Bearer"}`, planted)
}

// TestRedirectsAreNotFollowed: a redirect of a cloud's API would send the credentials to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	setCredentials(t)
	for _, name := range provider.Names() {
		// 302 repeats the request without its body, 307 with it.
		for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
			t.Run(fmt.Sprint(name, "/", code), func(t *testing.T) { testRedirect(t, name, code) })
		}
	}
}

func testRedirect(t *testing.T, name string, code int) {
	start := httptest.NewServer
	if name == "vsphere" { // Its clients speak TLS only.
		start = httptest.NewTLSServer
	}
	var requests, stolen atomic.Int32
	other := start(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer other.Close()
	cloud := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/computeMetadata/") {
			metadataToken(w, r)
			return
		}
		requests.Add(1)
		http.Redirect(w, r, other.URL+r.URL.Path, code)
	}))
	defer cloud.Close()
	if err := checkCloud(t, name, cloud.URL, "INSECURE", "true"); err == nil {
		t.Error("a redirect counts as accepted credentials")
	}
	if requests.Load() == 0 {
		t.Fatal("the cloud got no request")
	}
	if n := stolen.Load(); n > 0 {
		t.Errorf("the host of the redirect got %d requests", n)
	}
}

// TestCertificatesAreVerified: a server with a certificate of an unknown authority gets no request.
func TestCertificatesAreVerified(t *testing.T) {
	setCredentials(t)
	authority := write(t, "ca.pem", newAuthority(t))
	for _, name := range provider.Names() {
		t.Run(name, func(t *testing.T) { testCertificate(t, name) })
	}
	for _, name := range []string{"openstack", "vsphere"} {
		t.Run(name+" with ca-file", func(t *testing.T) {
			testCertificate(t, name, "[Global]", "[Global]\nca-file = "+authority)
		})
	}
}

func testCertificate(t *testing.T, name string, settings ...string) {
	var requests, handshakes atomic.Int32
	cloud := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	cloud.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			handshakes.Add(1)
		}
	}
	cloud.Config.ErrorLog = log.New(io.Discard, "", 0)
	cloud.StartTLS()
	defer cloud.Close()
	if err := checkCloud(t, name, cloud.URL, append(settings, "INSECURE", "false")...); err == nil {
		t.Error("the certificate of an unknown authority is accepted")
	}
	if handshakes.Load() == 0 {
		t.Fatal("there was no connection")
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("an unverified server got %d requests", n)
	}
}

// newAuthority returns the certificate of an authority that signed no server's.
func newAuthority(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	content, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: content}))
}
