package query

import (
	"net/http"
	"strings"
)

// Credential is the access key and the credential scope of a signed request.
type Credential struct {
	AccessKey, Region, Service string
}

// Constants of AWS Signature Version 4: the algorithm, and the end of a credential scope.
const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
)

// CredentialOf parses the credential of a request from its Authorization header or, for a presigned request, from its
// query. It does not verify the signature. ok is false for an unsigned request, and for a malformed credential.
func CredentialOf(r *http.Request) (c Credential, malformed, ok bool) {
	scope := r.URL.Query().Get("X-Amz-Credential")
	if header := r.Header.Get("Authorization"); header != "" {
		if scope = authorizationFields(header)["Credential"]; scope == "" {
			return Credential{}, true, false
		}
	}
	if scope == "" {
		return Credential{}, false, false
	}
	parts := strings.Split(scope, "/")
	if len(parts) < 5 || parts[len(parts)-1] != terminator {
		return Credential{}, true, false
	}
	n := len(parts)
	// An access key may contain slashes; the scope is the last four parts.
	return Credential{AccessKey: strings.Join(parts[:n-4], "/"), Region: parts[n-3], Service: parts[n-2]}, false, true
}

// authorizationFields returns the fields of an Authorization header by name, none if it has another algorithm.
func authorizationFields(header string) map[string]string {
	fields, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return nil
	}
	out := map[string]string{}
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		out[name] = value
	}
	return out
}
