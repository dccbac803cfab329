package client

import (
	"crypto/sha1" //nolint:gosec // the format of thumbprints
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

func TestCredentialsAreReadAgainAtEachLogin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, secret := filepath.Join(dir, "vsphere.conf"), filepath.Join(dir, "secrets")
	write := func(name, content string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	conf := func(password string) string {
		return fmt.Sprintf("[VirtualCenter \"vc.test\"]\nuser = u\npassword = %s\n[Global]\nsecrets-directory = %s\n", password, secret)
	}
	write(file, conf("one"))
	write(filepath.Join(secret, "vc.test.username"), "stored\n")
	write(filepath.Join(secret, "vc.test.password"), "p1\n")
	cfg, _, err := config.ReadWith(file, []byte(conf("one")), nil)
	if err != nil {
		t.Fatal(err)
	}
	source := NewCredentials(cfg.VCenters[0], file, &Secrets{})
	expect := func(want ...string) {
		t.Helper()
		list, err := source(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, one := range list {
			have = append(have, one.User+":"+one.Password.Reveal())
		}
		if strings.Join(have, " ") != strings.Join(want, " ") {
			t.Errorf("%v, want %v", have, want)
		}
	}
	expect("u:one", "stored:p1")
	write(file, conf("two"))
	write(filepath.Join(secret, "vc.test.password"), "p2")
	expect("u:two", "stored:p2")
	write(file, "[broken")
	expect("u:one", "stored:p2")
}

func TestSecretHasNoLoginWithAnEmptyUser(t *testing.T) {
	t.Parallel()
	v := config.VCenter{Name: "vc.test", Server: "vc.test", Secret: config.SecretRef{Namespace: "ns", Name: "s"}}
	secrets := &Secrets{}
	source := NewCredentials(v, "", secrets)
	if list, err := source(t.Context()); err == nil {
		t.Errorf("without a cluster: %v", list)
	}
	cluster := fake.NewClientset(&v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"},
		Data:       map[string][]byte{"vc.test.username": []byte("u"), "vc.test.password": []byte("p\n"), "other.test.username": []byte("x")},
	})
	secrets.SetClient(cluster)
	list, err := source(t.Context())
	if err != nil || len(list) != 1 || list[0].User != "u" || list[0].Password.Reveal() != "p" {
		t.Errorf("%v, %v", list, err)
	}
	for _, action := range cluster.Actions() {
		if action.GetVerb() != "get" {
			t.Errorf("the Secret is read with the verb %s", action.GetVerb())
		}
	}
}

func TestParseCredentials(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keys   map[string]string
		server string
		want   config.Credentials
		err    string
	}{
		"address with colons": {
			keys:   map[string]string{"server_1": "fd00::1", "username_1": "u", "password_1": "p"},
			server: "fd00::1", want: config.Credentials{User: "u", Password: "p"},
		},
		"session manager": {
			keys:   map[string]string{"vc.vc-session-manager-url": "https://m", "vc.vc-session-manager-token": "t"},
			server: "vc", want: config.Credentials{SessionManagerURL: "https://m", SessionManagerToken: "t"},
		},
		"another server": {keys: map[string]string{"x.username": "u", "x.password": "p"}, server: "vc", err: "there is no vc.username"},
		"half":           {keys: map[string]string{"vc.username": "u"}, server: "vc", err: "vc.password"},
	} {
		have, err := ParseCredentials(tc.keys, tc.server)
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) || tc.err == "" && (err != nil || have != tc.want) {
			t.Errorf("%s: %+v, %v", name, have, err)
		}
	}
}

func TestThumbprintAcceptsOnlyItsCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	digest := sha1.Sum(server.Certificate().Raw) //nolint:gosec // as above
	host, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	for thumbprint, want := range map[string]bool{hex.EncodeToString(digest[:]): true, strings.Repeat("ab:", 19) + "ab": false, "": false} {
		c := New(Options{VCenter: config.VCenter{Name: "vc", Server: host, Port: port, Thumbprint: thumbprint}})
		if err := c.updateTransport(); err != nil {
			t.Fatal(err)
		}
		resp, err := c.http.Get(c.address("/", ""))
		if err == nil {
			_ = resp.Body.Close()
		}
		if accepted := err == nil; accepted != want {
			t.Errorf("thumbprint %q: %v", thumbprint, err)
		}
	}
}
