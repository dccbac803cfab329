package openstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

const (
	// renewBefore is how long before its end a token is replaced, at most: longer than the longest
	// call with its retries. A token that lives shortly is replaced after three quarters of its life.
	renewBefore = 5 * time.Minute
	// renewPause is when a renewal that failed is tried again while the token is still good.
	renewPause = 30 * time.Second
	// refusedPause is how long refused credentials are not tried again, unless they change: many
	// workers with a wrong password would lock the account.
	refusedPause = 30 * time.Second
	// filesPause is how often the files that credentials come from are looked at.
	filesPause = 10 * time.Second
	// catalogPause is how long a service that the catalogue does not have is not looked for again.
	catalogPause = time.Minute
)

// session is a token with what came with it.
type session struct {
	provider     *gophercloud.ProviderClient
	catalog      *tokens.ServiceCatalog
	region       string
	availability gophercloud.Availability
	issued       time.Time
	expires      time.Time
	// renewAt is guarded by the client's lock.
	renewAt time.Time
	// plainCompute says that Nova does not know the microversion that we would like.
	plainCompute atomic.Bool
}

// renewal is an authentication under way, for all who wait for it.
type renewal struct {
	done chan struct{}
	err  error
}

// refusal remembers that Keystone refused the credentials.
type refusal struct {
	err error
	at  time.Time
}

// stamp says when a file was changed; a zero time is that of a file that is not there.
type stamp struct {
	name string
	at   time.Time
	size int64
}

func tokenRequest() cloudapi.Request {
	return cloudapi.Request{Service: api.Identity, Operation: "CreateToken"}
}

// session returns a token that is good, new ones included: it waits only where there is none.
func (c *client) session(ctx context.Context) (*session, error) {
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
		return nil, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: tokenRequest().Operation, Err: errors.New("the token was refused as soon as it was issued")}
	}
	return c.current, nil
}

// renew starts an authentication where one is due. It returns the session that can be used
// meanwhile, or else what to wait for.
func (c *client) renew(ctx context.Context) (*renewal, *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.options.Clock.Now()
	if c.reloadLocked(now) {
		c.refused = refusal{}
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
		if c.refused.err != nil && now.Sub(c.refused.at) < refusedPause && c.current == nil {
			return ended(c.refused.err), nil
		}
		c.renewing = &renewal{done: make(chan struct{})}
		// The token is for everyone, and not only for as long as the first who asks still waits.
		go c.authenticate(context.WithoutCancel(ctx), c.renewing, c.global)
	}
	return c.renewing, c.current
}

// ended is an authentication that is over.
func ended(err error) *renewal {
	r := &renewal{done: make(chan struct{}), err: err}
	close(r.done)
	return r
}

// authenticate gets a token, and tells everyone who waits.
func (c *client) authenticate(ctx context.Context, r *renewal, g Global) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, files, err := c.issue(ctx, g)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(r.done)
	now := c.options.Clock.Now()
	c.files, c.checkedAt, c.renewing = stamps(append(files, c.options.ConfigFile)), now, nil
	switch {
	case err == nil:
		c.current, c.refused = s, refusal{}
		c.health.Set(api.Identity, nil)
		for service := range serviceForms() {
			c.health.Set(service, s.missing(service))
		}
	case c.current != nil:
		c.current.renewAt = now.Add(renewPause)
		klog.FromContext(ctx).Error(err, "Renewing the token failed; the one that there is goes on", "expires", c.current.expires)
	default:
		c.health.Set(api.Identity, err)
		if cloudapi.Is(err, cloudapi.Denied, cloudapi.Invalid) {
			c.refused = refusal{err: err, at: now}
		}
	}
	r.err = err
}

// issue asks Keystone for a token. It returns the files that the credentials were read from.
func (c *client) issue(ctx context.Context, g Global) (*session, []string, error) {
	fail := func(files []string, err error) (*session, []string, error) {
		return nil, files, oserr.Wrap(api.Identity, tokenRequest().Operation, c.options.Clock.Now(), err)
	}
	g, files, err := g.complete()
	if err != nil {
		return fail(files, &cloudapi.Error{Class: cloudapi.Invalid, Operation: tokenRequest().Operation, Err: err})
	}
	if err := c.useTLS(g); err != nil {
		return fail(files, &cloudapi.Error{Class: cloudapi.Invalid, Operation: tokenRequest().Operation, Err: err})
	}
	provider, err := openstack.NewClient(keystoneURL(g.AuthURL))
	if err != nil {
		return fail(files, &cloudapi.Error{Class: cloudapi.Invalid, Operation: tokenRequest().Operation, Err: fmt.Errorf("auth-url in section [Global]: %w", err)})
	}
	provider.HTTPClient, provider.UserAgent = c.http, c.userAgent()
	identity := &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: provider.IdentityEndpoint, Type: api.Identity}
	options := g.authOptions()
	now := c.options.Clock.Now()
	result := tokens.Create(describedAs(ctx, tokenRequest()), identity, &options)
	if err := provider.SetTokenAndAuthResult(result); err != nil {
		return fail(files, denied(g, now, err))
	}
	s, err := newSession(g, provider, result, now)
	if err != nil {
		return fail(files, err)
	}
	return s, files, nil
}

// denied says which keys refused credentials are in.
func denied(g Global, now time.Time, err error) error {
	if oserr.Classify(err) != cloudapi.Denied {
		return err
	}
	keys := map[method]string{
		methodPassword: "username, password, tenant-name and the domains", methodToken: "token and tenant-id", methodTrust: "trust-id and the trustee's password",
		methodApplicationCredential: "application-credential-id and application-credential-secret",
	}[g.method()]
	wrapped := oserr.Wrap(api.Identity, tokenRequest().Operation, now, err)
	var classified *cloudapi.Error
	if errors.As(wrapped, &classified) {
		classified.Err = fmt.Errorf("Keystone at %s refuses the credentials: check %s in section [Global]: %w", g.AuthURL, keys, classified.Err)
	}
	return wrapped
}

func newSession(g Global, provider *gophercloud.ProviderClient, result tokens.CreateResult, now time.Time) (*session, error) {
	token, err := result.ExtractToken()
	if err != nil {
		return nil, err
	}
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return nil, err
	}
	life := token.ExpiresAt.Sub(now)
	return &session{
		provider: provider, catalog: catalog, region: g.Region, availability: g.availability(), issued: now,
		expires: token.ExpiresAt, renewAt: token.ExpiresAt.Add(-min(renewBefore, life/4)),
	}, nil
}

// keystoneURL is where tokens are issued. Keystone has one version, which URLs often leave out, and
// older ones name the version before.
func keystoneURL(text string) string {
	text = strings.TrimRight(text, "/")
	text = strings.TrimSuffix(text, "/v2.0")
	if !strings.HasSuffix(text, "/v3") {
		text += "/v3"
	}
	return text + "/"
}

// discard forgets a token that a service does not know.
func (c *client) discard(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == s {
		c.current = nil
	}
}

// renewAfter lets a catalogue that lacks a service be read again at that age, before the token ends.
func (c *client) renewAfter(s *session, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if soon := s.issued.Add(age); soon.Before(s.renewAt) {
		s.renewAt = soon
	}
}

// reloadLocked reads the credentials again if a file that they come from has changed. A
// configuration that is not valid is left until it is.
func (c *client) reloadLocked(now time.Time) bool {
	if now.Sub(c.checkedAt) < filesPause {
		return false
	}
	c.checkedAt = now
	if len(c.files) == 0 || !changed(c.files) {
		return false
	}
	c.files = restamped(c.files)
	if c.options.ConfigFile == "" {
		return true
	}
	content, err := os.ReadFile(c.options.ConfigFile)
	if err == nil {
		var cfg Config
		if cfg, _, err = ReadConfig(c.options.ConfigFile, content); err == nil {
			// What nodes are labelled with, and where they are looked for, is decided at start.
			cfg.Global.Region = c.options.Global.Region
			c.global = cfg.Global
			return true
		}
	}
	klog.Background().Error(err, "The configuration has changed and cannot be used; the credentials before go on", "file", c.options.ConfigFile)
	return false
}

func stamps(files []string) []stamp {
	var out []stamp
	for _, name := range files {
		if name != "" {
			out = append(out, stampOf(name))
		}
	}
	return out
}

func stampOf(name string) stamp {
	info, err := os.Stat(name)
	if err != nil {
		return stamp{name: name}
	}
	return stamp{name: name, at: info.ModTime(), size: info.Size()}
}

func restamped(files []stamp) []stamp {
	out := make([]stamp, len(files))
	for i, f := range files {
		out[i] = stampOf(f.name)
	}
	return out
}

func changed(files []stamp) bool {
	for _, f := range files {
		if now := stampOf(f.name); !now.at.Equal(f.at) || now.size != f.size {
			return true
		}
	}
	return false
}
