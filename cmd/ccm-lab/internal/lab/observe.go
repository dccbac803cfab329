package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const (
	// probeInterval is the interval at which each load balancer is probed, and probeTimeout the timeout of a probe.
	probeInterval = 2 * time.Second
	probeTimeout  = time.Second
	// eventsShown and problemsShown limit the rows on the screen.
	eventsShown   = 50
	problemsShown = 3
)

// Observer reads the state of a cluster and its cloud. It is not safe for concurrent use.
type Observer struct {
	Cluster *Cluster
	Want    screen.Want
	// settled is set once everything expected exists. From then on the user adds and deletes, and the existing
	// objects are the expected ones.
	settled bool
	// EchoServers follow the observed state, and are probed through the load balancers; nil without a data plane.
	EchoServers *EchoServers
	// Provider and Started are displayed.
	Provider string
	Started  time.Time

	probedAt time.Time
	answers  map[string]string
}

// Observe returns the current state.
func (o *Observer) Observe(ctx context.Context) (screen.State, error) {
	core := o.Cluster.Plane.Client.CoreV1()
	nodes, err := core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return screen.State{}, fmt.Errorf("listing nodes: %w", err)
	}
	all, err := core.Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return screen.State{}, fmt.Errorf("listing Services: %w", err)
	}
	events, err := core.Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return screen.State{}, fmt.Errorf("listing Events: %w", err)
	}
	services := slices.DeleteFunc(all.Items,
		func(svc v1.Service) bool { return svc.Spec.Type != v1.ServiceTypeLoadBalancer })
	state := screen.State{
		Provider: o.Provider, Running: time.Since(o.Started), Want: o.Want,
		Nodes: describeNodes(nodes.Items), Services: describeServices(services, o.balancers(nodes.Items)),
		Events: describeEvents(events.Items), Ended: strings.TrimPrefix(o.Cluster.Ended(), "ccm ended: "),
	}
	o.describeClouds(&state)
	if o.settled {
		state.Want = screen.Want{Routes: min(o.Want.Routes, 1) * len(nodes.Items)}
	}
	o.settled = o.settled || state.Ready()
	if o.EchoServers != nil {
		o.EchoServers.Sync(ctx, nodes.Items, services)
		state.Problems = firstOf(o.EchoServers.Problems(), problemsShown)
		o.probeAll(ctx, services)
		for i, svc := range state.Services {
			state.Services[i].Answers = o.answers[svc.Namespace+"/"+svc.Name]
		}
	}
	return state, nil
}

// Expect creates echo servers for Services that will be created with these node ports.
func (o *Observer) Expect(ctx context.Context, services []*v1.Service) error {
	if o.EchoServers == nil {
		return nil
	}
	nodes, err := o.Cluster.Plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	expected := make([]v1.Service, 0, len(services))
	for _, svc := range services {
		expected = append(expected, *svc)
	}
	o.EchoServers.Sync(ctx, nodes.Items, expected)
	return nil
}

// firstOf returns the first n of a list, and a line with the number of the others.
func firstOf(list []string, n int) []string {
	if len(list) <= n+1 {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("… and %d more", len(list)-n))
}

// probeAll probes every load balancer, unless it was probed recently.
func (o *Observer) probeAll(ctx context.Context, services []v1.Service) {
	if time.Since(o.probedAt) < probeInterval {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	o.answers = map[string]string{}
	for _, svc := range services {
		if len(svc.Status.LoadBalancer.Ingress) == 0 || len(svc.Spec.Ports) == 0 {
			continue
		}
		address, port := svc.Status.LoadBalancer.Ingress[0].IP, svc.Spec.Ports[0]
		wg.Go(func() {
			responder := probe(ctx, port.Protocol, address, port.Port)
			mu.Lock()
			defer mu.Unlock()
			o.answers[svc.Namespace+"/"+svc.Name] = responder
		})
	}
	wg.Wait()
	o.probedAt = time.Now()
}

// Answered reports whether an echo server answers through every load balancer that was probed.
func Answered(s screen.State) bool {
	return !slices.ContainsFunc(s.Services, func(svc screen.Service) bool { return svc.Answers == noAnswer })
}

// ProbeAgain makes the next Observe probe every load balancer.
func (o *Observer) ProbeAgain() { o.probedAt = time.Time{} }

// describeClouds adds the routes, the objects and the calls of all clouds. With several, each name begins with that of
// its cloud.
func (o *Observer) describeClouds(state *screen.State) {
	for _, cloud := range o.Cluster.Clouds {
		prefix := ""
		if len(o.Cluster.Clouds) > 1 {
			prefix = cloud.Provider + " "
		}
		routes := describeRoutes(cloud.World.Routes())
		state.Routes.Ready += routes.Ready
		state.Routes.Blackholes += routes.Blackholes
		for _, count := range describeObjects(cloud.World.Objects()) {
			count.Kind = prefix + count.Kind
			state.Objects = append(state.Objects, count)
		}
		for _, s := range cloud.World.Front().Log().Stats() {
			state.Calls = append(state.Calls, screen.Operation{
				Name: prefix + s.Name, Mutating: s.Mutating, Calls: s.Calls, Failed: s.Failed + s.NoAnswer,
			})
		}
	}
}

func describeNodes(nodes []v1.Node) []screen.Node {
	out := make([]screen.Node, 0, len(nodes))
	for _, node := range nodes {
		out = append(out, screen.Node{
			Name: node.Name, Ready: isReady(node), Initialised: IsInitialised(node), ProviderID: node.Spec.ProviderID,
			Zone: node.Labels[v1.LabelTopologyZone], Type: node.Labels[v1.LabelInstanceTypeStable], InternalIP: internalIP(node),
		})
	}
	slices.SortFunc(out, func(a, b screen.Node) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func isReady(node v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	})
}

// IsInitialised reports whether a cloud controller manager has initialised the node.
func IsInitialised(node v1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints,
		func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// balancers are the load balancers of a cloud, and the number of members that each should have.
type balancers struct {
	all     []world.LoadBalancer
	members int
}

// balancers returns those of all clouds. With several, members are the nodes with a provider ID of the cloud.
func (o *Observer) balancers(nodes []v1.Node) []balancers {
	var list []balancers
	for _, cloud := range o.Cluster.Clouds {
		own := nodes
		if len(o.Cluster.Clouds) > 1 {
			own = slices.DeleteFunc(slices.Clone(nodes), func(n v1.Node) bool {
				return !strings.HasPrefix(n.Spec.ProviderID, cloud.Provider+"://")
			})
		}
		list = append(list, balancers{cloud.World.LoadBalancers(), countMembers(own)})
	}
	return list
}

func countMembers(nodes []v1.Node) int {
	members := 0
	for _, node := range nodes {
		if isReady(node) && IsInitialised(node) {
			members++
		}
	}
	return members
}

func describeServices(services []v1.Service, clouds []balancers) []screen.Service {
	slices.SortFunc(services, func(a, b v1.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var out []screen.Service
	for _, svc := range services {
		s := screen.Service{Namespace: svc.Namespace, Name: svc.Name}
		for _, port := range svc.Spec.Ports {
			s.Ports = append(s.Ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
		}
		for _, ingress := range svc.Status.LoadBalancer.Ingress {
			s.Addresses = append(s.Addresses, cmp.Or(ingress.IP, ingress.Hostname))
		}
		for _, cloud := range clouds {
			for _, lb := range cloud.all {
				if slices.ContainsFunc(lb.Addresses, func(a string) bool { return slices.Contains(s.Addresses, a) }) {
					s.LoadBalancer = describeLoadBalancer(lb, cloud.members)
				}
			}
		}
		out = append(out, s)
	}
	return out
}

func describeLoadBalancer(lb world.LoadBalancer, nodes int) *screen.LoadBalancer {
	out := &screen.LoadBalancer{Internal: lb.Internal, Listeners: len(lb.Listeners), Members: nodes, Nodes: nodes}
	for _, l := range lb.Listeners {
		out.Members = min(out.Members, len(l.Members))
		for _, r := range l.SourceRanges {
			if r != "0.0.0.0/0" && r != "::/0" && !slices.Contains(out.SourceRanges, r) {
				out.SourceRanges = append(out.SourceRanges, r)
			}
		}
	}
	return out
}

func describeRoutes(routes []world.Route) screen.Routes {
	var out screen.Routes
	for _, r := range routes {
		switch {
		case !r.Owned:
		case r.Blackhole:
			out.Blackholes++
		default:
			out.Ready++
		}
	}
	return out
}

func describeObjects(counts map[string]int) []screen.Count {
	var out []screen.Count
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		if counts[kind] > 0 {
			out = append(out, screen.Count{Kind: kind, N: counts[kind]})
		}
	}
	return out
}

func describeEvents(events []v1.Event) []screen.Event {
	out := make([]screen.Event, 0, len(events))
	for _, e := range events {
		object := e.InvolvedObject.Kind + " " + e.InvolvedObject.Name
		if e.InvolvedObject.Namespace != "" {
			object = e.InvolvedObject.Kind + " " + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name
		}
		out = append(out, screen.Event{
			At: EventTime(e), Warning: e.Type == v1.EventTypeWarning, Object: object,
			Reason: e.Reason, Message: e.Message, Times: int(max(e.Count, 1)),
		})
	}
	slices.SortStableFunc(out, func(a, b screen.Event) int { return a.At.Compare(b.At) })
	if len(out) > eventsShown {
		out = out[len(out)-eventsShown:]
	}
	return out
}

// EventTime returns the time of an Event, whichever field has it.
func EventTime(e v1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	default:
		return e.CreationTimestamp.Time
	}
}
