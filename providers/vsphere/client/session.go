package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

const (
	// serviceLogin is the service of logins, for the health.
	serviceLogin = "session"
	methodLogin  = "Login"
	// responseLimit bounds a response. A page of a property collection has a few megabytes.
	responseLimit = 256 << 20
)

// errTruncated is the error of a response that ends early, errTooLong that of one that is longer than its limit.
var (
	errTruncated = errors.New("the response ended early")
	errTooLong   = errors.New("the response is too long")
)

// serviceInstance is the only object with a fixed reference.
func serviceInstance() api.Ref { return api.Ref{Type: "ServiceInstance", Value: "ServiceInstance"} }

// serviceContent has the identity of a vCenter, and the references of its singletons.
type serviceContent struct {
	About struct {
		InstanceUUID string `xml:"instanceUuid"`
	} `xml:"about"`
	RootFolder        soapRef `xml:"rootFolder"`
	PropertyCollector soapRef `xml:"propertyCollector"`
	SearchIndex       soapRef `xml:"searchIndex"`
	SessionManager    soapRef `xml:"sessionManager"`
}

// session is a login.
type session struct {
	content serviceContent
	cookie  string
	// credentials are those of the login. The login of the REST API uses them too.
	credentials config.Credentials

	// rest is held while a session of the REST API is created. restID is guarded by the client's mutex.
	rest   locks.Mutex
	restID string
}

// session returns the current session, and logs in if there is none. One caller logs in at a time.
func (c *Client) session(ctx context.Context) (*session, error) {
	if s := c.currentSession(); s != nil {
		// The certificate of a vCenter may be replaced during a session. While the file is not complete, the previous
		// authorities stay.
		_ = c.updateTransport()
		return s, nil
	}
	unlock, err := c.login.Lock(ctx)
	if err != nil {
		return nil, wrap(methodLogin, err)
	}
	defer unlock()
	if s := c.currentSession(); s != nil {
		return s, nil
	}
	s, err := c.logIn(ctx)
	c.health.Set(serviceLogin, rejection(err))
	if err != nil {
		return nil, wrap(methodLogin, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = s
	return s, nil
}

// rejection returns the errors of a login that the transport does not count as failures, such as a wrong password.
func rejection(err error) error {
	if cloudapi.Is(err, cloudapi.Denied, cloudapi.Invalid, cloudapi.Unknown) {
		return err
	}
	return nil
}

func (c *Client) currentSession() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// discard drops a session that has ended.
func (c *Client) discard(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == s {
		c.current = nil
	}
}

// logIn creates a session with the first credentials that the vCenter accepts.
func (c *Client) logIn(ctx context.Context) (*session, error) {
	list, err := c.options.Credentials(ctx)
	if err != nil {
		// Not Denied: a Secret can be read only once the manager is connected to the cluster.
		return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: methodLogin,
			Err: fmt.Errorf("credentials for vCenter %s: %w", c.Name(), err)}
	}
	c.mu.Lock()
	denied := c.denied.check(list, c.options.Clock.Now())
	c.mu.Unlock()
	if denied != nil {
		return nil, denied
	}
	if err := c.updateTransport(); err != nil {
		return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: methodLogin, Err: err}
	}
	s := &session{}
	var out struct {
		Content serviceContent `xml:"returnval"`
	}
	const method = "RetrieveServiceContent"
	if err := c.soap(ctx, s, method, operation(method, serviceInstance()), &out); err != nil {
		return nil, wrap(method, err)
	}
	s.content = out.Content
	for _, credentials := range list {
		if err = c.logInWith(ctx, s, credentials); err == nil || faultKind(err) != faultInvalidLogin {
			break
		}
	}
	if faultKind(err) == faultInvalidLogin {
		err = &cloudapi.Error{Class: cloudapi.Denied, Operation: methodLogin,
			Err: fmt.Errorf("vCenter %s rejects the credentials of %s; %s: %w", c.Name(), describeUsers(list),
				deniedAdvice, err)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.denied = denial{}
	case cloudapi.Is(err, cloudapi.Denied):
		if faultKind(err) != faultInvalidLogin {
			c.denied = denial{} // A session manager locks no account: the wait stays short.
		}
		c.denied.record(list, err, c.options.Clock.Now())
	}
	return s, err
}

func describeUsers(list []config.Credentials) string {
	var users []string
	for _, credentials := range list {
		users = append(users, credentials.Describe())
	}
	return strings.Join(users, ", ")
}

// logInWith logs in with one set of credentials.
func (c *Client) logInWith(ctx context.Context, s *session, credentials config.Credentials) error {
	manager := s.content.SessionManager.ref()
	method, secret := methodLogin, credentials.Password.Reveal()
	parameters := element("userName", "", credentials.User) + element("password", "", secret)
	if credentials.SessionManagerURL != "" {
		ticket, err := c.cloneTicket(ctx, credentials)
		if err != nil {
			return err
		}
		method, secret, parameters = "CloneSession", ticket, element("cloneTicket", "", ticket)
	}
	var out struct{}
	s.cookie = ""
	err := c.soap(cloudapi.WithSecrets(ctx, secret), s, method, operation(method, manager, parameters), &out)
	if err == nil && s.cookie == "" {
		err = errors.New("the response to the login has no session cookie")
	}
	s.credentials = credentials
	return err
}

// Logout ends the sessions of both APIs.
func (c *Client) Logout(ctx context.Context) {
	c.mu.Lock()
	s := c.current
	c.current = nil
	var restID string
	if s != nil {
		restID = s.restID
	}
	c.mu.Unlock()
	if s == nil {
		return
	}
	// The sessions end by themselves if this fails.
	if restID != "" {
		_, _, _ = c.send(ctx, restRequest{method: http.MethodDelete, path: sessionPath, name: "DeleteSession", id: restID})
	}
	var out struct{}
	_ = c.soap(ctx, s, "Logout", operation("Logout", s.content.SessionManager.ref()), &out)
}

// soap makes one SOAP call. A session without a cookie gets that of the response; later ones are ignored, because the
// session is shared by concurrent calls.
func (c *Client) soap(ctx context.Context, s *session, method, body string, target any) error {
	service := api.ServiceInventory
	req, err := http.NewRequestWithContext(withRequest(ctx, service, method), http.MethodPost, c.address(soapPath, ""),
		strings.NewReader(envelopeStart+body+envelopeEnd))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	req.Header.Set("SOAPAction", soapAction)
	req.Header.Set("User-Agent", c.options.UserAgent)
	if s.cookie != "" {
		req.AddCookie(&http.Cookie{Name: soapCookie, Value: s.cookie}) //nolint:gosec // requests send no attributes
	}
	resp, err := c.http.Do(req) //nolint:bodyclose // readAll closes it
	if err != nil {
		return err
	}
	content, err := readAll(resp, responseLimit)
	if err != nil {
		return err
	}
	for _, cookie := range resp.Cookies() {
		if cookie.Name == soapCookie && s.cookie == "" {
			s.cookie = cookie.Value
		}
	}
	return decodeSOAP(resp.StatusCode, content, target)
}

// readAll reads and closes the body of a response of at most limit bytes.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errTruncated, err)
	case n > limit:
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, limit)
	}
	return b.Bytes(), nil
}
