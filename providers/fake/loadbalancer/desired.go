package loadbalancer

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
)

// The default health check. A node that fails is out after 30 seconds, which is about as long as Kubernetes
// itself takes to mark it as not ready, and back in after 20.
const (
	defaultInterval           = 10 * time.Second
	defaultTimeout            = 5 * time.Second
	defaultHealthyThreshold   = 2
	defaultUnhealthyThreshold = 3
)

// SharedState are what Services share and do not own.
type SharedState struct {
	// Zones are the names of the region's zones.
	Zones []string
}

// Desired are the objects that should exist for one Service.
type Desired struct {
	// LoadBalancer omits AddressIDs: the addresses may not exist yet, and Diff has their handles.
	LoadBalancer api.LoadBalancerSpec
	// Addresses of a public load balancer, in the order of the Service's families. IP is set for those that the
	// user chose; the others accept any address of ours.
	Addresses []api.AddressSpec
	// Pools with their members, and Listeners, one of each for each port.
	Pools     []api.Pool
	Listeners []api.Listener
	// Fields are intent.Service.Fields.
	Fields map[string]string
}

// target is a node with its instance and zone.
type target struct{ instanceID, zone string }

// targetsOf returns the instances of nodes. A node without a provider ID, or with another cloud's, has no
// instance here and receives no traffic.
func targetsOf(nodes []*v1.Node, instanceID func(providerID string) (string, error)) []target {
	targets := make([]target, 0, len(nodes))
	for _, node := range nodes {
		id, err := instanceID(node.Spec.ProviderID)
		if err != nil {
			continue
		}
		targets = append(targets, target{id, node.Labels[v1.LabelTopologyZone]})
	}
	sorting.Func(targets, func(a, b target) int { return cmp.Compare(a.instanceID, b.instanceID) })
	return slices.Compact(targets)
}

// desire computes the objects that should exist for a Service. It is pure.
func desire(key lbcommon.Key, in intent.Service, targets []target, shared SharedState) (Desired, error) {
	problems := in.NewProblems()
	name := loadBalancerName(key)
	for _, tag := range slices.Sorted(maps.Keys(in.Tags)) {
		if strings.HasPrefix(tag, tagPrefix) {
			problems.Addf(intent.KeyTags, tag+"="+in.Tags[tag],
				"tags that begin with %s mark the owner of an object; choose another key", tagPrefix)
		}
	}
	lb := api.LoadBalancerSpec{
		Name:     name,
		Cluster:  key.ClusterName,
		Scheme:   string(in.Scheme),
		Families: familyNames(in.Families),
		Subnets:  in.Subnets,
		Tags:     ownTags(key, in.Tags),
	}
	d := Desired{LoadBalancer: lb, Addresses: desireAddresses(lb, in, &problems), Fields: in.Fields}
	zones := annotation.Read(in, &problems).MemberZones
	checkZones(zones, shared, in.Annotations[annotation.KeyMemberZones], &problems)
	for _, port := range in.Ports {
		d.Pools = append(d.Pools, desirePool(in, port, filterZones(targets, zones)))
		d.Listeners = append(d.Listeners, desireListener(in, port))
	}
	return d, problems.Err(in.Subject())
}

// checkZones refuses zones that the region does not have.
func checkZones(zones []string, shared SharedState, value string, problems *intent.Problems) {
	for _, zone := range zones {
		if !slices.Contains(shared.Zones, zone) {
			problems.Addf(annotation.KeyMemberZones, value, "%s is not a zone of this region; its zones are %s",
				intent.Quote(zone), strings.Join(shared.Zones, ", "))
		}
	}
}

func filterZones(targets []target, zones []string) []target {
	if zones == nil {
		return targets
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !slices.Contains(zones, t.zone) })
}

// desireAddresses returns one address for each family of a public Service, with the user's IP if there is
// one.
func desireAddresses(lb api.LoadBalancerSpec, in intent.Service, problems *intent.Problems) []api.AddressSpec {
	static := staticAddresses(in, problems)
	if in.Scheme != intent.Public {
		return nil
	}
	var specs []api.AddressSpec
	for _, family := range in.Families {
		ip := static[family]
		specs = append(specs, api.AddressSpec{
			Name: addressName(lb.Name, family, ip), Family: string(family), IP: ip, Cluster: lb.Cluster, Tags: lb.Tags,
		})
	}
	return specs
}

// staticAddresses parses the user's addresses, which in this cloud are IP addresses of its pools. The cloud
// checks whether a pool has them when they are allocated, which is the first change.
func staticAddresses(in intent.Service, problems *intent.Problems) map[v1.IPFamily]string {
	chosen := map[v1.IPFamily]string{}
	for _, value := range in.StaticAddresses {
		ip, err := netip.ParseAddr(value)
		family := v1.IPv4Protocol
		if ip.Is6() {
			family = v1.IPv6Protocol
		}
		switch {
		case err != nil:
			problems.Add(intent.KeyStaticAddresses, value, "write an IP address of one of the cloud's address pools")
		case in.Scheme != intent.Public:
			problems.Add(intent.KeyStaticAddresses, value, "the cloud itself chooses an internal load balancer's address; "+
				"remove it")
		case !slices.Contains(in.Families, family):
			problems.Addf(intent.KeyStaticAddresses, value, "it is an %s address, and spec.ipFamilies does not list %[1]s",
				family)
		case chosen[family] != "":
			problems.Addf(intent.KeyStaticAddresses, value, "%s is listed too, and a load balancer has one %s address",
				chosen[family], family)
		default:
			chosen[family] = ip.String()
		}
	}
	return chosen
}

func desireListener(in intent.Service, port intent.Port) api.Listener {
	name := portName(port.Protocol, port.Port)
	listener := api.Listener{
		Name:               name,
		Protocol:           string(port.Protocol),
		Port:               port.Port,
		Pool:               name,
		IdleTimeoutSeconds: seconds(in.IdleTimeout),
	}
	for _, prefix := range in.RangesAt(port) {
		listener.SourceRanges = append(listener.SourceRanges, prefix.String())
	}
	return listener
}

func desirePool(in intent.Service, port intent.Port, targets []target) api.Pool {
	pool := api.Pool{
		Name:            portName(port.Protocol, port.Port),
		Protocol:        string(port.Protocol),
		HealthCheck:     desireHealthCheck(in.HealthCheck),
		AffinitySeconds: seconds(in.ClientIPAffinity),
		Algorithm:       string(in.Algorithm),
		Members:         members(targets, port.NodePort),
	}
	if port.Protocol == v1.ProtocolTCP {
		pool.ProxyProtocol = in.ProxyProtocol // The cloud supports it for TCP only, as its specification does.
	}
	return pool
}

// members returns the targets as members of a pool.
func members(targets []target, port int32) []api.Member {
	list := make([]api.Member, len(targets))
	for i, t := range targets {
		list[i] = api.Member{InstanceID: t.instanceID, Port: port}
	}
	return list
}

// desireHealthCheck sets the defaults. A chosen interval below the default timeout shortens the timeout: a
// probe must end before the next starts.
func desireHealthCheck(in intent.HealthCheck) api.HealthCheck {
	interval := cmp.Or(in.Interval, defaultInterval)
	timeout := cmp.Or(in.Timeout, min(defaultTimeout, interval))
	protocol, path := cmp.Or(in.Protocol, intent.HealthCheckTCP), ""
	if protocol == intent.HealthCheckHTTP {
		path = cmp.Or(in.Path, "/")
	}
	return api.HealthCheck{
		Protocol:           string(protocol),
		Port:               in.Port,
		Path:               path,
		IntervalSeconds:    seconds(interval),
		TimeoutSeconds:     seconds(timeout),
		HealthyThreshold:   cmp.Or(in.HealthyThreshold, defaultHealthyThreshold),
		UnhealthyThreshold: cmp.Or(in.UnhealthyThreshold, defaultUnhealthyThreshold),
	}
}

func familyNames(families []v1.IPFamily) []string {
	names := make([]string, len(families))
	for i, family := range families {
		names[i] = string(family)
	}
	return names
}

// seconds rounds up, because a zero would mean "off" or "the default".
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
