// Package difftest does the same requests on the simulator and on real services, and compares status codes, the shapes
// of bodies, and the words of errors.
//
// The answers of the real services are kept in testdata, so that every run of the tests compares with them. To ask the
// services again, name the directory of a lab, and to keep what they say, add -record:
//
//	LAB_DIR=/tmp/openstack-lab go test ./providers/openstack/sim/difftest -v [-args -record]
package difftest

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

var changeTimeout = flag.Duration("record-timeout", 30*time.Minute,
	"stop asking the real services after this long, and compare what there is")

var record = flag.Bool("record", false, "keep the answers of the real services")

const recording = "testdata/zed.json"

// step is one request. Its path begins with the service; variables of the target may be in path and body.
type step struct {
	name, request, body string
	header              map[string]string
	// keep are variables that the answer sets: name and path, as in "LB=loadbalancer.id".
	keep string
	// settles is the variable of the load balancer that has to come to rest afterwards.
	settles string
}

// do runs all steps on a target.
func do(t *testing.T, c *target) map[string]observation {
	t.Helper()
	out, end := map[string]observation{}, time.Now().Add(*changeTimeout)
	for _, s := range steps() {
		if time.Now().After(end) {
			t.Logf("stopped before the step %q", s.name)
			return out
		}
		method, rest, _ := strings.Cut(s.request, " ")
		service, path, _ := strings.Cut(rest, "/")
		r, err := c.send(t.Context(), method, c.urls[service]+"/"+c.expand(path), c.expand(s.body), s.header)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		for pair := range strings.FieldsSeq(s.keep) {
			name, field, _ := strings.Cut(pair, "=")
			if c.vars[name] = find(r.body, field); c.vars[name] == "" {
				t.Fatalf("%s: the answer has no %s: %d %s", s.name, field, r.status, r.body)
			}
		}
		if _, double := out[s.name]; double {
			t.Fatalf("two steps are called %q", s.name)
		}
		out[s.name] = c.observe(r)
		if s.settles != "" && r.status < http.StatusBadRequest {
			c.await(t, c.urls["load-balancer"]+"/lbaas/loadbalancers/"+c.vars[s.settles], "loadbalancer.provisioning_status")
		}
	}
	return out
}

func TestSimulatorMatchesRealServices(t *testing.T) {
	var actual map[string]observation
	if dir := os.Getenv("LAB_DIR"); dir != "" {
		actual = do(t, realTarget(t, dir))
		if *record {
			keep(t, actual)
		}
	} else {
		content, err := os.ReadFile(recording)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &actual); err != nil {
			t.Fatal(err)
		}
	}
	simulated := do(t, simulated(t))
	used := map[int]bool{}
	for _, s := range steps() {
		r, ok := actual[s.name]
		if !ok {
			t.Errorf("%s: was not recorded; record it with a lab", s.name)
			continue
		}
		for _, d := range differences(r, simulated[s.name]) {
			d = s.name + ": " + d
			at := reasonFor(d)
			if at < 0 {
				t.Error(d)
				continue
			}
			used[at] = true
			t.Logf("%s\n    accepted: %s", d, accepted()[at].reason)
		}
	}
	for i, a := range accepted() {
		if !used[i] {
			t.Errorf("no difference is of the kind %q any more: do not accept it", a.pattern)
		}
	}
}

func keep(t *testing.T, actual map[string]observation) {
	t.Helper()
	content, err := json.MarshalIndent(actual, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recording, append(content, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}
