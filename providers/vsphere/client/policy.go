package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

const (
	policyPath = "/policy/api/v1"
	// vmcTokenPath exchanges the refresh token of VMware Cloud for an access token, unless vmc-auth-host has a path.
	vmcTokenPath = "/csp/gateway/am/api/auth/api-tokens/authorize" //nolint:gosec // a path
	// tokenMargin is the time before its end at which an access token is replaced.
	tokenMargin = time.Minute
	// codeReferenced is the error code of the deletion of an object that others refer to, codeMarked that of the creation
	// of one whose predecessor is not removed yet, codeCredentials that of a wrong password or a locked account. A missing
	// permission has another one.
	codeReferenced  = 500030
	codeMarked      = 500045
	codeCredentials = 403
	// The codes of a stale revision or reference have status 400, except for codeStaleObject: its status 404 does not mean
	// that the object does not exist.
	codeStale       = 500087
	codeChanged     = 500232
	codeConcurrent  = 100148
	codeStaleObject = 500090
	// markedRetryAfter is when a creation with another ID is tried.
	markedRetryAfter = time.Second
	// allocationKey is the attribute of a realized allocation with its address.
	allocationKey = "allocation_ip"
)

const (
	// defaultPageSize is the default of NSX-T, and the maximum.
	defaultPageSize = 1000
	// pageShrink divides the size of pages that are too long.
	pageShrink = 4
	// policyResponseLimit bounds a page, and with it the memory that a list needs beside its objects.
	policyResponseLimit = 64 << 20
)

// PolicyOptions configure NewPolicy. NSX is required.
type PolicyOptions struct {
	NSX     config.NSX
	Secrets *Secrets
	// Transport sends all requests; nil builds one from the TLS settings.
	Transport http.RoundTripper
	Clock     clock.Clock
	Retry     cloudapi.Retry
	UserAgent string
}

// Policy calls the policy API of NSX-T. It makes no call before it is used. It is safe for concurrent use.
type Policy struct {
	options PolicyOptions
	base    cloudapi.SwitchableTransport
	http    http.Client
	health  *cloudapi.Health
	// responseLimit is the maximum length of a response, in bytes.
	responseLimit int64

	mu sync.Mutex
	// pageSizes are the sizes of pages by collection, where they are not defaultPageSize.
	pageSizes map[string]int
	// user and password are those of the Secret; token is an access token of VMware Cloud.
	user, password string
	token          string
	tokenExpiry    time.Time
	denied         denial
	// tls are the states of the files of certificates in use.
	tls [3]fileStamp
}

var _ api.NSXT = (*Policy)(nil)

// NewPolicy returns a Policy. It makes no call; it reads the files of certificates.
func NewPolicy(o PolicyOptions) (*Policy, error) {
	o.Clock = clocks.OrReal(o.Clock)
	o.Retry.Clock = o.Clock
	p := &Policy{options: o, health: cloudapi.NewHealth(o.Clock), user: o.NSX.User, password: o.NSX.Password.Reveal(),
		responseLimit: policyResponseLimit, pageSizes: map[string]int{}}
	if o.Transport != nil {
		p.base.Set(o.Transport)
	}
	if err := p.updateTransport(); err != nil {
		return nil, err
	}
	p.http = http.Client{
		Transport: cloudapi.NewTransport(cloudapi.TransportOptions{
			Provider: names.Scheme, Base: &p.base, Describe: describe, Clock: o.Clock,
			Limits: cloudapi.Limits{ObeyRetryAfter: true}, Observe: p.health.Observe,
		}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

// updateTransport builds the transport if a file of certificates has changed, unless the caller of NewPolicy provided
// it.
func (p *Policy) updateTransport() error {
	if p.options.Transport != nil {
		return nil
	}
	n := p.options.NSX
	t := tlsSettings{owner: "[NSXT]", insecure: n.Insecure, caFile: n.CAFile, certFile: n.CertFile, keyFile: n.KeyFile}
	var stamps [3]fileStamp
	for i, name := range []string{n.CAFile, n.CertFile, n.KeyFile} {
		stamps[i] = stampOf(name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tls == stamps {
		return nil
	}
	base, err := t.transport()
	if err != nil {
		return err
	}
	p.base.Set(base)
	p.tls = stamps
	return nil
}

// Health returns the error of the manager, and since when it fails.
func (p *Policy) Health() (time.Time, error) { return p.health.Err(api.ServiceNSXT) }

// Check makes one cheap read.
func (p *Policy) Check(ctx context.Context) error {
	_, err := p.call(ctx, http.MethodGet, api.LBAppProfiles, "page_size=1", nil)
	if cloudapi.Is(err, cloudapi.Denied) {
		return &cloudapi.Error{Class: cloudapi.Denied, Operation: "GET lb-app-profiles", Err: fmt.Errorf("NSX-T manager %s "+
			"rejects the credentials of section [NSXT], or the user may not read load balancers; %s: %w", p.options.NSX.Host,
			deniedAdvice, err)}
	}
	return err
}

// Put implements api.NSXT.
func (p *Policy) Put(ctx context.Context, path string, document []byte) (json.RawMessage, error) {
	return p.call(ctx, http.MethodPut, path, "", document)
}

// Delete implements api.NSXT.
func (p *Policy) Delete(ctx context.Context, path string) error {
	_, err := p.call(ctx, http.MethodDelete, path, "", nil)
	return err
}

// AllocatedAddress implements api.NSXT.
func (p *Policy) AllocatedAddress(ctx context.Context, path, chosen string) (string, error) {
	const entities = "/infra/realized-state/realized-entities"
	content, err := p.call(ctx, http.MethodGet, entities, "intent_path="+url.QueryEscape(path), nil)
	if err != nil {
		return "", err
	}
	var out struct {
		Results []struct {
			State      string `json:"state"`
			Attributes []struct {
				Key    string   `json:"key"`
				Values []string `json:"values"`
			} `json:"extended_attributes"`
			Alarms []struct {
				Message string `json:"message"`
			} `json:"alarms"`
		} `json:"results"`
	}
	if err := json.Unmarshal(content, &out); err != nil {
		return "", wrap(operationName(http.MethodGet, entities), fmt.Errorf("the response cannot be parsed: %w", err))
	}
	for _, entity := range out.Results {
		if entity.State == "ERROR" {
			reason := ""
			for _, alarm := range entity.Alarms {
				reason += ": " + alarm.Message
			}
			return "", &cloudapi.Error{Class: cloudapi.Quota, Operation: operationName(http.MethodGet, entities),
				Err: notAllocated(chosen, reason)}
		}
	}
	for _, entity := range out.Results {
		if entity.State != "REALIZED" {
			continue
		}
		for _, a := range entity.Attributes {
			if a.Key == allocationKey && len(a.Values) > 0 {
				return a.Values[0], nil
			}
		}
		return chosen, nil
	}
	return "", nil
}

// notAllocated returns the error of an address that NSX-T cannot allocate.
func notAllocated(chosen, reason string) error {
	if chosen == "" {
		return fmt.Errorf("%w%s; add addresses to the pool, or delete Services that are not needed", api.ErrNotAllocated,
			reason)
	}
	return fmt.Errorf("%w: the Service chooses %s, which is in use or not in the pool of its class%s; choose another one "+
		"in spec.loadBalancerIP or %s", api.ErrNotAllocated, chosen, reason, intent.KeyStaticAddresses)
}

// operationName returns the name of a request, such as "PUT lb-pools".
func operationName(method, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, part := range slices.Backward(parts) {
		if slices.Contains([]string{"lb-services", "lb-virtual-servers", "lb-pools", "lb-monitor-profiles", "groups",
			"lb-app-profiles", "ip-pools", "ip-allocations", "static-routes", "realized-entities"}, part) {
			return method + " " + part
		}
	}
	return method
}

// call makes a request with retries. A PUT with an unknown outcome is not repeated, because its revision would be the
// previous one then.
func (p *Policy) call(ctx context.Context, method, path, query string, body []byte) (content []byte, err error) {
	request := cloudapi.Request{Service: api.ServiceNSXT, Operation: operationName(method, path),
		Mutating: method != http.MethodGet, Idempotent: method == http.MethodDelete}
	err = p.options.Retry.Do(ctx, request, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		content, err = p.sendAuthorized(ctx, request, method, path, query, body)
		return wrap(request.Operation, err)
	})
	return content, err
}

// sendAuthorized makes a request, and once more with new credentials if the manager rejects those in use.
func (p *Policy) sendAuthorized(
	ctx context.Context, request cloudapi.Request, method, path, query string, body []byte,
) ([]byte, error) {
	content, err := []byte(nil), p.checkDenied()
	if err == nil {
		content, err = p.send(ctx, request, method, path, query, body)
	}
	var status *statusError
	if !errors.As(err, &status) || status.status != http.StatusUnauthorized && status.status != http.StatusForbidden {
		return content, err
	}
	if changed, refreshErr := p.refreshCredentials(ctx); refreshErr != nil || !changed {
		return content, errors.Join(err, refreshErr)
	}
	return p.send(ctx, request, method, path, query, body)
}

// credentials returns the user and the password in use, both "" without them.
func (p *Policy) credentials() config.Credentials {
	p.mu.Lock()
	defer p.mu.Unlock()
	return config.Credentials{User: p.user, Password: common.Secret(p.password)}
}

// checkDenied returns the error of the credentials in use if they are not to be tried again yet.
func (p *Policy) checkDenied() error {
	credentials := p.credentials()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denied.check([]config.Credentials{credentials}, p.options.Clock.Now())
}

// observe records whether the manager accepted the credentials of a request.
func (p *Policy) observe(credentials config.Credentials, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var status *statusError
	switch {
	case err == nil:
		p.denied = denial{}
	case errors.As(err, &status) && status.credentials && credentials.User != "":
		p.denied.record([]config.Credentials{credentials}, err, p.options.Clock.Now())
	}
}

// refreshCredentials reads the Secret and drops the access token. It reports whether a retry can succeed.
func (p *Policy) refreshCredentials(ctx context.Context) (bool, error) {
	n := p.options.NSX
	if n.VMCToken != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		changed := p.token != ""
		p.token = ""
		return changed, nil
	}
	if n.Secret.Name == "" {
		return false, nil
	}
	keys, err := p.options.Secrets.read(ctx, n.Secret)
	if err != nil {
		return false, err
	}
	user, password := strings.TrimSuffix(keys["username"], "\n"), strings.TrimSuffix(keys["password"], "\n")
	if user == "" || password == "" {
		return false, fmt.Errorf("secret %s/%s: there is no username and password", n.Secret.Namespace, n.Secret.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := user != p.user || password != p.password
	p.user, p.password = user, password
	return changed, nil
}

// send sends one request.
func (p *Policy) send(
	ctx context.Context, request cloudapi.Request, method, path, query string, body []byte,
) ([]byte, error) {
	_ = p.updateTransport() // While a file is not complete, the previous certificates stay.
	target := url.URL{Scheme: "https", Host: p.options.NSX.Host, Path: policyPath + path, RawQuery: query}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, requestKey{}, request), method, target.String(),
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	credentials, err := p.authorize(ctx, req)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", p.options.UserAgent)
	resp, err := p.http.Do(req) //nolint:bodyclose // readAll closes it
	if err != nil {
		return nil, err
	}
	content, err := readAll(resp, p.responseLimit)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		content, err = nil, policyError(request.Operation, resp.StatusCode, content)
	}
	p.observe(credentials, err)
	return content, err
}

// authorize sets the header with the credentials, and returns them.
func (p *Policy) authorize(ctx context.Context, req *http.Request) (config.Credentials, error) {
	n := p.options.NSX
	if n.VMCToken != "" {
		token, err := p.accessToken(ctx)
		req.Header.Set("Authorization", "Bearer "+token)
		return config.Credentials{}, err
	}
	credentials := p.credentials()
	if credentials.User == "" && n.Secret.Name != "" {
		if _, err := p.refreshCredentials(ctx); err != nil {
			return credentials, err
		}
		credentials = p.credentials()
	}
	switch password := credentials.Password.Reveal(); {
	case credentials.User == "": // the certificate of a principal identity
	case n.RemoteAuth:
		req.Header.Set("Authorization", "Remote "+base64.StdEncoding.EncodeToString([]byte(credentials.User+":"+password)))
	default:
		req.SetBasicAuth(credentials.User, password)
	}
	return credentials, nil
}

// accessToken returns an access token of VMware Cloud, and exchanges the refresh token if it ends soon.
func (p *Policy) accessToken(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token != "" && p.options.Clock.Now().Before(p.tokenExpiry) {
		return p.token, nil
	}
	n := p.options.NSX
	host, path, hasPath := strings.Cut(n.VMCAuthHost, "/")
	target := url.URL{Scheme: "https", Host: host, Path: vmcTokenPath}
	if hasPath {
		target.Path = "/" + path
	}
	form := url.Values{"refresh_token": {n.VMCToken.Reveal()}}
	request := cloudapi.Request{Service: api.ServiceNSXT, Operation: "ExchangeToken"}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, requestKey{}, request), http.MethodPost, target.String(),
		strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := p.http.Do(req) //nolint:bodyclose // readAll closes it
	if err != nil {
		return "", err
	}
	content, err := readAll(resp, p.responseLimit)
	if err != nil {
		return "", err
	}
	if class := cloudapi.ClassOfStatus(resp.StatusCode); class == cloudapi.Unavailable || class == cloudapi.Throttled {
		return "", &cloudapi.Error{Class: class, Operation: request.Operation,
			Err: fmt.Errorf("%s issues no access token now (HTTP status %d)", n.VMCAuthHost, resp.StatusCode)}
	}
	var out struct {
		Token   string `json:"access_token"`
		Expires int64  `json:"expires_in"`
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(content, &out) != nil || out.Token == "" {
		return "", &cloudapi.Error{Class: cloudapi.Denied, Operation: request.Operation,
			Err: fmt.Errorf("%s rejects vmc-access-token of section [NSXT] (HTTP status %d)", n.VMCAuthHost, resp.StatusCode)}
	}
	p.token = out.Token
	p.tokenExpiry = p.options.Clock.Now().Add(time.Duration(out.Expires)*time.Second - tokenMargin)
	return p.token, nil
}

// policyError returns the error of a response. Only one in the form of the API reports that an object does not exist:
// a proxy answers with the same status.
func policyError(operation string, status int, content []byte) error {
	var out struct {
		Code    int    `json:"error_code"`
		Message string `json:"error_message"`
	}
	if err := json.Unmarshal(content, &out); err != nil || out.Message == "" {
		return &statusError{status: status}
	}
	var cause error = &statusError{status: status, code: fmt.Sprintf("(error code %d): %s", out.Code, out.Message),
		credentials: out.Code == codeCredentials}
	switch out.Code {
	case codeReferenced, codeStale, codeChanged, codeConcurrent, codeStaleObject:
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: operation, Err: cause}
	case codeMarked:
		cause = fmt.Errorf("%w: %w", api.ErrMarkedForDeletion, cause)
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: operation, Err: cause, RetryAfter: markedRetryAfter}
	}
	return &cloudapi.Error{Class: cloudapi.ClassOfStatus(status), Operation: operation, Err: cause}
}
