package sdktest

// This file checks requests and responses against Google's description of the API, which the module
// google.golang.org/api has.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Document is the description of the API.
type Document struct {
	Revision   string              `json:"revision"`
	Parameters map[string]Schema   `json:"parameters"`
	Schemas    map[string]Schema   `json:"schemas"`
	Resources  map[string]resource `json:"resources"`

	methods []*Method
}

type resource struct {
	Methods map[string]*Method `json:"methods"`
}

// Method is a method of the API.
type Method struct {
	ID         string            `json:"id"`
	Path       string            `json:"path"`
	HTTPMethod string            `json:"httpMethod"`
	Parameters map[string]Schema `json:"parameters"`
	Request    Schema            `json:"request"`
	Response   Schema            `json:"response"`

	pattern *regexp.Regexp
}

// Schema describes a value.
type Schema struct {
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Pattern     string            `json:"pattern"`
	Enum        []string          `json:"enum"`
	Location    string            `json:"location"`
	Required    bool              `json:"required"`
	Repeated    bool              `json:"repeated"`
	Properties  map[string]Schema `json:"properties"`
	Additional  *Schema           `json:"additionalProperties"`
	Items       *Schema           `json:"items"`
	Annotations struct {
		Required []string `json:"required"`
	} `json:"annotations"`
}

// loadDocument reads the description in the module google.golang.org/api, which the go command must find: once for a
// process, because it has 6 MB.
var loadDocument = sync.OnceValues(func() (*Document, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		return nil, fmt.Errorf("finding the module google.golang.org/api: %w", err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "compute", "v1", "compute-api.json"))
	if err != nil {
		return nil, err
	}
	d := &Document{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, err
	}
	for _, r := range d.Resources {
		for _, m := range r.Methods {
			path := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(m.Path), `([^/]+)`)
			m.pattern = regexp.MustCompile("/compute/v1/" + path + "$")
			d.methods = append(d.methods, m)
		}
	}
	return d, nil
})

// Method returns the method of an ID, such as compute.targetPools.insert, or nil.
func (d *Document) Method(id string) *Method {
	for _, m := range d.methods {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// MethodOf returns the method of a verb of HTTP and a path, or nil.
func (d *Document) MethodOf(verb, path string) *Method {
	for _, m := range d.methods {
		if m.HTTPMethod == verb && m.pattern.MatchString(path) {
			return m
		}
	}
	return nil
}

// CheckRequest returns what the API does not describe in a request: its path, its query, its body.
func (d *Document) CheckRequest(r *http.Request, body []byte) []string {
	m := d.MethodOf(r.Method, r.URL.Path)
	if m == nil {
		return []string{fmt.Sprintf("%s %s is no method of the API", r.Method, r.URL.Path)}
	}
	out := d.checkQuery(m, r.URL.Query())
	if m.Request.Ref == "" {
		if len(body) > 0 {
			out = append(out, m.ID+" has no body")
		}
		return out
	}
	c := checker{document: d, method: m.ID}
	return append(out, c.decode(m.Request, body)...)
}

func (d *Document) checkQuery(m *Method, query url.Values) []string {
	var out []string
	for name, values := range query {
		s, known := m.Parameters[name]
		if !known || s.Location != "query" {
			s, known = d.Parameters[name]
		}
		if !known {
			out = append(out, fmt.Sprintf("%s has no query parameter %s", m.ID, name))
		} else if len(values) > 1 && !s.Repeated || len(s.Enum) > 0 && !slices.Contains(s.Enum, values[0]) {
			out = append(out, fmt.Sprintf("%s: query parameter %s cannot be %v", m.ID, name, values))
		}
	}
	for name, s := range m.Parameters {
		if s.Location == "query" && s.Required && !query.Has(name) {
			out = append(out, fmt.Sprintf("%s requires query parameter %s", m.ID, name))
		}
	}
	return out
}

// CheckResponse returns what the API does not describe in the body of a response. Errors have the body of all APIs.
func (d *Document) CheckResponse(r *http.Request, status int, body []byte) []string {
	m := d.MethodOf(r.Method, r.URL.Path)
	if status >= http.StatusBadRequest {
		return checkError(status, body)
	}
	if m == nil || m.Response.Ref == "" {
		return nil
	}
	return (&checker{document: d}).decode(m.Response, body)
}

func checkError(status int, body []byte) []string {
	var e struct {
		Error struct {
			Code    int
			Message string
			Errors  []struct{ Domain, Reason, Message string }
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return []string{"error body: " + err.Error()}
	}
	if e.Error.Code != status || e.Error.Message == "" || len(e.Error.Errors) == 0 || e.Error.Errors[0].Reason == "" {
		return []string{fmt.Sprintf("error body for status %d is incomplete: %s", status, body)}
	}
	return nil
}

// checker collects what is wrong with a document.
type checker struct {
	document *Document
	// method is the one that gets the document as a request, "" for responses.
	method   string
	problems []string
}

func (c *checker) addf(path, format string, args ...any) {
	c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
}

func (c *checker) decode(s Schema, body []byte) []string {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []string{s.Ref + ": " + err.Error()}
	}
	c.value(s.Ref, s, v)
	slices.Sort(c.problems)
	return c.problems
}

func (c *checker) value(path string, s Schema, v any) {
	if s.Ref != "" {
		s = c.document.Schemas[s.Ref]
	}
	if v == nil {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		c.object(path, s, x)
	case []any:
		if s.Type != "array" {
			c.addf(path, "is an array, want %s", s.Type)
			return
		}
		for i, item := range x {
			c.value(path+"["+strconv.Itoa(i)+"]", *s.Items, item)
		}
	default:
		c.scalar(path, s, v)
	}
}

func (c *checker) object(path string, s Schema, x map[string]any) {
	if s.Type != "object" {
		c.addf(path, "is an object, want %s", s.Type)
		return
	}
	for name, value := range x {
		switch p, ok := s.Properties[name]; {
		case ok:
			c.value(path+"."+name, p, value)
		case s.Additional != nil:
			c.value(path+"."+name, *s.Additional, value)
		default:
			c.addf(path+"."+name, "is not described")
		}
	}
	for name, p := range s.Properties {
		if _, ok := x[name]; !ok && c.method != "" && slices.Contains(p.Annotations.Required, c.method) {
			c.addf(path+"."+name, "is required by %s", c.method)
		}
	}
}

// scalar checks texts, numbers and booleans. 64-bit integers are texts.
func (c *checker) scalar(path string, s Schema, v any) {
	switch x := v.(type) {
	case string:
		c.text(path, s, x)
	case json.Number:
		if _, err := x.Int64(); s.Type != "number" && (s.Type != "integer" || err != nil) {
			c.addf(path, "is the number %s, want %s", x, s.Type)
		}
	case bool:
		if s.Type != "boolean" {
			c.addf(path, "is a boolean, want %s", s.Type)
		}
	}
}

func (c *checker) text(path string, s Schema, x string) {
	switch {
	case s.Type != "string":
		c.addf(path, "is a string, want %s", s.Type)
	case x == "":
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, x):
		c.addf(path, "%q is not one of %v", x, s.Enum)
	case s.Pattern != "" && !regexp.MustCompile("^(?:"+s.Pattern+")$").MatchString(x):
		c.addf(path, "%q does not match %s", x, s.Pattern)
	case s.Format == "uint64":
		if _, err := strconv.ParseUint(x, 10, 64); err != nil {
			c.addf(path, "%q is not an unsigned integer", x)
		}
	}
}

// Transport checks all requests to the API and their responses on their way to another transport, and reports problems.
func (d *Document) Transport(next http.RoundTripper, report func(problem string)) http.RoundTripper {
	return transport{d, next, report}
}

type transport struct {
	document *Document
	next     http.RoundTripper
	report   func(string)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/compute/v1/") {
		return t.next.RoundTrip(r)
	}
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	for _, p := range t.document.CheckRequest(r, sent) {
		t.report("request " + r.Method + " " + r.URL.String() + ": " + p)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(got))
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Get("fields") == "" {
		for _, p := range t.document.CheckResponse(r, resp.StatusCode, got) {
			t.report("response to " + r.Method + " " + r.URL.String() + ": " + p)
		}
	}
	return resp, nil
}
