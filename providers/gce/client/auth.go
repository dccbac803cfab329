package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/time/rate"

	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

const (
	scope = "https://www.googleapis.com/auth/cloud-platform"
	// tokenInterval and tokenBurst limit the requests to token-url.
	tokenInterval = 20 * time.Second
	tokenBurst    = 3
	tokenTimeout  = 30 * time.Second
)

// authenticated returns the transport with the credentials of the configuration. They are read at the first request.
func authenticated(cfg config.Global) http.RoundTripper {
	return &oauth2.Transport{Source: oauth2.ReuseTokenSource(nil, &lazySource{open: func() (oauth2.TokenSource, error) {
		return tokenSource(cfg)
	}})}
}

// tokenSource returns where access tokens come from.
func tokenSource(cfg config.Global) (oauth2.TokenSource, error) {
	if host, ok := strings.CutPrefix(cfg.APIEndpoint, "http://"); ok {
		// A simulator, which must not get credentials of this machine. It has a metadata server of its own.
		host, _, _ = strings.Cut(host, "/")
		return simulated{"http://" + host + tokenPath}, nil
	}
	switch cfg.TokenURL {
	case "":
		return google.ComputeTokenSource("", scope), nil
	case config.NoTokenURL:
		credentials, err := google.FindDefaultCredentials(context.Background(), scope)
		if err != nil {
			return nil, fmt.Errorf("find application default credentials: %w", err)
		}
		return credentials.TokenSource, nil
	}
	return &exchange{
		url: cfg.TokenURL, body: cfg.TokenBody.Reveal(), limit: rate.NewLimiter(rate.Every(tokenInterval), tokenBurst),
		client: &http.Client{
			CheckRedirect: keepResponse, Timeout: tokenTimeout,
			Transport: &oauth2.Transport{Source: google.ComputeTokenSource("", scope)},
		},
	}, nil
}

// keepResponse makes a client return a redirect as the response: followed, it would send credentials to another host.
func keepResponse(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// lazySource opens a source at the first request, and again after a failure: files may be mounted later.
type lazySource struct {
	open func() (oauth2.TokenSource, error)

	mu     sync.Mutex
	source oauth2.TokenSource
}

// Token implements oauth2.TokenSource.
func (s *lazySource) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source == nil {
		source, err := s.open()
		if err != nil {
			return nil, err
		}
		s.source = source
	}
	return s.source.Token()
}

// tokenPath is where a metadata server has the token of the default service account.
const tokenPath = "/computeMetadata/v1/instance/service-accounts/default/token"

// simulated gets tokens from the metadata server of a simulator.
type simulated struct{ url string }

// Token implements oauth2.TokenSource.
func (s simulated) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tokenTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Metadata-Flavor", "Google")
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err := fetch(&http.Client{CheckRedirect: keepResponse}, req, &answer); err != nil {
		return nil, err
	}
	return &oauth2.Token{AccessToken: answer.AccessToken,
		Expiry: time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second)}, nil
}

// fetch makes a request for a token.
func fetch(client *http.Client, req *http.Request, answer any) error {
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &oauth2.RetrieveError{Response: resp}
	}
	return json.Unmarshal(content, answer)
}

// exchange gets tokens from token-url.
type exchange struct {
	url, body string
	client    *http.Client
	limit     *rate.Limiter
}

// Token implements oauth2.TokenSource.
func (e *exchange) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tokenTimeout)
	defer cancel()
	if err := e.limit.Wait(ctx); err != nil {
		return nil, fmt.Errorf("too many requests to token-url: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, strings.NewReader(e.body))
	if err != nil {
		return nil, err
	}
	var answer struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
	}
	if err := fetch(e.client, req, &answer); err != nil {
		return nil, err
	}
	if answer.AccessToken == "" {
		return nil, errors.New("the answer of token-url has no accessToken")
	}
	return &oauth2.Token{AccessToken: answer.AccessToken, Expiry: answer.ExpireTime}, nil
}
