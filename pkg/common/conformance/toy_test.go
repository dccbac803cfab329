package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// toyWorld is the smallest cloud that the suite can be tried on: machines, balancers and routes
// that are put and deleted whole, by name.
type toyWorld struct {
	mu        sync.Mutex
	front     *sim.Front
	machines  map[string]*toyMachine
	balancers map[string]*toyBalancer
	routes    map[string]*toyRoute
	made      int
}

type toyMachine struct {
	Machine
	ID   string
	Stop bool
}

type toyBalancer struct {
	Name      string
	Address   string
	Internal  bool
	Listeners []Listener
}

type toyRoute struct {
	Destination, Node string
	Owned             bool
}

var _ World = (*toyWorld)(nil)

func newToyWorld() *toyWorld {
	w := &toyWorld{machines: map[string]*toyMachine{}, balancers: map[string]*toyBalancer{}, routes: map[string]*toyRoute{}}
	w.front = sim.NewFront(sim.FrontOptions{
		Handler: http.HandlerFunc(w.serve),
		Describe: func(r *http.Request) sim.Operation {
			kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			return sim.Operation{Service: "toy", Name: r.Method + " " + kind, Mutating: r.Method != http.MethodGet}
		},
	})
	return w
}

// serve answers GET /kind, GET, PUT and DELETE /kind/name.
func (w *toyWorld) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var answer any
	switch {
	case kind == "machines":
		answer = slices.Collect(maps.Values(w.machines))
	case r.Method == http.MethodGet && kind == "balancers":
		answer = slices.Collect(maps.Values(w.balancers))
	case r.Method == http.MethodGet && kind == "routes":
		answer = slices.Collect(maps.Values(w.routes))
	case r.Method == http.MethodDelete && kind == "balancers":
		delete(w.balancers, name)
	case r.Method == http.MethodDelete && kind == "routes":
		delete(w.routes, name)
	case kind == "balancers":
		w.made++
		b := &toyBalancer{}
		_ = json.NewDecoder(r.Body).Decode(b)
		if b.Address == "" {
			b.Address = fmt.Sprintf("192.0.2.%d", w.made%250+1)
		}
		w.balancers[name] = b
	case kind == "routes":
		route := &toyRoute{Owned: true}
		_ = json.NewDecoder(r.Body).Decode(route)
		w.routes[name] = route
	}
	_ = json.NewEncoder(rw).Encode(answer)
}

func (w *toyWorld) Front() *sim.Front { return w.front }

func (w *toyWorld) Launch(m Machine) (*v1.Node, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	m.Zone, m.Region, m.Type = "z1", "r1", "small"
	w.machines[m.Name] = &toyMachine{Machine: m, ID: fmt.Sprintf("m-%d", w.made)}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeHostName, Address: m.Name}}},
	}, nil
}

func (w *toyWorld) Machine(name string) (Machine, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machines[name]; m != nil {
		return m.Machine, nil
	}
	return Machine{}, fmt.Errorf("no machine %s", name)
}

func (w *toyWorld) Terminate(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.machines, name)
	return nil
}

func (w *toyWorld) Stop(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machines[name].Stop = true
	return nil
}

func (w *toyWorld) LoadBalancers() []LoadBalancer {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []LoadBalancer
	for _, name := range slices.Sorted(maps.Keys(w.balancers)) {
		b := w.balancers[name]
		lb := LoadBalancer{Name: name, Internal: b.Internal, Addresses: []string{b.Address}}
		for _, l := range b.Listeners {
			// A machine that is gone receives nothing.
			l.Members = slices.DeleteFunc(slices.Clone(l.Members), func(m string) bool { return w.machines[m] == nil })
			lb.Listeners = append(lb.Listeners, l)
		}
		out = append(out, lb)
	}
	return out
}

func (w *toyWorld) DeleteLoadBalancer(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.balancers, name)
	return nil
}

func (w *toyWorld) Drift(name string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.balancers[name].Listeners[0].SourceRanges = []string{"192.0.2.0/24"}
	return []string{"balancer"}, nil
}

func (w *toyWorld) Routes() []Route {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Route
	for _, name := range slices.Sorted(maps.Keys(w.routes)) {
		r := w.routes[name]
		out = append(out, Route{Destination: r.Destination, NodeName: r.Node, Owned: r.Owned, Blackhole: r.Owned && w.machines[r.Node] == nil})
	}
	return out
}

func (w *toyWorld) AddForeignRoute(destination string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.routes[strings.ReplaceAll(destination, "/", "-")] = &toyRoute{Destination: destination}
	return nil
}

func (w *toyWorld) Objects() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return map[string]int{"machines": len(w.machines), "balancers": len(w.balancers), "routes": len(w.routes)}
}

// toyClient calls a toyWorld.
type toyClient struct{ http *http.Client }

var errToy = errors.New("toy cloud failed")

func (c toyClient) call(ctx context.Context, method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://toy/"+path, &body)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 400 {
		return fmt.Errorf("%w: %s %s: %d %w", errToy, method, path, response.StatusCode, errors.Join(err))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(content, out)
}

// toySubject is the toy provider, with one mistake or none.
func toySubject(mistake mistake) Subject {
	return Subject{
		Name:         "toy",
		Capabilities: toyCapabilities,
		Unsupported: map[string]string{
			"Service becomes invalid": "the toy reads no annotations", "held changes": "the toy declares no disruptions",
			"edit beside a held change":       "the toy declares no disruptions",
			"hand-made change beside an edit": "the toy declares no disruptions",
			"edits during another manager":    "the toy declares no disruptions",
			"restored cluster":                "the toy declares no disruptions",
			"history of another Service":      "the toy declares no disruptions",
			"hold-all is taken back":          "the toy declares no disruptions",
		},
		New: func(testing.TB) (World, Manager) {
			w := newToyWorld()
			return w, func(o ManagerOptions) (toyInterface, error) { return newToyProvider(w, mistake, o), nil }
		},
	}
}
