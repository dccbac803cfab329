package screen

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var at = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// ready is a cluster of two nodes and two Services in which nothing is missing.
func ready() State {
	return State{
		Provider: "fake", Running: 31*time.Second + 200*time.Millisecond, Want: Want{Nodes: 2, Services: 2, Routes: 2},
		Nodes: []Node{
			{Name: "node-1", Ready: true, Initialised: true, ProviderID: "fake://a/i-1", Zone: "a", Type: "small", InternalIP: "127.65.0.1"},
			{Name: "node-2", Ready: true, Initialised: true, ProviderID: "fake://b/i-2", Zone: "b", Type: "small", InternalIP: "127.65.0.2"},
		},
		Services: []Service{
			{Namespace: "demo", Name: "dns", Ports: []string{"5353/UDP"}, Addresses: []string{"127.67.0.1"}, Answers: "node-2",
				LoadBalancer: &LoadBalancer{Internal: true, Listeners: 1, Members: 2, Nodes: 2}},
			{Namespace: "demo", Name: "web", Ports: []string{"8080/TCP"}, Addresses: []string{"127.66.0.1"},
				LoadBalancer: &LoadBalancer{Listeners: 1, Members: 2, Nodes: 2, SourceRanges: []string{"203.0.113.0/24"}}},
		},
		Routes:  Routes{Ready: 2},
		Objects: []Count{{"instances", 2}, {"members", 12}},
		Calls: []Operation{
			{Name: "CreateLoadBalancer", Mutating: true, Calls: 3, Failed: 1}, {Name: "ListInstances", Calls: 11},
		},
		Events: []Event{
			{At: at, Object: "Node node-1", Reason: "Synced", Message: "Node synced\n successfully", Times: 1},
			{At: at.Add(time.Second), Object: "Service demo/web", Warning: true, Reason: "SyncLoadBalancerFailed", Message: "no quota", Times: 3},
		},
	}
}

func TestScreen(t *testing.T) {
	want := `unified-ccm lab  cloud fake  up 31s
ready: 2/2 nodes initialized, 2/2 load balancers ready, 2/2 routes

NODES 2/2
NODE    READY  INITIALIZED  PROVIDER ID   ZONE  TYPE   INTERNAL IP
node-1  yes    yes          fake://a/i-1  a     small  127.65.0.1
node-2  yes    yes          fake://b/i-2  b     small  127.65.0.2

SERVICES 2/2
SERVICE   PORTS     SCHEME    ADDRESS     LISTENERS  MEMBERS  OPEN TO         ANSWERS
demo/dns  5353/UDP  internal  127.67.0.1  1/1        2/2      everyone        node-2
demo/web  8080/TCP  public    127.66.0.1  1/1        2/2      203.0.113.0/24  -

CLOUD OBJECTS
 2 instances    12 members

CLOUD CALLS  11 that read, 3 that change
 3 CreateLoadBalancer (1 failed)    11 ListInstances

EVENTS
15:04:05  Node node-1  Synced  Node synced successfully
15:04:06  Service demo/web  SyncLoadBalancerFailed  no quota (3 times)

Ctrl-C ends it
`
	got := Screen(ready(), Options{Width: 100, Height: 40, Hints: []string{"Ctrl-C ends it"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Screen (-want +got):\n%s", diff)
	}
}

func TestScreenOfNothing(t *testing.T) {
	want := `unified-ccm lab  cloud fake  up 0s
starting: 0/3 nodes initialized, 0/4 load balancers ready, 0/3 routes

NODES 0/3
NODE  READY  INITIALIZED  PROVIDER ID  ZONE  TYPE  INTERNAL IP

SERVICES 0/4
SERVICE  PORTS  SCHEME  ADDRESS  LISTENERS  MEMBERS  OPEN TO  ANSWERS

CLOUD OBJECTS
none yet

CLOUD CALLS  0 that read, 0 that change
none yet

EVENTS
none yet

`
	got := Screen(State{Provider: "fake", Want: Want{Nodes: 3, Services: 4, Routes: 3}}, Options{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Screen (-want +got):\n%s", diff)
	}
}

func TestScreenFits(t *testing.T) {
	s := ready()
	for range 40 {
		s.Nodes = append(s.Nodes, s.Nodes[0])
		s.Events = append(s.Events, s.Events[0])
	}
	s.Events[len(s.Events)-1].Reason = "TheLatest"
	got := Screen(s, Options{Width: 80, Height: 36, Hints: []string{"Ctrl-C ends it"}})
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 36 {
		t.Errorf("%d lines, want the 36 that there is room for:\n%s", len(lines), got)
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 80 {
			t.Errorf("a line is %d wide, want 80 at most: %s", n, l)
		}
	}
	for _, want := range []string{"more\n\nSERVICES", "EVENTS\n… ", "TheLatest", "demo/web", "Ctrl-C ends it"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestTables(t *testing.T) {
	s := ready()
	s.Problems = []string{"a port is taken"}
	got := Tables(s, Options{})
	for _, want := range []string{"node-2", "demo/web", "CLOUD OBJECTS", "CLOUD CALLS", "PROBLEMS\na port is taken\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "EVENTS") || strings.Contains(got, "\x1b") {
		t.Errorf("events or colours in:\n%s", got)
	}
	if coloured := Tables(s, Options{Colour: true}); !strings.Contains(coloured, "\x1b[32myes\x1b[0m") {
		t.Errorf("no colours in:\n%q", coloured)
	}
}

func TestMissing(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*State)
		want    []string
		summary string
	}{
		"nothing": {func(*State) {}, nil, "2/2 nodes initialized, 2/2 load balancers ready, 2/2 routes"},
		"an unknown node": {func(s *State) { s.Nodes[1].ProviderID = "" },
			[]string{"node node-2 has no provider ID yet"}, "1/2 nodes initialized, 2/2 load balancers ready, 2/2 routes"},
		"a node with its taint": {func(s *State) { s.Nodes[1].Initialised = false },
			[]string{"node node-2 still has the taint node.cloudprovider.kubernetes.io/uninitialized"}, "1/2 nodes initialized, 2/2 load balancers ready, 2/2 routes"},
		"a node that was never there": {func(s *State) { s.Nodes = s.Nodes[:1] },
			[]string{"1 node not registered yet"}, "1/2 nodes initialized, 2/2 load balancers ready, 2/2 routes"},
		"an address, with the reason": {func(s *State) { s.Services[1].Addresses, s.Services[1].LoadBalancer = nil, nil },
			[]string{"Service demo/web has no address yet: SyncLoadBalancerFailed: no quota (3 times)"}, "2/2 nodes initialized, 1/2 load balancers ready, 2/2 routes"},
		"a load balancer that someone deleted": {func(s *State) { s.Services[0].LoadBalancer = nil },
			[]string{"Service demo/dns has address 127.67.0.1, but the cloud has no load balancer with it"}, "2/2 nodes initialized, 1/2 load balancers ready, 2/2 routes"},
		"a listener": {func(s *State) { s.Services[0].LoadBalancer.Listeners = 0 },
			[]string{"Service demo/dns has a load balancer with 0 of 1 listener"}, "2/2 nodes initialized, 1/2 load balancers ready, 2/2 routes"},
		"a member": {func(s *State) { s.Services[0].LoadBalancer.Members = 1 },
			[]string{"Service demo/dns has a load balancer that sends traffic to 1 of 2 ready nodes"}, "2/2 nodes initialized, 1/2 load balancers ready, 2/2 routes"},
		"all Services": {func(s *State) { s.Services = nil },
			[]string{"2 Services not created yet"}, "2/2 nodes initialized, 0/2 load balancers ready, 2/2 routes"},
		"routes": {func(s *State) { s.Routes = Routes{Ready: 1, Blackholes: 1} },
			[]string{"1 route to a deleted node"}, "2/2 nodes initialized, 2/2 load balancers ready, 1/2 routes"},
		"a route": {func(s *State) { s.Routes.Ready = 1 },
			[]string{"1 route not created yet"}, "2/2 nodes initialized, 2/2 load balancers ready, 1/2 routes"},
		"a route, with the reason": {func(s *State) {
			s.Routes.Ready = 1
			s.Nodes[0].ProviderID = ""
			s.Events = append(s.Events, Event{Object: "Node node-1", Warning: true, Reason: "FailedToCreateRoute", Message: "no room"})
		}, []string{"node node-1 has no provider ID yet", "1 route not created yet: FailedToCreateRoute: no room"}, "1/2 nodes initialized, 2/2 load balancers ready, 1/2 routes"},
		"a cloud without routes": {func(s *State) { s.Want.Routes, s.Routes.Ready = 0, 0 },
			nil, "2/2 nodes initialized, 2/2 load balancers ready"},
		"ccm": {func(s *State) { s.Ended = "exit status 1: no such file" },
			[]string{"ccm ended: exit status 1: no such file"}, "2/2 nodes initialized, 2/2 load balancers ready, 2/2 routes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready()
			test.change(&s)
			got := s.Missing()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Missing (-want +got):\n%s", diff)
			}
			if s.Ready() != (len(test.want) == 0) {
				t.Errorf("Ready is %t, and missing is %q", s.Ready(), got)
			}
			if got := s.Summary(); got != test.summary {
				t.Errorf("Summary is %q, want %q", got, test.summary)
			}
		})
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"abc", 1, "…"}, {"abc", 0, ""},
	} {
		if got := clip(test.text, test.width); got != test.want {
			t.Errorf("clip(%q, %d) is %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestTerminal(t *testing.T) {
	var b strings.Builder
	terminal := OpenTerminal(&b)
	terminal.Draw("a\nb\n")
	sent := b.Len()
	terminal.Draw("a\nb\n")
	if b.Len() != sent {
		t.Error("a frame that is shown already was sent again")
	}
	terminal.Close()
	want := "\x1b[?1049h\x1b[?25l\x1b[2J" + "\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J" + "\x1b[?25h\x1b[?1049l"
	if b.String() != want {
		t.Errorf("sent %q, want %q", b.String(), want)
	}
}
