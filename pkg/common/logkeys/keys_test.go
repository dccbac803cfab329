package logkeys

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func names() []string {
	var out []string
	for _, k := range All() {
		out = append(out, k.Name)
	}
	return out
}

func TestKeysAreSortedAndUnique(t *testing.T) {
	if got := names(); !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("%q", got)
	}
}

// The key-value pairs of each call of a logger, in all code of the manager.
func TestLogCallsUseKeysOfList(t *testing.T) {
	known := names()
	found := 0
	for _, folder := range []string{"pkg", "providers", "cmd/internal", "cmd/ccm"} {
		err := filepath.WalkDir(filepath.Join("..", "..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains([]string{"sim", "testdata", "conformance"}, d.Name()) {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			for _, key := range loggedKeys(t, path) {
				found++
				if !slices.Contains(known, key) {
					t.Errorf("%s logs the key %q, which is not listed: use a listed one, or add it", path, key)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 50 {
		t.Errorf("only %d keys found: the search is broken", found)
	}
}

// loggedKeys returns the literal keys of calls of a logger in a file.
func loggedKeys(t *testing.T, path string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		first, ok := map[string]int{"Info": 1, "InfoS": 1, "Error": 2, "ErrorS": 2, "WithValues": 0}[selector.Sel.Name]
		if !ok {
			return true
		}
		for i := first; i < len(call.Args); i += 2 {
			if l, ok := call.Args[i].(*ast.BasicLit); ok && l.Kind == token.STRING {
				key, err := strconv.Unquote(l.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, key)
			}
		}
		return true
	})
	return out
}

type answer struct{}

func (answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody}, nil
}

// The line of a cloud request has pairs that are not literals of one call, so that it is read as it is logged.
func TestLogOfCloudRequestUsesKeysOfList(t *testing.T) {
	var log bytes.Buffer
	logger := funcr.NewJSON(func(line string) { log.WriteString(line) }, funcr.Options{Verbosity: 10})
	transport := cloudapi.NewTransport(cloudapi.TransportOptions{Provider: "toy", Base: answer{}, RequestIDHeader: "X-Id",
		Describe: func(*http.Request) cloudapi.Request { return cloudapi.Request{Service: "lb", Operation: "List"} }})
	request, err := http.NewRequestWithContext(klog.NewContext(t.Context(), logger), http.MethodGet,
		"http://cloud.test/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", log.String(), err)
	}
	for key := range line {
		if !slices.Contains(append(names(), "logger", "level", "msg"), key) {
			t.Errorf("the line has the key %q, which is not listed: %s", key, log.String())
		}
	}
	if line["apiService"] != "lb" {
		t.Errorf("%s", log.String())
	}
}
