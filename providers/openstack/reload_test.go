package openstack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// A renewed certificate authority is trusted without a restart.
func TestCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	w, url, certificate, _ := overTLS(t, false)
	valid, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	write := func(content []byte) {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(foreignAuthority(t))
	a, c := w.Account(), testingclock.NewFakeClock(time.Now())
	g := readConfig(t, fmt.Sprintf("[Global]\nauth-url = %s/identity/v3\nuser-id = %s\npassword = %s\ntenant-id = "+
		"%s\nca-file = %s\n", url, a.UserID, a.Password, a.ProjectID, file)).Global
	calls := client.New(client.Options{Global: g, Clock: c, Retry: cloudapi.Retry{Attempts: 1}})
	if err := calls.Check(t.Context()); err == nil {
		t.Fatal("a certificate of an unknown authority was trusted")
	}
	write(valid)
	c.Step(10 * time.Second)
	if err := calls.Check(t.Context()); err != nil {
		t.Errorf("with the right authority in the file: %v", err)
	}
}

// foreignAuthority returns a certificate in PEM format that has signed no other.
func foreignAuthority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "foreign"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// A token that expires between two steps of a plan is replaced, and the plan continues: no object is created
// twice, and the Service gets no Event.
func TestTokenExpiresDuringApply(t *testing.T) {
	t.Parallel()
	for calls := range 8 {
		after := calls + 1
		synctest.Test(t, func(t *testing.T) {
			w := simtest.New(t, sim.Options{ProvisionTime: 2 * time.Second})
			m := &madeBalancer{t: t, world: w, places: w.Places()}
			m.cloud = cloudOn(t, w, fmt.Sprintf("[LoadBalancer]\nsubnet-id = %s\nfloating-network-id = "+
				"%s\nmanage-security-groups = true\n", m.places.PrivateSubnet, m.places.PublicNetwork))
			m.api = api.New(m.cloud.client)
			m.cloud.SetRuntime(provider.Runtime{Recorder: record.NewFakeRecorder(1000), ClusterUID: clusterUID})
			m.nodes = []*v1.Node{m.node("node-0"), m.node("node-1")}
			w.Front().Log().Reset()
			w.EndTokensAfter(after)
			if _, err := m.ensure(webService()); err != nil {
				t.Errorf("the token ends after %d calls: %v", after, err)
			}
			if got := m.calls("CreateToken"); got != 1 {
				t.Errorf("the token ends after %d calls: %d new ones, want 1", after, got)
			}
			if m.balancer(); len(m.floatingIPs()) != 1 {
				t.Errorf("the token ends after %d calls: %d floating IPs, want 1", after, len(m.floatingIPs()))
			}
		})
	}
}
