// Package auth has the simulated endpoints that give tokens: Google's OAuth endpoint for service accounts, the
// exchange of tokens of other identity providers, impersonation, and the metadata server of instances.
package auth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Paths of the endpoints.
const (
	PathToken       = "/token"
	PathExchange    = "/v1/token"
	PathImpersonate = ":generateAccessToken"
	// PathAlternative answers in the format of a token URL in the manager's configuration.
	PathAlternative = "/alternative-token"
)

// keyBits is the size of the keys of service accounts.
const keyBits = 2048

// serviceKey is the key of the service account, one for all clouds of a process because its creation takes long.
var serviceKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		panic(err) // The random source does not fail.
	}
	return key
})

// Tokens are the tokens of a cloud. The cloud's lock protects it.
type Tokens struct {
	Clock clock.PassiveClock
	Life  time.Duration
	// Account is the service account of the manager, in a project.
	Account, Project string
	// Secret makes the text of tokens.
	Secret func() string

	ends map[string]time.Time
}

// New returns a token.
func (t *Tokens) New() string {
	token := "ya29." + t.Secret()
	if t.ends == nil {
		t.ends = map[string]time.Time{}
	}
	t.ends[token] = t.Clock.Now().Add(t.Life)
	return token
}

// EndAll expires all tokens.
func (t *Tokens) EndAll() { t.ends = nil }

// Allows reports whether a request has a token that is valid.
func (t *Tokens) Allows(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	ends, known := t.ends[token]
	return ok && known && t.Clock.Now().Before(ends)
}

// IsRequest reports whether a request asks one of the endpoints for a token.
func IsRequest(r *http.Request) bool {
	switch r.URL.Path {
	case PathToken, PathExchange, PathAlternative:
		return true
	}
	return strings.HasSuffix(r.URL.Path, PathImpersonate)
}

// Serve answers with a token or an error.
func (t *Tokens) Serve(w http.ResponseWriter, r *http.Request) {
	switch isAlternative := r.URL.Path == PathAlternative || strings.HasSuffix(r.URL.Path, PathImpersonate); {
	case r.Method != http.MethodPost:
		answer(w, http.StatusMethodNotAllowed, map[string]any{"error": "invalid_request"})
	case isAlternative && !t.Allows(r):
		answer(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{"code": http.StatusUnauthorized,
			"message": "Invalid Credentials", "status": "UNAUTHENTICATED"}})
	case isAlternative:
		answer(w, http.StatusOK, map[string]any{"accessToken": t.New(),
			"expireTime": t.Clock.Now().Add(t.Life).UTC().Format(time.RFC3339)})
	default:
		t.serveGrant(w, r)
	}
}

// serveGrant answers to a request with a grant.
func (t *Tokens) serveGrant(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": err.Error()})
		return
	}
	if problem := t.checkGrant(r.URL.Path, r.Form); problem != "" {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": problem})
		return
	}
	body := t.grant()
	if r.URL.Path == PathExchange {
		body["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
	}
	answer(w, http.StatusOK, body)
}

// grant is the body of a new token.
func (t *Tokens) grant() map[string]any {
	return map[string]any{"access_token": t.New(), "expires_in": int(t.Life / time.Second), "token_type": "Bearer"}
}

// checkGrant returns what is wrong with a request for a token, or "".
func (t *Tokens) checkGrant(path string, form url.Values) string {
	switch grant := form.Get("grant_type"); {
	case path == PathExchange && grant == "urn:ietf:params:oauth:grant-type:token-exchange":
		if form.Get("subject_token") == "" || form.Get("audience") == "" {
			return "subject_token and audience are required"
		}
	case path == PathToken && grant == "urn:ietf:params:oauth:grant-type:jwt-bearer":
		return t.checkAssertion(form.Get("assertion"))
	case path == PathToken && grant == "refresh_token" && form.Get("refresh_token") != "":
	default:
		return "unsupported grant_type " + grant
	}
	return ""
}

// checkAssertion checks a JWT that is signed with the key of the service account.
func (t *Tokens) checkAssertion(assertion string) string {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return "the assertion is not a JWT"
	}
	signature, err := decodePart(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(&serviceKey().PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return "Invalid JWT Signature."
	}
	raw, err := decodePart(parts[1])
	var claims struct {
		Issuer   string `json:"iss"`
		Audience string `json:"aud"`
		Issued   int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return "the claims of the assertion are malformed"
	}
	now, life := t.Clock.Now().Unix(), claims.Expires-claims.Issued
	const leeway = 60
	switch {
	case claims.Issuer != t.Account:
		return "Invalid issuer: Not a valid email or user ID."
	case !strings.HasSuffix(claims.Audience, PathToken):
		return "Invalid JWT: Audience is not valid."
	case claims.Issued > now+leeway || claims.Expires < now || life <= 0 || life > int64(time.Hour/time.Second)+leeway:
		return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
	}
	return ""
}

// decodePart decodes a part of a JWT, with padding or without: clients send either.
func decodePart(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}

// KeyFile returns the key of the service account, as the file that clients read. Tokens come from the endpoint.
func (t *Tokens) KeyFile(endpoint string) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(serviceKey())
	if err != nil {
		return nil, fmt.Errorf("service account key: %w", err)
	}
	return json.MarshalIndent(map[string]string{
		"type": "service_account", "project_id": t.Project, "private_key_id": "1", "client_email": t.Account,
		"client_id":   "100000000000000000001",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"auth_uri":    endpoint + "/auth", "token_uri": endpoint + PathToken,
	}, "", "  ")
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	document, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json") // Clients of the metadata server compare it.
	w.WriteHeader(status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(document)
}
