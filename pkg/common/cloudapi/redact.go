package cloudapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
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
	bodySecrets, _ := req.Context().Value(secretsKey{}).([]string)
	secrets := slices.Clone(bodySecrets)
	for _, name := range secretHeaders {
		for _, value := range req.Header.Values(name) {
			secrets = append(secrets, value)
			if _, credentials, found := strings.Cut(value, " "); found {
				secrets = append(secrets, credentials)
			}
		}
	}
	replacer := newRedactor(secrets)
	if replacer == nil {
		return
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, redactLimit))
	content := []byte(replacer.Replace(string(head)))
	remaining := io.Reader(http.NoBody)
	if err != nil {
		remaining = errorReader{err}
	}
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(content), remaining), resp.Body}
	resp.ContentLength = int64(len(content))
	if resp.Header.Get("Content-Length") != "" {
		resp.Header.Set("Content-Length", strconv.Itoa(len(content)))
	}
}

// newRedactor returns a replacer of the secrets in the forms in which JSON, XML and URLs have them, or nil without any.
func newRedactor(secrets []string) *strings.Replacer {
	var forms []string
	for _, secret := range secrets {
		if len(secret) >= shortestSecret {
			forms = append(forms, secret, escapeJSON(secret, true), escapeJSON(secret, false), url.QueryEscape(secret),
				url.PathEscape(secret))
			for _, escaped := range []string{xmlEscaper.Replace(secret), html.EscapeString(secret)} {
				// A request in XML that is repeated as text in an error in XML is escaped twice.
				forms = append(forms, escaped, xmlEscaper.Replace(escaped))
			}
		}
	}
	// Of two forms that begin alike, the longer one comes first: otherwise the rest of it would stay.
	sorting.Func(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, redacted)
	}
	if len(pairs) == 0 {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// xmlEscaper writes the names of the characters; package html writes the numbers of some.
var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// escapeJSON returns a text as a JSON string has it. Encoders differ in whether they escape <, > and &.
func escapeJSON(text string, escapeHTML bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(text); err != nil {
		return text
	}
	quoted := strings.TrimSuffix(out.String(), "\n")
	return quoted[1 : len(quoted)-1]
}
