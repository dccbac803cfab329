package cloudapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// redacted replaces the secrets of a request in the response.
	redacted = "REDACTED"
	// redactLimit is the maximum length of an error response. The rest is dropped: clients only read messages from it.
	redactLimit = 1 << 20
	// shortestSecret is the length below which a value is not redacted: it would be found in other words.
	shortestSecret = 6
)

// secretHeaders are the request headers with credentials.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Auth-Token", "X-Subject-Token",
	"X-Amz-Security-Token", "X-Aws-Ec2-Metadata-Token", "Vmware-Api-Session-Id"}

// secretsKey is the context key of the credentials in a request's body.
type secretsKey struct{}

// WithSecrets returns the context of a request that has credentials in its body, as a login does. They are redacted in
// the error response; those in headers always are.
func WithSecrets(ctx context.Context, secrets ...string) context.Context {
	return context.WithValue(ctx, secretsKey{}, secrets)
}

// redactResponse replaces the credentials of the request in an error response. Some services and proxies repeat the
// request in their errors (AWS does with the signed headers if a signature is wrong), and errors become log lines and
// Events.
func redactResponse(req *http.Request, resp *http.Response) {
	if resp == nil || resp.Body == nil || resp.StatusCode < http.StatusBadRequest {
		return
	}
	inBody, _ := req.Context().Value(secretsKey{}).([]string)
	secrets := slices.Clone(inBody)
	for _, name := range secretHeaders {
		for _, value := range req.Header.Values(name) {
			secrets = append(secrets, value)
			if _, credentials, found := strings.Cut(value, " "); found {
				secrets = append(secrets, credentials)
			}
		}
	}
	replacer := redactor(secrets)
	if replacer == nil {
		return
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, redactLimit))
	content := []byte(replacer.Replace(string(head)))
	rest := io.Reader(http.NoBody)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(content), rest), resp.Body}
	resp.ContentLength = int64(len(content))
	if resp.Header.Get("Content-Length") != "" {
		resp.Header.Set("Content-Length", strconv.Itoa(len(content)))
	}
}

// redactor returns a replacer of the secrets in the forms in which JSON, XML and URLs have them, or nil without any.
func redactor(secrets []string) *strings.Replacer {
	var pairs []string
	for _, secret := range secrets {
		if len(secret) < shortestSecret {
			continue
		}
		quoted, err := json.Marshal(secret)
		if err != nil {
			continue
		}
		for _, form := range []string{secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret)} {
			pairs = append(pairs, form, redacted)
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return strings.NewReplacer(pairs...)
}
