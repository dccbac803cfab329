// Package loadbalancer implements the interface of pkg/common/loadbalancer for AWS: it reads annotations,
// selects the generation of load balancer of a Service, and calls package nlb or classic. Both share subnets
// and security groups, in package vpc.
package loadbalancer

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Connection has the clients and identity of an AWS account for load balancers. It may become known only when
// the first call is made.
type Connection struct {
	EC2   api.EC2
	ELB   api.ELB
	ELBV2 api.ELBV2
	// VPC is the ID of the cluster's VPC.
	VPC     string
	Cluster vpc.Cluster
	// FallbackSubnet is used if no subnet qualifies by its tags. May be empty.
	FallbackSubnet string
	Instances      vpc.InstanceSource
}

// Settings are the configuration of load balancers.
type Settings struct {
	// ManagedGroups is NLBSecurityGroupMode=Managed.
	ManagedGroups bool
	// ClassicGroup is ElbSecurityGroup: one security group for all classic load balancers.
	ClassicGroup string
	// NoNodeRules is DisableSecurityGroupIngress.
	NoNodeRules bool
	// Shared is ClusterServiceLoadBalancerHealthProbeMode=Shared; nil probes each Service.
	Shared *annotation.SharedProbe
}

// network returns the settings of network load balancers.
func (s Settings) network() model.Settings {
	return model.Settings{Managed: s.ManagedGroups, NoNodeRules: s.NoNodeRules, Shared: s.Shared}
}

// Options of a Cloud. Connect and InstanceID are required.
type Options struct {
	// Connect returns the connection. It is called until it succeeds, and not thereafter.
	Connect func(context.Context) (Connection, error)
	// InstanceID returns the instance in a provider ID, and an error for those of other clouds. It makes no call.
	InstanceID func(providerID string) (string, error)
	Settings   Settings
	// Clock is the real one if nil.
	Clock clock.Clock
}

// generations are both kinds of load balancers over one connection.
type generations struct {
	reader  *vpc.Reader
	network *nlb.Cloud
	classic *classic.Cloud
	cluster vpc.Cluster
}

// Cloud implements lbcommon.Cloud. It is safe for concurrent use.
type Cloud struct {
	options Options
	// generations is set with the first call.
	generations *snapshot.Value[*generations]
}

var (
	_ lbcommon.Cloud[SharedState, Desired, Observed] = (*Cloud)(nil)
	_ lbcommon.ClassFilter                           = (*Cloud)(nil)
	_ lbcommon.Binder[Observed]                      = (*Cloud)(nil)
)

// New returns a Cloud. It makes no call.
func New(o Options) *Cloud {
	o.Clock = clocks.OrReal(o.Clock)
	c := &Cloud{options: o}
	c.generations = snapshot.NewValue(snapshot.ValueOptions[*generations]{Read: c.connect, Clock: o.Clock})
	return c
}

// SharedState is the part of the cloud that Services share and do not own.
type SharedState struct {
	vpc.SharedState
	generations *generations
}

// Desired are the objects that should exist for one Service: those of one generation.
type Desired struct {
	Network *model.Desired
	Classic *classic.Desired
}

// Observed has the existing objects of one Service's load balancer, in both generations.
type Observed struct {
	Network     model.Observed
	Classic     classic.Observed
	generations *generations
}

// Name implements lbcommon.Cloud. A network load balancer may have another name that its Service chose.
func (c *Cloud) Name(key lbcommon.Key) string { return names.LoadBalancerName(key.UID) }

// Handles implements lbcommon.ClassFilter.
func (c *Cloud) Handles(service *v1.Service) bool {
	return annotation.TypeOf(service.Annotations) != annotation.External
}

// Reference implements lbcommon.Cloud: the type of load balancer that a Service selects.
func (c *Cloud) Reference(service *v1.Service) lbcommon.Reference {
	return lbcommon.Reference{Class: string(annotation.TypeOf(service.Annotations))}
}

// Validate implements lbcommon.Cloud.
func (c *Cloud) Validate(in intent.Service) error { return annotation.Validate(in) }

// connect builds both generations.
func (c *Cloud) connect(ctx context.Context) (*generations, error) {
	conn, err := c.options.Connect(ctx)
	if err != nil {
		return nil, err
	}
	settings := c.options.Settings
	reader := vpc.NewReader(vpc.Options{
		API: conn.EC2, VPC: conn.VPC, Cluster: conn.Cluster, FallbackSubnet: conn.FallbackSubnet, Instances: conn.Instances,
		Clock: c.options.Clock,
	})
	networks := nlb.Options{
		API: conn.ELBV2, Groups: reader.Groups(), Instances: conn.Instances, VPC: conn.VPC, Cluster: conn.Cluster,
		Clock:    c.options.Clock,
		Settings: settings.network(),
	}
	return &generations{
		reader: reader, cluster: conn.Cluster, network: nlb.New(networks),
		classic: classic.New(classic.Options{
			API: conn.ELB, VPC: conn.VPC, Cluster: conn.Cluster, Groups: reader.Groups(), Instances: conn.Instances,
			SecurityGroup: settings.ClassicGroup,
			NoNodeRules:   settings.NoNodeRules, SharedProbe: settings.Shared, Clock: c.options.Clock,
		}),
	}, nil
}

// SharedState implements lbcommon.Cloud: the VPC, and the instances of nodes with their security groups.
func (c *Cloud) SharedState(ctx context.Context, nodes []*v1.Node) (SharedState, error) {
	g, err := c.generations.Get(ctx)
	if err != nil {
		return SharedState{}, err
	}
	shared, err := g.reader.SharedState(ctx, model.InstanceIDs(c.targets(nodes)))
	return SharedState{SharedState: shared, generations: g}, err
}

// members returns the nodes that receive traffic, and a warning about those with instances without the
// cluster's tag.
func (c *Cloud) members(all []*v1.Node, shared vpc.SharedState) (members []model.Node, warning string) {
	members = c.targets(all)
	untagged, warning := shared.Untagged(model.InstanceIDs(members))
	return slices.DeleteFunc(members, func(n model.Node) bool { return slices.Contains(untagged, n.InstanceID) }), warning
}

// targets returns the instances of nodes. A node without a provider ID, or with another cloud's, has none and
// receives no traffic.
func (c *Cloud) targets(nodes []*v1.Node) []model.Node {
	out := make([]model.Node, 0, len(nodes))
	for _, node := range nodes {
		id, err := c.options.InstanceID(node.Spec.ProviderID)
		if err != nil || !strings.HasPrefix(id, names.InstancePrefix) {
			// Other machines, such as Fargate's, cannot be targets.
			continue
		}
		target := model.Node{InstanceID: id}
		for _, a := range node.Status.Addresses {
			if a.Type == v1.NodeInternalIP {
				target.Addresses = append(target.Addresses, a.Address)
			}
		}
		out = append(out, target)
	}
	return out
}

// servedPorts returns the ports with a node port of a Service that disables their allocation, as cloud-provider-aws
// serves them. Ports of a manifest that was not sent to the API server have none yet.
func servedPorts(in intent.Service) []intent.Port {
	if len(in.AtCreation) == 0 {
		return in.Ports
	}
	return slices.DeleteFunc(slices.Clone(in.Ports), func(p intent.Port) bool { return p.NodePort == 0 })
}

// Desired implements lbcommon.Cloud.
func (c *Cloud) Desired(key lbcommon.Key, in intent.Service, all []*v1.Node, shared SharedState) (Desired, error) {
	options, err := annotation.Read(in)
	members, warning := c.members(nodes.FilterByLabels(all, options.NodeLabels), shared.SharedState)
	if warning != "" {
		options.Warnings = append(options.Warnings, warning)
	}
	subject := in.Subject()
	if in.Ports = servedPorts(in); len(in.Ports) == 0 {
		return Desired{}, intent.Join(subject, err, in.Refuse())
	}
	if options.Type == annotation.Network {
		d, desireErr := model.Desire(model.Request{Key: key, Service: in, Options: options, Nodes: members,
			Shared: shared.SharedState}, c.options.Settings.network())
		return Desired{Network: &d}, intent.Join(subject, err, desireErr)
	}
	d, desireErr := shared.generations.classic.Desire(classic.Request{Key: key, Service: in, Options: options,
		Instances: model.InstanceIDs(members), Shared: shared.SharedState})
	return Desired{Classic: &d}, intent.Join(subject, err, desireErr)
}
