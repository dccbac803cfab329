package query

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dateFormat is the format of dates in requests.
const dateFormat = "20060102T150405Z"

// Signature is the signature of a request, in its header or its query.
type Signature struct {
	Credential Credential
	// At is when the request was signed.
	At time.Time
	// scope is the credential scope without the key, headers are the names of the signed headers, text is the signature
	// itself.
	scope, text string
	headers     []string
	presigned   bool
}

// SignatureOf parses the signature of a request. ok is false for a request without a complete one.
func SignatureOf(r *http.Request) (s Signature, ok bool) {
	c, _, ok := CredentialOf(r)
	if !ok {
		return s, false
	}
	s.Credential = c
	var date, credential, headers string
	if fields := authorizationFields(r.Header.Get("Authorization")); fields != nil {
		date = r.Header.Get("X-Amz-Date")
		credential, headers, s.text = fields["Credential"], fields["SignedHeaders"], fields["Signature"]
	} else {
		q := r.URL.Query()
		s.presigned = true
		date, credential, headers, s.text = q.Get("X-Amz-Date"), q.Get("X-Amz-Credential"), q.Get("X-Amz-SignedHeaders"),
			q.Get("X-Amz-Signature")
	}
	at, err := time.Parse(dateFormat, date)
	if err != nil || headers == "" || s.text == "" {
		return s, false
	}
	s.At, s.headers = at, strings.Split(headers, ";")
	s.scope = strings.TrimPrefix(credential, c.AccessKey+"/")
	return s, true
}

// VerifiedBy reports whether the request was signed with the secret, by AWS Signature Version 4. It reads the body
// through GetBody, which must be set unless there is none.
func (s Signature) VerifiedBy(r *http.Request, secret string) (bool, error) {
	payload, err := payloadHash(r)
	if err != nil {
		return false, err
	}
	canonical := strings.Join([]string{
		r.Method, escapedPath(r), s.canonicalQuery(r), s.canonicalHeaders(r), strings.Join(s.headers, ";"), payload,
	}, "\n")
	text := strings.Join([]string{algorithm, s.At.Format(dateFormat), s.scope, hash([]byte(canonical))}, "\n")
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(s.scope, "/") {
		key = sum(key, part)
	}
	return hmac.Equal([]byte(hex.EncodeToString(sum(key, text))), []byte(s.text)), nil
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hash(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func payloadHash(r *http.Request) (string, error) {
	if r.GetBody == nil {
		return hash(nil), nil
	}
	body, err := r.GetBody()
	if err != nil {
		return "", fmt.Errorf("reading the body of a signed request: %w", err)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return "", fmt.Errorf("reading the body of a signed request: %w", err)
	}
	return hash(content), nil
}

func escapedPath(r *http.Request) string {
	if p := r.URL.EscapedPath(); p != "" {
		return p
	}
	return "/"
}

func (s Signature) canonicalQuery(r *http.Request) string {
	var pairs []string
	for name, values := range r.URL.Query() {
		if s.presigned && name == "X-Amz-Signature" {
			continue
		}
		for _, v := range values {
			pairs = append(pairs, escape4(name)+"="+escape4(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape4 escapes as the signature demands: as in a query, but spaces are %20.
func escape4(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// canonicalHeaders returns the headers that are signed, each on a line. net/http keeps two of them in other fields.
func (s Signature) canonicalHeaders(r *http.Request) string {
	var out strings.Builder
	for _, name := range s.headers {
		values := slices.Clone(r.Header.Values(name))
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		for i := range values {
			values[i] = strings.Join(strings.Fields(values[i]), " ")
		}
		out.WriteString(name + ":" + strings.Join(values, ",") + "\n")
	}
	return out.String()
}
