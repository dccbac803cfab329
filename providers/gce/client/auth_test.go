package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sharedconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

// A redirect of token-url would send the body, which is a secret, and the token of the instance to another host.
func TestTokenRequestsFollowNoRedirect(t *testing.T) {
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		_, _ = w.Write([]byte(`{"access_token": "instance", "expires_in": 3600, "token_type": "Bearer"}`))
	}))
	defer metadata.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(metadata.URL, "http://"))
	var stolen, requests atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer other.Close()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer tokens.Close()
	source, err := tokenSource(config.Global{TokenURL: tokens.URL, TokenBody: sharedconfig.Secret("secret"),
		APIEndpoint: "https://compute.test/compute/v1/"})
	if err != nil {
		t.Fatal(err)
	}
	if token, err := source.Token(); err == nil {
		t.Errorf("got the token %v", token)
	}
	if requests.Load() != 1 || stolen.Load() != 0 {
		t.Errorf("%d requests, and %d of another host", requests.Load(), stolen.Load())
	}
}
