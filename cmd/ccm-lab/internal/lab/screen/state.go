// Package screen renders the state of a lab's cluster and its cloud as text: what exists, what is missing and
// why. It is pure except for the terminal: a State goes in, lines come out.
package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is the state of a cluster and its cloud at one moment.
type State struct {
	// Provider is the name of the cloud, and Running the uptime of the lab.
	Provider string
	Running  time.Duration
	// Want is the expected size. Objects that a user adds come on top.
	Want Want

	Nodes    []Node
	Services []Service
	Routes   Routes
	// Objects and Calls of the cloud, in display order.
	Objects []Count
	Calls   []Operation
	// Events, the latest last.
	Events []Event
	// Ended describes how the ccm process ended; empty while it runs.
	Ended string
	// Problems of the lab itself, such as a port that is in use.
	Problems []string
}

// Want is the size of a lab.
type Want struct{ Nodes, Services, Routes int }

// Node is a Node of the cluster.
type Node struct {
	Name               string
	Ready, Initialised bool
	ProviderID         string
	Zone, Type         string
	InternalIP         string
}

// Service is a Service of type LoadBalancer, and its state.
type Service struct {
	Namespace, Name string
	// Ports as the spec lists them, such as "8080/TCP".
	Ports []string
	// Addresses are those of the Service's status.
	Addresses []string
	// LoadBalancer is the cloud's load balancer with one of these addresses, nil without one.
	LoadBalancer *LoadBalancer
	// Answers is the name of the last echo server that answered through the load balancer; empty before the first
	// probe.
	Answers string
}

// LoadBalancer is a load balancer of the cloud.
type LoadBalancer struct {
	Internal  bool
	Listeners int
	// Members is the number of members of the smallest listener, out of Nodes eligible ones.
	Members, Nodes int
	// SourceRanges that may connect; empty for everyone.
	SourceRanges []string
}

// Routes are the pod routes of nodes.
type Routes struct {
	// Ready is the number of own routes to an existing node; the other own routes are blackholes.
	Ready, Blackholes int
}

// Count is the number of objects of one kind.
type Count struct {
	Kind string
	N    int
}

// Operation counts the calls of one kind.
type Operation struct {
	Name     string
	Mutating bool
	// Calls is the total, Failed those with an error or without a reply.
	Calls, Failed int
}

// Event is a Kubernetes Event.
type Event struct {
	At      time.Time
	Warning bool
	// Object is kind and name, such as "Service demo/web".
	Object          string
	Reason, Message string
	// Times it happened.
	Times int
}

// problem returns what the Service lacks, or "".
func (s Service) problem() string {
	lb := s.LoadBalancer
	switch {
	case len(s.Addresses) == 0:
		return "has no address yet"
	case lb == nil:
		return fmt.Sprintf("has address %s, but the cloud has no load balancer with it", s.Addresses[0])
	case lb.Listeners != len(s.Ports):
		return fmt.Sprintf("has a load balancer with %d of %s", lb.Listeners, Plural(len(s.Ports), "listener"))
	case lb.Members < lb.Nodes || lb.Nodes == 0:
		return fmt.Sprintf("has a load balancer that sends traffic to %d of %s", lb.Members, Plural(lb.Nodes, "ready node"))
	default:
		return ""
	}
}

// problem returns what a node lacks, or "".
func (n Node) problem() string {
	switch {
	case n.ProviderID == "":
		return "has no provider ID yet"
	case !n.Initialised:
		return "still has the taint node.cloudprovider.kubernetes.io/uninitialized"
	default:
		return ""
	}
}

// totals counts what is ready, and what is expected.
type totals struct{ nodes, wantNodes, services, wantServices, routes, wantRoutes int }

func (s State) totals() totals {
	t := totals{
		wantNodes:    max(s.Want.Nodes, len(s.Nodes)),
		wantServices: max(s.Want.Services, len(s.Services)),
		routes:       s.Routes.Ready, wantRoutes: s.Want.Routes,
	}
	// A node that a user adds gets a route too, in a cloud with routes.
	if s.Want.Routes > 0 {
		t.wantRoutes = max(s.Want.Routes, s.Routes.Ready+s.Routes.Blackholes)
	}
	for _, n := range s.Nodes {
		if n.problem() == "" {
			t.nodes++
		}
	}
	for _, svc := range s.Services {
		if svc.problem() == "" {
			t.services++
		}
	}
	return t
}

// Ready reports whether everything expected exists.
func (s State) Ready() bool {
	t := s.totals()
	return s.Ended == "" && t.nodes == t.wantNodes && t.services == t.wantServices && t.routes == t.wantRoutes
}

// Initialised reports whether all expected nodes are initialised.
func (s State) Initialised() bool {
	t := s.totals()
	return t.nodes == t.wantNodes
}

// Summary formats the state in one line, such as "3/3 nodes initialized, 4/4 load balancers ready, 3/3
// routes".
func (s State) Summary() string {
	t := s.totals()
	text := fmt.Sprintf("%d/%d nodes initialized, %d/%d load balancers ready", t.nodes, t.wantNodes, t.services,
		t.wantServices)
	if t.wantRoutes > 0 {
		text += fmt.Sprintf(", %d/%d routes", t.routes, t.wantRoutes)
	}
	return text
}

// Missing returns what each object that is not ready lacks and, if an Event warns about it, why. It is empty
// for a State that is Ready.
func (s State) Missing() []string {
	var out []string
	if s.Ended != "" {
		out = append(out, "ccm ended: "+s.Ended)
	}
	t := s.totals()
	if n := t.wantNodes - len(s.Nodes); n > 0 {
		out = append(out, Plural(n, "node")+" not registered yet")
	}
	for _, n := range s.Nodes {
		if problem := n.problem(); problem != "" {
			out = append(out, fmt.Sprintf("node %s %s%s", n.Name, problem, s.warningAbout("Node "+n.Name)))
		}
	}
	if n := t.wantServices - len(s.Services); n > 0 {
		out = append(out, Plural(n, "Service")+" not created yet")
	}
	for _, svc := range s.Services {
		if problem := svc.problem(); problem != "" {
			name := svc.Namespace + "/" + svc.Name
			out = append(out, fmt.Sprintf("Service %s %s%s", name, problem, s.warningAbout("Service "+name)))
		}
	}
	if s.Routes.Blackholes > 0 {
		out = append(out, Plural(s.Routes.Blackholes, "route")+" to a deleted node")
	}
	if n := t.wantRoutes - t.routes - s.Routes.Blackholes; n > 0 {
		out = append(out, Plural(n, "route")+" not created yet"+s.lastWarning(isAboutRoutes))
	}
	return out
}

// warningAbout returns the last warning about an object.
func (s State) warningAbout(object string) string {
	return s.lastWarning(func(e Event) bool { return e.Object == object && !isAboutRoutes(e) })
}

// isAboutRoutes distinguishes warnings about a node's route from those about the node.
func isAboutRoutes(e Event) bool { return strings.Contains(e.Reason, "Route") }

func (s State) lastWarning(about func(Event) bool) string {
	for _, e := range slices.Backward(s.Events) {
		if !e.Warning || !about(e) {
			continue
		}
		times := ""
		if e.Times > 1 {
			times = fmt.Sprintf(" (%d times)", e.Times)
		}
		return fmt.Sprintf(": %s: %s%s", e.Reason, oneLine(e.Message), times)
	}
	return ""
}

// Plural formats a number and a noun, such as "3 nodes".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
