package compare

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// declaresBalancers returns that load balancers are not applicable for providers without them.
func declaresBalancers(d provider.Descriptor) report.Verdict {
	if d.Capabilities.LoadBalancer {
		return ""
	}
	return report.NotApplicable
}

// serviceScenario returns the scenario of a feature of Services.
func serviceScenario(id, title, detail string,
	run trialFunc) Scenario {
	return Scenario{
		ID: "service." + id, Group: groupService, Title: title, Detail: detail, Declared: declaresBalancers, Run: run,
	}
}

// basicScenario is the ID of the scenario that shows whether there are load balancers at all.
const basicScenario = "service.tcp"

func serviceScenarios() []Scenario {
	tcp := serviceScenario(strings.TrimPrefix(basicScenario, "service."), "TCP", "A Service with a TCP port gets a "+
		"load balancer with a listener, all nodes as "+
		"members, and its address in the status.", spec{service: serviceWith()}.run)
	tcp.Declared = func(d provider.Descriptor) report.Verdict {
		if d.Capabilities.LoadBalancer {
			return report.Works
		}
		return report.NotApplicable
	}
	return slices.Concat([]Scenario{tcp}, protocolScenarios(), familyScenarios(), specScenarios(), changeScenarios())
}

func protocolScenarios() []Scenario {
	return []Scenario{
		serviceScenario("udp", "UDP", "A Service with a UDP port gets a UDP listener.",
			spec{service: serviceWith(withPorts(port("dns", v1.ProtocolUDP, 53)))}.run),
		serviceScenario("sctp", "SCTP", "A Service with an SCTP port gets an SCTP listener.",
			spec{service: serviceWith(withPorts(port("diameter", v1.ProtocolSCTP, 3868)))}.run),
		serviceScenario("mixed-protocols", "TCP and UDP on one port",
			"A Service with TCP and UDP on the same port number gets a listener for each, with one address.",
			spec{service: serviceWith(withPorts(port("tcp", v1.ProtocolTCP, 53), port("udp", v1.ProtocolUDP, 53)))}.run),
		serviceScenario("several-ports", "Several ports", "Each of three ports gets a listener.",
			spec{service: serviceWith(withPorts(port("http", v1.ProtocolTCP, 80), port("https", v1.ProtocolTCP, 443),
				port("alt", v1.ProtocolTCP, 8080)))}.run),
		serviceScenario("named-ports", "Named target ports", "A target port that is the name of a container's port changes "+
			"nothing for the load balancer, which sends traffic to the node port.",
			spec{service: serviceWith(func(svc *v1.Service) { svc.Spec.Ports[0].TargetPort = intstr.FromString("http") })}.run),
	}
}

func familyScenarios() []Scenario {
	families := func(policy v1.IPFamilyPolicy, list ...v1.IPFamily) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.IPFamilyPolicy, svc.Spec.IPFamilies = &policy, list }
	}
	return []Scenario{
		serviceScenario("ipv6", "IPv6 only", "A Service with IPv6 alone gets a load balancer with IPv6 addresses alone.",
			spec{
				service:     inIPv6Subnet(newService(families(v1.IPFamilyPolicySingleStack, v1.IPv6Protocol))),
				effect:      hasFamilies("IPv6"),
				alternative: hasFamilies("IPv4, IPv6"), difference: "The load balancer has IPv4 addresses too.",
			}.run),
		serviceScenario("dual-stack", "IPv4 and IPv6",
			"A dual-stack Service gets a load balancer with addresses of both families.",
			spec{
				service: serviceWith(families(v1.IPFamilyPolicyRequireDualStack, v1.IPv4Protocol, v1.IPv6Protocol)),
				effect:  hasFamilies("IPv4, IPv6"),
			}.run),
		serviceScenario("prefer-dual-stack", "IPv4 and IPv6, if possible",
			"A Service that prefers dual stack gets a load balancer with both families, or works with one.",
			spec{
				service: serviceWith(families(v1.IPFamilyPolicyPreferDualStack, v1.IPv4Protocol, v1.IPv6Protocol)),
				effect:  hasFamilies("IPv4, IPv6"), alternative: hasFamilies("IPv4"), difference: "With IPv4 addresses alone.",
			}.run),
	}
}

// inIPv6Subnet returns a Service for a load balancer in a subnet with IPv6, if the default one has none.
func inIPv6Subnet(svc *v1.Service) func(*Trial) (*v1.Service, error) {
	return func(t *Trial) (*v1.Service, error) {
		if t.fixtures.ipv6Subnet != "" {
			metav1.SetMetaDataAnnotation(&svc.ObjectMeta, intent.KeySubnets, t.fixtures.ipv6Subnet)
		}
		return svc, nil
	}
}

// hasFamilies checks the families of the load balancer's addresses. Behind a host name, the cloud's setting counts.
func hasFamilies(want string) effect {
	return func(s *state) []report.Check {
		var got []string
		for _, text := range s.balancer.Addresses {
			switch addr, err := netip.ParseAddr(text); {
			case err != nil:
				got = append(got, valuesOf(s.Provider, addressFamilies, s.created)...)
			case addr.Is4():
				got = append(got, "IPv4")
			default:
				got = append(got, "IPv6")
			}
		}
		slices.Sort(got)
		return []report.Check{s.check("address families", want, strings.Join(slices.Compact(got), ", "))}
	}
}

func specScenarios() []Scenario {
	return []Scenario{
		serviceScenario("local-traffic", "External traffic policy Local",
			"Nodes are probed on the Service's health check node port, so that only those with a pod get traffic.",
			spec{
				service: serviceWith(func(svc *v1.Service) {
					svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
				}),
				effect: allOf(has(healthCheckProtocol, "HTTP"), checkHealthCheckNodePort),
			}.run),
		serviceScenario("source-ranges", "Source ranges", "Only the ranges of spec.loadBalancerSourceRanges may connect.",
			spec{
				service: serviceWith(func(svc *v1.Service) {
					svc.Spec.LoadBalancerSourceRanges = strings.Split(sampleRanges, ",")
				}),
				effect: hasSourceRanges(sampleRanges),
			}.run),
		serviceScenario("session-affinity", "Session affinity by client IP",
			"The load balancer keeps the connections of a client on one node.",
			spec{
				service: serviceWith(func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP }),
				effect:  has(clientIPAffinity, "on"),
			}.run),
		serviceScenario("load-balancer-ip", "spec.loadBalancerIP", "The load balancer gets the reserved address of the "+
			"deprecated field.", spec{
			service: func(t *Trial) (*v1.Service, error) {
				return newService(func(svc *v1.Service) { svc.Spec.LoadBalancerIP = t.fixtures.address }), nil
			},
			effect: checkReservedAddresses,
		}.run),
		serviceScenario("own-class", "Load balancer class of this manager",
			"With --load-balancer-classes=all, a Service with spec.loadBalancerClass unified-ccm.io/PROVIDER gets a load "+
				"balancer.",
			spec{
				service: func(t *Trial) (*v1.Service, error) {
					return newService(withClass(loadbalancer.ClassOf(t.Provider))), nil
				},
			}.run).withArgs("--load-balancer-classes=" + string(loadbalancer.AllClasses)),
		serviceScenario("foreign-class", "Load balancer class of another controller",
			"A Service with the class of another controller is left alone: nothing is created and nothing is reported.",
			foreignClass),
		serviceScenario("no-node-ports", "No node ports",
			"With allocateLoadBalancerNodePorts: false, traffic reaches pods without node ports.",
			spec{service: serviceWith(func(svc *v1.Service) { svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(false) })}.run),
	}
}

const sampleRanges = "198.51.100.7/32,203.0.113.0/24"

func withClass(name string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerClass = &name }
}

// hasSourceRanges checks who may connect to every listener.
func hasSourceRanges(ranges string) effect {
	return func(s *state) []report.Check {
		want := map[int32]string{}
		for _, l := range s.balancer.Listeners {
			want[l.Port] = ranges
		}
		return hasPortRanges(want)(s)
	}
}

// allClients stands for all clients.
const allClients = "0.0.0.0/0"

// hasPortRanges checks who may connect to each port.
func hasPortRanges(want map[int32]string) effect {
	return func(s *state) []report.Check {
		var out []report.Check
		for _, l := range s.balancer.Listeners {
			got := cmp.Or(strings.Join(slices.Sorted(slices.Values(l.SourceRanges)), ","), allClients)
			out = append(out, s.check(fmt.Sprintf("source ranges of %s %d", l.Protocol, l.Port), want[l.Port], got))
		}
		return out
	}
}

// twoPorts gives a Service the ports 22 and 443.
var twoPorts = withPorts(port("ssh", v1.ProtocolTCP, 22), port("https", v1.ProtocolTCP, 443))

// checkHealthCheckNodePort checks that nodes are probed at the port that the API server chose.
func checkHealthCheckNodePort(s *state) []report.Check {
	got := strings.Join(valuesOf(s.Provider, healthCheckPort, s.created), ", ")
	const want = "the Service's health check node port"
	if got == fmt.Sprint(s.service.Spec.HealthCheckNodePort) {
		got = want
	}
	return []report.Check{s.check(string(healthCheckPort), want, got)}
}

// foreignClass expects that nothing happens.
func foreignClass(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	s, err := t.apply(ctx, newService(withClass("example.com/other")))
	if err != nil {
		return "", "", err
	}
	nothing := s.check("load balancers", "0", fmt.Sprint(len(t.cluster.Cloud.World.LoadBalancers())))
	changes := s.check("objects created or changed in the cloud", "0", fmt.Sprint(len(s.created)))
	switch {
	case s.unsupported(withoutBalancers) != "":
		return report.NotApplicable, "The manager has no load balancers: " + s.unsupported(withoutBalancers), nil
	case nothing.OK && changes.OK:
		return report.Works, "Nothing was created.", nil
	default:
		return report.Ignored, "The class was ignored: " + describe([]report.Check{nothing, changes}), nil
	}
}

func changeScenarios() []Scenario {
	return []Scenario{
		serviceScenario("port-changed", "Port changed", "When a port changes, its listener does too, and the address stays.",
			changed(withPorts(port("http", v1.ProtocolTCP, 8080)), func(before, after *state) []report.Check {
				return append(base(after), after.check("address", strings.Join(before.balancer.Addresses, ", "),
					strings.Join(after.balancer.Addresses, ", ")))
			})),
		serviceScenario("type-changed", "Type changed", "A Service that becomes a ClusterIP loses its load balancer, its "+
			"address and the finalizer.",
			changed(func(svc *v1.Service) { svc.Spec.Type = v1.ServiceTypeClusterIP }, checkNoBalancer)),
		serviceScenario("deletion", "Deletion", "When a Service is deleted, everything that was created for it is deleted.",
			deletion),
		serviceScenario("node-joins", "Node joins", "A node that joins becomes a member of existing load balancers.",
			nodeJoins),
		serviceScenario("node-excluded", "Node excluded", "A node with the label "+v1.LabelNodeExcludeBalancers+
			" is not a member.", nodeExcluded),
		serviceScenario("restart", "Restart", "A manager that restarts changes nothing in the cloud.", restart).
			asPeriodic(), // A manager that starts reads for nodes and Services at once.
	}
}

// changed applies a Service, edits it, and compares both states.
func changed(edit func(*v1.Service), compare func(before, after *state) []report.Check) trialFunc {
	return func(ctx context.Context, t *Trial) (report.Verdict, string, error) {
		before, err := t.apply(ctx, newService())
		if err != nil || before.balancer == nil {
			return before.decideUnlessError(err)
		}
		after, err := t.apply(ctx, newService(edit))
		if err != nil {
			return "", "", err
		}
		wantsBalancer := after.service.Spec.Type == v1.ServiceTypeLoadBalancer
		if wantsBalancer && after.balancer == nil {
			verdict, summary := after.decide(spec{})
			return verdict, summary, nil
		}
		checks := compare(before, after)
		if allOK(checks) {
			return report.Works, describeOK(checks), nil
		}
		if warning := warningOf(after.events); warning != "" {
			return report.Refuses, warning, nil
		}
		verdict, summary := decide(observation{exists: true, effect: checks})
		return verdict, summary, nil
	}
}

// decideUnlessError returns the error, or without one the verdict about a Service.
func (s *state) decideUnlessError(err error) (report.Verdict, string, error) {
	if err != nil {
		return "", "", err
	}
	verdict, summary := s.decide(spec{})
	return verdict, summary, nil
}

// checkNoBalancer checks that a Service and the cloud have nothing of a load balancer.
func checkNoBalancer(_, s *state) []report.Check {
	return []report.Check{
		s.check("load balancers", "0", fmt.Sprint(len(s.cluster.Cloud.World.LoadBalancers()))),
		s.check("finalizers", "", strings.Join(s.service.Finalizers, ", ")),
		s.check("status", "", strings.Join(statusAddresses(s.service), ", ")),
	}
}

func deletion(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	s, err := t.apply(ctx, newService(withPorts(port("http", v1.ProtocolTCP, 80), port("https", v1.ProtocolTCP, 443))))
	if err != nil || s.balancer == nil {
		return s.decideUnlessError(err)
	}
	if err := t.deleteService(ctx, serviceName); err != nil {
		return "", "", err
	}
	if err := t.waitUntilQuiet(ctx); err != nil {
		return "", "", err
	}
	orphans := lab.NewObjects(t.before, t.inventory())
	check := t.check("objects left in the cloud", "", strings.Join(orphans, ", "))
	t.evidence.After = objects(t.inventory())
	if check.OK {
		return report.Works, fmt.Sprintf("%d objects were deleted.", len(s.created)), nil
	}
	return report.WorksDifferently, "Left in the cloud: " + strings.Join(orphans, ", "), nil
}

func nodeJoins(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	s, err := t.apply(ctx, newService())
	if err != nil || s.balancer == nil {
		return s.decideUnlessError(err)
	}
	node, err := t.join(ctx, "joins")
	if err != nil {
		return "", "", err
	}
	return t.waitForMembers(ctx, "members", append(slices.Clone(t.nodes), node))
}

func nodeExcluded(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	s, err := t.apply(ctx, newService())
	if err != nil || s.balancer == nil {
		return s.decideUnlessError(err)
	}
	excluded := t.nodes[0]
	if err := t.label(ctx, excluded, v1.LabelNodeExcludeBalancers, ""); err != nil {
		return "", "", err
	}
	t.addCleanup(func(ctx context.Context) error { return t.unlabel(ctx, excluded, v1.LabelNodeExcludeBalancers) })
	return t.waitForMembers(ctx, "members", t.nodes[1:])
}

// waitForMembers waits until the listeners have these members.
func (t *Trial) waitForMembers(ctx context.Context, what string, want []string) (report.Verdict, string, error) {
	want = slices.Sorted(slices.Values(want))
	var got []string
	err := t.waitFor(ctx, t.scaled(syncTimeout), func(context.Context) (bool, error) {
		got = nil
		for _, lb := range t.cluster.Cloud.World.LoadBalancers() {
			for _, l := range lb.Listeners {
				got = slices.Sorted(slices.Values(l.Members))
			}
		}
		return slices.Equal(got, want), nil
	})
	if err != nil {
		return "", "", err
	}
	s, err := t.observe(ctx, serviceName)
	if err != nil {
		return "", "", err
	}
	check := t.check(what, strings.Join(want, ", "), strings.Join(got, ", "))
	verdict, summary := decide(observation{
		exists: true, effect: []report.Check{check}, warning: warningOf(s.events),
	})
	return verdict, summary, nil
}

func restart(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	s, err := t.apply(ctx, newService())
	if err != nil || s.balancer == nil {
		return s.decideUnlessError(err)
	}
	before := t.log().MutationCount()
	_, synced, err := t.syncs(ctx, serviceName)
	if err != nil {
		return "", "", err
	}
	if err := t.restartManager(ctx); err != nil {
		return "", "", err
	}
	if err := t.awaitSync(ctx, serviceName, synced); err != nil {
		return "", "", err
	}
	if _, err := t.observe(ctx, serviceName); err != nil {
		return "", "", err
	}
	changes := t.log().MutationCount() - before
	check := t.check("changes after the restart", "0", fmt.Sprint(changes))
	if check.OK {
		return report.Works, "The restart made no change.", nil
	}
	return report.WorksDifferently, "The restart made " + screen.Plural(changes, "change") + ".", nil
}
