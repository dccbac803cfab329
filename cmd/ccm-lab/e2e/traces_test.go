package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// span is a span in a line of OTLP in JSON.
type span struct {
	ID         string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string `json:"name"`
	Kind       int    `json:"kind"`
	Attributes []struct {
		Key   string `json:"key"`
		Value struct {
			Text string `json:"stringValue"`
		} `json:"value"`
	} `json:"attributes"`
}

// attribute returns the text of an attribute, or "".
func (s span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.Text
		}
	}
	return ""
}

// readSpans reads the file that ccm-lab run --traces writes.
func readSpans(t *testing.T, file string) []span {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []span
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var export struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []span `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.Unmarshal(lines.Bytes(), &export); err != nil {
			t.Fatal(err)
		}
		for _, resource := range export.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// clientKind is the kind of a span of a request to another process.
const clientKind = 3

// TestTracesLeadFromServiceToCloud reads the file of ccm-lab run --traces: below the sync of a Service are its desired
// state, its plan and the apply, each with the requests that it made to the cloud.
func TestTracesLeadFromServiceToCloud(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, file := filepath.Join(dir, "ccm-lab"), filepath.Join(dir, "traces.jsonl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command := exec.CommandContext(t.Context(), program, "run", "--provider=fake", "--once", "--nodes=1", "--services=1",
		"--traces="+file)
	command.Env = append(os.Environ(), lab.CCMVariable+"="+planes.binaries.CCM,
		lab.AssetsVariable+"="+filepath.Dir(planes.binaries.Etcd))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	spans := readSpans(t, file)
	byID := map[string]span{}
	for _, s := range spans {
		byID[s.ID] = s
	}
	var paths []string
	for _, s := range spans {
		path, service := s.Name, s.attribute("k8s.service.name")
		if s.Kind == clientKind {
			path = "request"
		}
		for parent, ok := byID[s.Parent]; ok; parent, ok = byID[parent.Parent] {
			path, service = parent.Name+" > "+path, parent.attribute("k8s.service.name")
		}
		if service != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	const sync = "LoadBalancer.EnsureLoadBalancer"
	for _, want := range []string{sync, sync + " > desired", sync + " > plan > observe > request", sync + " > plan > diff",
		sync + " > apply > create load balancer > request"} {
		if !slices.Contains(paths, want) {
			t.Errorf("no span %q among:\n%s", want, strings.Join(paths, "\n"))
		}
	}
}
