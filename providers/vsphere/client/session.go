package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
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

const (
	// ticketTimeout bounds a request to a session manager.
	ticketTimeout = 5 * time.Second
	// ticketLimit bounds its response.
	ticketLimit = 1 << 20
	// podTokenFile is the token of the service account, with which a session manager is called if the credentials have
	// no token of their own.
	podTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // a path
)

// Check logs in unless there is a session, and makes one cheap read if calls have failed.
func (c *Client) Check(ctx context.Context) error {
	_, failing := c.Health()
	_, err := read(ctx, c, api.ServiceInventory, "CurrentTime", func(ctx context.Context, s *session) (struct{}, error) {
		if failing == nil {
			return struct{}{}, nil
		}
		var out struct{}
		return out, c.soap(ctx, s, "CurrentTime", operation("CurrentTime", serviceInstance()), &out)
	})
	return err
}

// Health returns the error of the vCenter, and since when it fails.
func (c *Client) Health() (time.Time, error) {
	return c.health.Err(serviceLogin, api.ServiceInventory, api.ServiceTagging)
}

// read makes a call of a service in a session. It logs in if necessary, once more if the session has ended, and
// repeats a call that failed for a passing reason. The call may outlive the caller: see circuit.
func read[T any](
	ctx context.Context, c *Client, service, method string, call func(context.Context, *session) (T, error),
) (T, error) {
	request := cloudapi.Request{Service: service, Operation: method}
	circuit := c.inventory
	if service == api.ServiceTagging {
		circuit = c.tagging
	}
	return callDetached(ctx, circuit, method, func(ctx context.Context) (out T, err error) {
		err = c.retry.Do(ctx, request, func(ctx context.Context) error {
			out, err = callInSession(ctx, c, call)
			return wrap(method, err)
		})
		return out, err
	})
}

// callInSession makes a call, and once more with a new session if its session has ended.
func callInSession[T any](
	ctx context.Context, c *Client, call func(context.Context, *session) (T, error),
) (out T, err error) {
	for range 2 {
		s, err := c.session(ctx)
		if err != nil {
			return out, err
		}
		out, err = call(ctx, s)
		if !sessionEnded(err) {
			return out, err
		}
		c.discard(s)
	}
	return out, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: methodLogin,
		Err: errors.New("the session ended right after its login")}
}

// sessionEnded reports whether a call failed because its session has ended.
func sessionEnded(err error) bool {
	var s *statusError
	return faultKind(err) == faultNotAuthenticated || errors.As(err, &s) && s.status == http.StatusUnauthorized
}

// serviceInstance is the only object with a fixed reference.
func serviceInstance() api.Ref { return api.Ref{Type: "ServiceInstance", Value: "ServiceInstance"} }

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

// cloneTicket requests a ticket for a shared session from a session manager.
func (c *Client) cloneTicket(ctx context.Context, credentials config.Credentials) (string, error) {
	const method = "GetSessionToken"
	fail := func(class cloudapi.Class, err error) error {
		return &cloudapi.Error{Class: class, Operation: method,
			Err: fmt.Errorf("session manager %s: %w", credentials.SessionManagerURL, err)}
	}
	token := credentials.SessionManagerToken.Reveal()
	if token == "" {
		content, err := os.ReadFile(podTokenFile)
		if err != nil {
			return "", fail(cloudapi.Denied, err)
		}
		token = strings.TrimSpace(string(content))
	}
	ctx, cancel := context.WithTimeout(withRequest(ctx, serviceLogin, method), ticketTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, credentials.SessionManagerURL, http.NoBody)
	if err != nil {
		return "", fail(cloudapi.Invalid, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.shared.Do(req)
	if err != nil {
		return "", fail(cloudapi.Unavailable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if class := cloudapi.ClassOfStatus(resp.StatusCode); class != "" {
		return "", fail(class, &statusError{status: resp.StatusCode})
	}
	var out struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, ticketLimit)).Decode(&out); err != nil || out.Token == "" {
		return "", fail(cloudapi.Unknown, errors.New("the response has no token"))
	}
	return out.Token, nil
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
