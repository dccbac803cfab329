// Package loadbalancer fills in the seam of pkg/common/loadbalancer for Octavia: intent → desired →
// diff, with one file for each kind of resource.
package loadbalancer

import (
	"context"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// API is what load balancers need of OpenStack.
type API interface {
	api.LoadBalancingAPI
	api.NetworkAPI
	api.KeyManagerAPI
}

// ProviderOVN is Octavia's provider that works without machines of its own, and with fewer features.
const ProviderOVN = "ovn"

// ContainerStoreBarbican is the container-store whose references are looked up before they are used.
const ContainerStoreBarbican = "barbican"

// Place is where addresses come from: a section of the configuration. FloatingSubnet is a pattern
// and FloatingSubnetTags an expression; all others are IDs. Empty fields say nothing.
type Place struct {
	FloatingNetworkID, FloatingSubnetID, FloatingSubnet, FloatingSubnetTags string
	SubnetID, NetworkID, MemberSubnetID                                     string
}

// Settings are what the configuration says about load balancers.
type Settings struct {
	// Provider is Octavia's provider.
	Provider string
	// Method is Octavia's algorithm; the provider ovn has only one, which replaces the default ROUND_ROBIN.
	Method string
	Place
	// Classes by name.
	Classes map[string]Place
	// Internal makes every load balancer internal.
	Internal             bool
	ManageSecurityGroups bool
	// CreateMonitor is whether nodes are probed where the Service does not say.
	CreateMonitor                          bool
	MonitorDelay, MonitorTimeout           time.Duration
	MonitorMaxRetries, MonitorMaxRetryDown int
	// NodeSelector limits the nodes that receive traffic: label=value,label.
	NodeSelector string
	// NoCascade deletes load balancers piece by piece.
	NoCascade bool
	// FlavorID and AvailabilityZone are Octavia's.
	FlavorID, AvailabilityZone string
	// IngressHostname makes the status show a host name, IP address and suffix, where the PROXY protocol is used.
	IngressHostname       bool
	IngressHostnameSuffix string
	// TLSContainer is used where the Service does not say.
	TLSContainer   string
	ContainerStore string
	// MaxShared is how many Services may share a load balancer.
	MaxShared int
	// Serial makes one object with each call.
	Serial bool
}

// Options of a Cloud. API and ServerID are required.
type Options struct {
	API API
	// ServerID returns the server in a provider ID, and an error for those of other clouds. It makes no call.
	ServerID func(providerID string) (string, error)
	Settings Settings
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Cloud implements lbcommon.Cloud. It is safe for concurrent use.
type Cloud struct {
	api      API
	serverID func(string) (string, error)
	settings Settings
	clock    clock.Clock
	store    *store
	waiter   *waiter
	// turns let one change after the other be made to a load balancer, or to a port of a node, however
	// many Services share it.
	locks   locks.KeyedMutex
	around  *surroundings
	orphans *orphanPorts
	// unanswered are creations that may still take effect.
	unanswered      *unanswered
	failedCreations *failedCreations
	// untagged says that Neutron has turned out to have no tags.
	untagged atomic.Bool
}

var _ lbcommon.Cloud[SharedState, Desired, Observed] = (*Cloud)(nil)

// New returns a Cloud. It makes no call.
func New(o Options) *Cloud {
	c := clocks.OrReal(o.Clock)
	s := newStore(o.API, c)
	return &Cloud{
		api: o.API, serverID: o.ServerID, settings: o.Settings.withDefaults(), clock: c,
		store: s, waiter: newWaiter(o.API, c, s),
		around: newSurroundings(o.API, c, o.Settings, o.ServerID), orphans: &orphanPorts{api: o.API, clock: c},
		unanswered:      &unanswered{clock: c, until: map[types.NamespacedName]time.Time{}},
		failedCreations: &failedCreations{clock: c, byService: map[types.NamespacedName]failedCreation{}},
	}
}

// withDefaults fills in what a configuration without any key means.
func (s Settings) withDefaults() Settings {
	if s.Provider == "" {
		s.Provider = "amphora"
	}
	if s.MaxShared == 0 {
		s.MaxShared = 2
	}
	if s.MonitorDelay == 0 {
		s.MonitorDelay = 5 * time.Second
	}
	if s.MonitorTimeout == 0 {
		s.MonitorTimeout = 3 * time.Second
	}
	if s.MonitorMaxRetries == 0 {
		s.MonitorMaxRetries = 1
	}
	if s.MonitorMaxRetryDown == 0 {
		s.MonitorMaxRetryDown = 3
	}
	if s.ContainerStore == "" {
		s.ContainerStore = ContainerStoreBarbican
	}
	if s.IngressHostnameSuffix == "" {
		s.IngressHostnameSuffix = "nip.io"
	}
	return s
}

// Name implements loadbalancer.Cloud.
func (c *Cloud) Name(key lbcommon.Key) string {
	return names.LoadBalancer(key.ClusterName, serviceOf(key))
}

// serviceKey is the Key of a Service with the ID of the load balancer that it names.
type serviceKey struct {
	lbcommon.Key
	named string
}

// serviceOf returns the name of a Service.
func serviceOf(key lbcommon.Key) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
}

// Reference implements loadbalancer.Cloud: the load balancer that a Service names.
func (c *Cloud) Reference(service *v1.Service) lbcommon.Reference {
	return lbcommon.Reference{ID: annotation.LoadBalancerID(service.Annotations)}
}

// SharedState implements loadbalancer.Cloud.
func (c *Cloud) SharedState(ctx context.Context, nodes []*v1.Node) (SharedState, error) {
	return c.around.get(ctx, nodes)
}

// Desired implements loadbalancer.Cloud.
func (c *Cloud) Desired(key lbcommon.Key, in intent.Service, nodes []*v1.Node, around SharedState) (Desired, error) {
	w := wisher{key: key, in: in, settings: c.settings, around: around, serverID: c.serverID}
	return w.desire(nodes)
}

// Validate implements lbcommon.Validator.
func (c *Cloud) Validate(in intent.Service) error {
	_, err := annotation.Read(in)
	return err
}

// Observe implements loadbalancer.Cloud. A deletion needs no members: they are deleted with their pools.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	key := serviceKey{request.Key, request.Reference.ID}
	d := depth{authoritative: request.Freshness == lbcommon.Authoritative, groups: true}
	if request.Depth == lbcommon.Full {
		d.members, d.groups = true, c.settings.ManageSecurityGroups
	}
	if request.Want != nil && !c.settings.Serial { // where members change one by one, each has to be known
		d.seals = parseSeals(request.Want.memberNote)
	}
	have, err := c.store.observe(ctx, key, d)
	if err == nil && have.LoadBalancer != nil {
		c.unanswered.seen(key)
	}
	return have, err
}
