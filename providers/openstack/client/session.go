package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

const (
	// renewBefore is the longest time before its expiry at which a token is renewed. It exceeds the longest
	// call with its retries. A short-lived token is renewed after three quarters of its life.
	renewBefore = 5 * time.Minute
	// renewRetryAfter delays the retry of a failed renewal while the token is still valid.
	renewRetryAfter = 30 * time.Second
	// deniedRetryAfter delays the retry of denied credentials, unless they change: many workers with a
	// wrong password would lock the account.
	deniedRetryAfter = 30 * time.Second
	// catalogRetryAfter is the age at which a catalog that lacks a service is read again.
	catalogRetryAfter = time.Minute
)

func tokenRequest() cloudapi.Request {
	return cloudapi.Request{Service: api.Identity, Operation: "CreateToken"}
}

// session returns a valid session. It waits for an authentication only if there is none.
func (c *Client) session(ctx context.Context) (*session, error) {
	r, s := c.renew(ctx)
	if s != nil {
		return s, nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, oserr.Wrap(api.Identity, tokenRequest().Operation, c.options.Clock.Now(), ctx.Err())
	}
	if r.err != nil {
		return nil, r.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil, &cloudapi.Error{
			Class: cloudapi.Unavailable, Operation: tokenRequest().Operation,
			Err: errors.New("the token was rejected right after it was issued"),
		}
	}
	return c.current, nil
}

// renew starts an authentication if one is due. It returns the session to use meanwhile, or else the
// renewal to wait for.
func (c *Client) renew(ctx context.Context) (*renewal, *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.options.Clock.Now()
	if c.reloadLocked(now) {
		c.denied = denial{}
		if c.current != nil {
			c.current.renewAt = now
		}
	}
	if c.current != nil && !now.Before(c.current.expires) {
		c.current = nil
	}
	if c.current != nil && now.Before(c.current.renewAt) {
		return nil, c.current
	}
	if c.renewing == nil {
		if c.denied.err != nil && now.Sub(c.denied.at) < deniedRetryAfter && c.current == nil {
			return failedRenewal(c.denied.err), nil
		}
		c.renewing = &renewal{done: make(chan struct{})}
		// The token serves all callers, so it must not end with the context of the first.
		go c.authenticate(context.WithoutCancel(ctx), c.renewing, c.global)
	}
	return c.renewing, c.current
}

// failedRenewal returns a renewal that has ended with err.
func failedRenewal(err error) *renewal {
	r := &renewal{done: make(chan struct{}), err: err}
	close(r.done)
	return r
}

// authenticate issues a token and ends the renewal.
func (c *Client) authenticate(ctx context.Context, r *renewal, g config.Global) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var s *session
	var files []string
	err := panics.Do(func() (err error) {
		s, files, err = c.issue(ctx, g)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(r.done)
	now := c.options.Clock.Now()
	c.files, c.checkedAt, c.renewing = stampFiles(append(files, c.options.ConfigFile)), now, nil
	switch {
	case err == nil:
		c.current, c.denied = s, denial{}
		c.health.Set(api.Identity, nil)
		for service := range serviceForms() {
			c.health.Set(service, s.checkService(service))
		}
	case c.current != nil:
		c.current.renewAt = now.Add(renewRetryAfter)
		klog.FromContext(ctx).Error(err, "Failed to renew the token; keeping the current one", "expires", c.current.expires)
	default:
		c.health.Set(api.Identity, err)
		if cloudapi.Is(err, cloudapi.Denied, cloudapi.Invalid) {
			c.denied = denial{err: err, at: now}
		}
	}
	r.err = err
}

// issue requests a token from Keystone. It also returns the files that the credentials were read from.
func (c *Client) issue(ctx context.Context, g config.Global) (*session, []string, error) {
	fail := func(err error) error {
		return oserr.Wrap(api.Identity, tokenRequest().Operation, c.options.Clock.Now(), err)
	}
	invalid := func(err error) error {
		return fail(&cloudapi.Error{Class: cloudapi.Invalid, Operation: tokenRequest().Operation, Err: err})
	}
	g, files, err := g.Complete()
	if err != nil {
		return nil, files, invalid(err)
	}
	if err := c.updateTransport(g); err != nil {
		return nil, files, invalid(err)
	}
	provider, err := openstack.NewClient(keystoneURL(g.AuthURL))
	if err != nil {
		return nil, files, invalid(fmt.Errorf("auth-url in section [Global]: %w", err))
	}
	provider.HTTPClient, provider.UserAgent = c.http, c.userAgent()
	identity := &gophercloud.ServiceClient{
		ProviderClient: provider, Endpoint: provider.IdentityEndpoint, Type: api.Identity,
	}
	options := AuthOptions(g)
	ctx = cloudapi.WithSecrets(ctx, g.Secrets()...)
	now := c.options.Clock.Now()
	result := tokens.Create(withRequest(ctx, tokenRequest()), identity, &options)
	if _, err := result.ExtractTokenID(); err != nil {
		return nil, files, fail(explainDenied(g, now, err))
	}
	s, err := newSession(g, provider, result, now)
	if err != nil {
		return nil, files, fail(err)
	}
	return s, files, nil
}

// explainDenied adds the keys of the credentials to an error of class Denied.
func explainDenied(g config.Global, now time.Time, err error) error {
	if oserr.Classify(err) != cloudapi.Denied {
		return err
	}
	keys := map[config.Method]string{
		config.MethodPassword:              "username, password, tenant-name and the domains",
		config.MethodToken:                 "token and tenant-id",
		config.MethodTrust:                 "trust-id and the trustee's password",
		config.MethodApplicationCredential: "application-credential-id and application-credential-secret",
	}[g.Method()]
	wrapped := oserr.Wrap(api.Identity, tokenRequest().Operation, now, err)
	var classified *cloudapi.Error
	if errors.As(wrapped, &classified) {
		classified.Err = fmt.Errorf("Keystone at %s rejects the credentials: check %s in section [Global]: %w",
			g.AuthURL, keys, classified.Err)
	}
	return wrapped
}

func newSession(
	g config.Global, provider *gophercloud.ProviderClient, result tokens.CreateResult, now time.Time,
) (*session, error) {
	token, err := result.ExtractToken()
	if err != nil {
		return nil, err
	}
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return nil, err
	}
	scoped, err := api.NewToken(result)
	if err != nil {
		return nil, err
	}
	if err := provider.SetTokenAndAuthResult(scoped); err != nil {
		return nil, err
	}
	lifetime := token.ExpiresAt.Sub(now)
	return &session{
		provider: provider, catalog: catalog, region: g.Region, availability: availability(g), issued: now,
		expires: token.ExpiresAt, renewAt: token.ExpiresAt.Add(-min(renewBefore, lifetime/4)),
	}, nil
}

// keystoneURL returns the URL at which tokens are issued. Keystone has one version, which URLs often omit;
// older URLs have the previous one.
func keystoneURL(authURL string) string {
	authURL = strings.TrimSuffix(strings.TrimRight(authURL, "/"), "/v2.0")
	if !strings.HasSuffix(authURL, "/v3") {
		authURL += "/v3"
	}
	return authURL + "/"
}

// discard drops a session whose token a service has rejected.
func (c *Client) discard(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == s {
		c.current = nil
	}
}

// renewAfter renews a session that has reached an age, even before its token expires, to read the catalog again.
func (c *Client) renewAfter(s *session, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := s.issued.Add(age); at.Before(s.renewAt) {
		s.renewAt = at
	}
}
