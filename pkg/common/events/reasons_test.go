package events

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestDefinitionsAreComplete(t *testing.T) {
	seen := map[Reason]bool{}
	for _, d := range All() {
		if seen[d.Reason] {
			t.Errorf("%s is defined twice", d.Reason)
		}
		seen[d.Reason] = true
		if d.Type != v1.EventTypeNormal && d.Type != v1.EventTypeWarning {
			t.Errorf("%s has the type %q", d.Reason, d.Type)
		}
		for _, text := range []string{d.When, d.Action} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is no sentence", d.Reason, text)
			}
		}
	}
}

type recorded []string

func (r *recorded) Event(_ runtime.Object, kind, reason, message string) {
	*r = append(*r, kind+" "+reason+" "+message)
}

func TestSendUsesTypeOfReason(t *testing.T) {
	var r recorded
	Send(&r, &v1.Service{}, LoadBalancerChanged, "a")
	Send(&r, &v1.Service{}, LoadBalancerDrift, "b")
	SendNormal(&r, &v1.Node{}, NodeDeletionSuppressed, "c")
	want := []string{"Normal LoadBalancerChanged a", "Warning LoadBalancerDrift b", "Normal NodeDeletionSuppressed c"}
	if !slices.Equal(r, want) {
		t.Errorf("%q, want %q", r, want)
	}
}

// Reasons are values of this package, so that Send cannot get one that is not on the list. What is left is a recorder
// that is called without Send.
func TestEventsAreSentBySendOnly(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, folder := range []string{"pkg", "providers", "cmd"} {
		for _, c := range eventCalls(t, filepath.Join(root, folder)) {
			if !strings.Contains(filepath.ToSlash(c.file), "pkg/common/events/") {
				t.Errorf("%s:%d sends an Event without events.Send", c.file, c.line)
			}
		}
	}
}

func TestReasonsOfFrameworkAreListed(t *testing.T) {
	var known []string
	for _, d := range All() {
		if d.Framework {
			known = append(known, d.Reason.String())
		}
	}
	var used []string
	for _, module := range []string{"k8s.io/cloud-provider", "k8s.io/client-go"} {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatalf("folder of %s: %v", module, err)
		}
		dir := map[string]string{"k8s.io/cloud-provider": "controllers", "k8s.io/client-go": "tools/leaderelection"}[module]
		for _, c := range eventCalls(t, filepath.Join(strings.TrimSpace(string(out)), dir)) {
			used = append(used, c.reason)
			if !slices.Contains(known, c.reason) {
				t.Errorf("%s:%d sends an Event with the reason %s, which is not listed", c.file, c.line, c.reason)
			}
		}
	}
	for _, reason := range known {
		if !slices.Contains(used, reason) {
			t.Errorf("the framework has no Event with the reason %s any more", reason)
		}
	}
}

type eventCall struct {
	file   string
	line   int
	reason string
}

// eventCalls returns the calls of an EventRecorder below a folder, outside of tests and simulators.
func eventCalls(t *testing.T, dir string) []eventCall {
	t.Helper()
	var out []eventCall
	constants := map[string]string{}
	set := token.NewFileSet()
	var files []*ast.File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && len(spec.Values) == 1 {
				constants[spec.Names[0].Name] = literal(spec.Values[0])
			}
			return true
		})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			// Event(object, type, reason, message) and Eventf: other methods of these names have fewer arguments.
			if !ok || !slices.Contains([]string{"Event", "Eventf"}, selector.Sel.Name) || len(call.Args) < 4 {
				return true
			}
			reason := literal(call.Args[2])
			if name, ok := call.Args[2].(*ast.Ident); ok {
				reason = constants[name.Name]
			}
			at := set.Position(call.Pos())
			out = append(out, eventCall{at.Filename, at.Line, reason})
			return true
		})
	}
	return out
}

// literal returns the value of a string literal.
func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(l.Value); err == nil {
			return text
		}
	}
	return ""
}
