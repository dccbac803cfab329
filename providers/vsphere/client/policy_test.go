package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// manager is an NSX-T manager that accepts one value of the header Authorization.
type manager struct {
	mu       sync.Mutex
	accepted string
	// seen are the values of all requests, in order.
	seen []string
}

func (m *manager) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	have := r.Header.Get("Authorization")
	m.seen = append(m.seen, have)
	status, body := http.StatusOK, `{"results": []}`
	if have != m.accepted {
		status, body = http.StatusForbidden, `{"error_code": 403, "error_message": "The credentials were incorrect"}`
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// accept changes the accepted credentials, and forgets earlier requests.
func (m *manager) accept(authorization string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accepted, m.seen = authorization, nil
}

const (
	// The header for the user u with the passwords p1 and p2.
	first  = "Basic dTpwMQ=="
	second = "Basic dTpwMg=="
)

func nsxSecret(password string) *v1.Secret {
	return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nsx"},
		Data: map[string][]byte{"username": []byte("u\n"), "password": []byte(password + "\n")}}
}

// newPolicy returns a client for a manager, with Secrets of a cluster.
func newPolicy(t *testing.T, nsx config.NSX, m *manager, secrets *Secrets) *Policy {
	t.Helper()
	nsx.Host = "nsx.test"
	p, err := NewPolicy(PolicyOptions{NSX: nsx, Transport: m, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRotatedSecretOfNSXTIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, secrets, m := fake.NewClientset(nsxSecret("p1")), &Secrets{}, &manager{accepted: first}
		p := newPolicy(t, config.NSX{Secret: config.SecretRef{Namespace: "ns", Name: "nsx"}}, m, secrets)
		if err := p.Check(t.Context()); err == nil || len(m.seen) > 0 {
			t.Errorf("before the cluster is known: error %v, requests %v", err, m.seen)
		}
		secrets.SetClient(cluster)
		reads := func() (n int) {
			for _, action := range cluster.Actions() {
				if action.GetVerb() == "get" {
					n++
				}
			}
			cluster.ClearActions()
			return n
		}
		for range 3 {
			if err := p.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := reads(); n != 1 || !slices.Equal(m.seen, []string{first, first, first}) {
			t.Errorf("%d reads of the Secret, requests %v", n, m.seen)
		}
		// The password is changed in NSX-T first, and in the Secret later.
		m.accept(second)
		if err := p.Check(t.Context()); !cloudapi.Is(err, cloudapi.Denied) || strings.Contains(err.Error(), "p1") {
			t.Errorf("the previous password: error %v", err)
		}
		if n := reads(); n != 1 || !slices.Equal(m.seen, []string{first}) {
			t.Errorf("%d reads of an unchanged Secret, requests %v", n, m.seen)
		}
		if _, err := cluster.CoreV1().Secrets("ns").Update(t.Context(), nsxSecret("p2"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		m.accept(second)
		for range 2 {
			if err := p.Check(t.Context()); err != nil {
				t.Errorf("the next password: %v", err)
			}
		}
		if !slices.Equal(m.seen, []string{second, second}) {
			t.Errorf("requests %v", m.seen)
		}
	})
}

// NSX-T locks an account after 5 failed attempts within 15 minutes, and each further one makes that longer.
func TestRejectedPasswordDoesNotLockTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{accepted: second}
		p := newPolicy(t, config.NSX{User: "u", Password: "p1"}, m, &Secrets{})
		start := time.Now()
		var attempts []time.Duration
		for time.Since(start) < 3*time.Hour {
			before := len(m.seen)
			if err := p.Check(t.Context()); !cloudapi.Is(err, cloudapi.Denied) {
				t.Fatalf("error %v", err)
			}
			if len(m.seen) > before {
				attempts = append(attempts, time.Since(start))
			}
			time.Sleep(10 * time.Second)
		}
		for i := range attempts {
			if i >= 4 && attempts[i]-attempts[i-4] < 15*time.Minute {
				t.Errorf("5 attempts within 15 minutes: %v", attempts[i-4:i+1])
			}
		}
		if len(attempts) < 10 {
			t.Errorf("%d attempts in 3 hours: a repaired account is not noticed", len(attempts))
		}
		m.accept(first)
		time.Sleep(15 * time.Minute)
		if err := p.Check(t.Context()); err != nil {
			t.Errorf("a repaired account: %v", err)
		}
	})
}

// An account without permission for some objects may read others.
func TestMissingPermissionDoesNotStopOtherCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		p, err := NewPolicy(PolicyOptions{NSX: config.NSX{Host: "nsx.test", User: "u", Password: "p1"},
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				requests++
				status, body := http.StatusOK, `{"results": []}`
				if strings.Contains(r.URL.Path, "lb-app-profiles") {
					status, body = http.StatusForbidden, `{"error_code": 401, "error_message": "User is not authorized"}`
				}
				return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(t.Context()); !cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("error %v", err)
		}
		if _, err := p.List(t.Context(), "/infra/lb-pools"); err != nil || requests != 2 {
			t.Errorf("%d requests, error %v", requests, err)
		}
	})
}

func TestSecretOfNSXTWithoutPasswordIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets, m := &Secrets{}, &manager{accepted: first}
		secrets.SetClient(fake.NewClientset(nsxSecret("")))
		p := newPolicy(t, config.NSX{Secret: config.SecretRef{Namespace: "ns", Name: "nsx"}}, m, secrets)
		const want = "secret ns/nsx: there is no username and password"
		if err := p.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAuthorizationOfNSXT(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nsx  config.NSX
		want string
	}{
		"local user":  {config.NSX{User: "u", Password: "p1"}, first},
		"remote-auth": {config.NSX{User: "u", Password: "p1", RemoteAuth: true}, "Remote dTpwMQ=="},
		"certificate": {config.NSX{}, ""},
	} {
		m := &manager{accepted: tc.want}
		if err := newPolicy(t, tc.nsx, m, &Secrets{}).Check(t.Context()); err != nil {
			t.Errorf("%s: %v, requests %q", name, err, m.seen)
		}
	}
}

// tokenHost issues access tokens of VMware Cloud after it has answered with other statuses, and accepts them.
type tokenHost struct{ statuses []int }

func (h *tokenHost) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, `{"results": []}`
	if r.URL.Host == "vmc.test" {
		body = `{"access_token": "token", "expires_in": 1799}`
		if len(h.statuses) > 0 {
			status, body, h.statuses = h.statuses[0], "", h.statuses[1:]
		}
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func TestOnlyRejectedRefreshTokensAreDenied(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   cloudapi.Class
	}{
		{http.StatusServiceUnavailable, ""}, {http.StatusTooManyRequests, ""},
		{http.StatusBadRequest, cloudapi.Denied}, {http.StatusUnauthorized, cloudapi.Denied},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, err := NewPolicy(PolicyOptions{
				NSX:       config.NSX{Host: "nsx.test", VMCToken: "refresh", VMCAuthHost: "vmc.test"},
				Transport: &tokenHost{statuses: []int{tt.status}},
			})
			if err != nil {
				t.Fatal(err)
			}
			err = p.Check(t.Context())
			if tt.want == "" && err != nil || tt.want != "" && !cloudapi.Is(err, tt.want) {
				t.Errorf("status %d: %v, want class %q", tt.status, err, tt.want)
			}
		})
	}
}

// certificate writes a certificate that signs itself, with its key, and returns the names of the files.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "principal"},
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "CERTIFICATE", cert), writePEM(t, "PRIVATE KEY", private)
}

func writePEM(t *testing.T, kind string, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTLSOfNSXT(t *testing.T) {
	t.Parallel()
	certFile, keyFile := certificate(t)
	clients := make(chan int, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clients <- len(r.TLS.PeerCertificates)
		fmt.Fprint(w, `{"results": []}`)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "https://")
	ca := writePEM(t, "CERTIFICATE", server.Certificate().Raw)
	for name, tc := range map[string]struct {
		nsx config.NSX
		// err is the expected error; certificates is the number of those that the server gets without one.
		err          string
		certificates int
	}{
		"unknown authority":     {nsx: config.NSX{}, err: "certificate"},
		"ca-file":               {nsx: config.NSX{CAFile: ca}},
		"ca-file is missing":    {nsx: config.NSX{CAFile: "/none"}, err: "ca-file of [NSXT]: open /none"},
		"ca-file is no PEM":     {nsx: config.NSX{CAFile: writePEM(t, "KEY", nil)}, err: "has no certificate in PEM format"},
		"insecure-flag":         {nsx: config.NSX{Insecure: true}},
		"client certificate":    {nsx: config.NSX{CAFile: ca, CertFile: certFile, KeyFile: keyFile}, certificates: 1},
		"certificate and key":   {nsx: config.NSX{CertFile: keyFile, KeyFile: keyFile}, err: "client-auth-cert-file and"},
		"insecure, certificate": {nsx: config.NSX{Insecure: true, CertFile: certFile, KeyFile: keyFile}, certificates: 1},
	} {
		t.Run(name, func(t *testing.T) {
			tc.nsx.Host = host
			p, err := NewPolicy(PolicyOptions{NSX: tc.nsx, Retry: cloudapi.Retry{Attempts: 1}})
			if err == nil {
				err = p.Check(t.Context())
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := <-clients; n != tc.certificates {
				t.Errorf("%d certificates, want %d", n, tc.certificates)
			}
		})
	}
}

// pools is an NSX-T manager with a collection of equal objects.
type pools struct {
	count, length int
	requests      []string
}

func (m *pools) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	m.requests = append(m.requests, r.URL.RawQuery)
	size, start := 1000, 0
	if text := query.Get("page_size"); text != "" {
		size, _ = strconv.Atoi(text)
	}
	if text := query.Get("cursor"); text != "" {
		start, _ = strconv.Atoi(text)
	}
	end := min(start+size, m.count)
	one := `{"id": "` + strings.Repeat("x", m.length) + `"}`
	body := `{"results": [` + strings.Join(slices.Repeat([]string{one}, end-start), ",") + `]`
	if end < m.count {
		body += fmt.Sprintf(`, "cursor": "%d"`, end)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body + "}")), Request: r}, nil
}

func TestListShrinksPagesThatAreTooLong(t *testing.T) {
	for name, tc := range map[string]struct {
		count, length int
		fails         bool
		first, next   int // requests of the first and of the next list
	}{
		"one page":                   {count: 1000, length: 10, first: 1, next: 1},
		"two pages":                  {count: 1001, length: 10, first: 2, next: 2},
		"pages of 250":               {count: 1000, length: 200, first: 1 + 4, next: 4},
		"pages of 15":                {count: 100, length: 4000, first: 3 + 7, next: 7},
		"an object that is too long": {count: 1, length: 100_000, fails: true, first: 6, next: 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := &pools{count: tc.count, length: tc.length}
			p, err := NewPolicy(PolicyOptions{NSX: config.NSX{Host: "nsx.test", User: "u", Password: "p"}, Transport: m})
			if err != nil {
				t.Fatal(err)
			}
			p.responseLimit = 70_000
			for i, want := range []int{tc.first, tc.next} {
				m.requests = nil
				all, err := p.List(t.Context(), "/infra/lb-pools")
				if tc.fails != errors.Is(err, errTooLong) || !tc.fails && (err != nil || len(all) != tc.count) {
					t.Errorf("list %d: %d objects, %v", i+1, len(all), err)
				}
				if len(m.requests) != want {
					t.Errorf("list %d: requests %q, want %d", i+1, m.requests, want)
				}
			}
		})
	}
}

// A revision or a reference that is stale, and an ID that cannot be used yet, are conflicts, whatever their status: the
// Service is not wrong.
func TestConflictsOfNSXT(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status, code int
		want         cloudapi.Class
	}{
		{400, 500030, cloudapi.Conflict}, {400, 500045, cloudapi.Conflict}, {400, 500087, cloudapi.Conflict},
		{400, 500232, cloudapi.Conflict}, {400, 100148, cloudapi.Conflict}, {400, 255, cloudapi.Invalid},
		{404, 500090, cloudapi.Conflict}, {404, 600, cloudapi.NotFound}, {412, 604, cloudapi.Conflict},
	} {
		body := fmt.Sprintf(`{"error_code": %d, "error_message": "refused"}`, tc.code)
		err := policyError("PUT lb-pools", tc.status, []byte(body))
		if !cloudapi.Is(err, tc.want) || errors.Is(err, api.ErrMarkedForDeletion) != (tc.code == 500045) {
			t.Errorf("%d: %v", tc.code, err)
		}
	}
}
