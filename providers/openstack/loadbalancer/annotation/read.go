package annotation

import (
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// entry is one annotation: its documentation, and how a value gets into the options. The value is
// trimmed; an error says what to write instead.
type entry struct {
	doc provider.Annotation
	// empty says that an empty value means something: that what the configuration names is not wanted.
	empty bool
	read  func(o *Options, value string) error
}

// Documentation of every annotation of the provider's own, in the order in which Read reports problems.
func Documentation() []provider.Annotation {
	var docs []provider.Annotation
	for _, e := range table() {
		docs = append(docs, e.doc)
	}
	return docs
}

// Read reads the provider's own annotations of a Service, and joins what its portable ones ask for.
// The error, of class cloudapi.Invalid, names every problem.
func Read(in intent.Service) (Options, error) {
	o := Options{}
	var problems intent.Problems
	for _, e := range table() {
		value, ok := in.Annotations[e.doc.Key]
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if value == "" && !e.empty {
			continue // what templates leave behind: it has always meant "not set"
		}
		if err := e.read(&o, value); err != nil {
			problems.Add(e.doc.Key, value, err.Error())
		}
	}
	o.portable(in, &problems)
	o.together(in, &problems)
	return o, problems.Err("Service " + in.Namespace + "/" + in.Name)
}

// LoadBalancerID is the load balancer that a Service names, by whatever wrote it there.
func LoadBalancerID(annotations map[string]string) string {
	return strings.TrimSpace(annotations[KeyLoadBalancerID])
}

// portable adds what the portable annotations ask for. Where both kinds speak and differ, the owner has to decide.
func (o *Options) portable(in intent.Service, problems *intent.Problems) {
	both := func(portable, own string) {
		problems.Addf(portable, in.Annotations[portable], "%s is set too and asks for something else: remove one of them", own)
	}
	if _, set := in.Annotations[intent.KeyScheme]; set {
		internal := in.Scheme == intent.Internal
		if o.Internal != nil && *o.Internal != internal {
			both(intent.KeyScheme, KeyInternal)
		}
		o.Internal = &internal
	}
	if in.ProxyProtocol != 0 {
		if o.ProxyProtocol != 0 && o.ProxyProtocol != in.ProxyProtocol {
			both(intent.KeyProxyProtocol, KeyProxyProtocol)
		}
		o.ProxyProtocol = in.ProxyProtocol
	}
	o.portableTimeout(in, both)
	o.portableSubnet(in, problems, both)
	o.portableMonitor(in, both)
	o.portableTags(in, problems)
	o.StaticAddresses = in.StaticAddresses
}

// portableTimeout is that of a connection on either side.
func (o *Options) portableTimeout(in intent.Service, both func(string, string)) {
	if in.IdleTimeout == 0 {
		return
	}
	ms := int(in.IdleTimeout / time.Millisecond)
	for _, t := range []struct {
		field **int
		key   string
	}{{&o.Timeouts.Client, KeyClientTimeout}, {&o.Timeouts.Member, KeyMemberTimeout}} {
		if *t.field != nil && **t.field != ms {
			both(intent.KeyIdleTimeout, t.key)
		}
		*t.field = &ms
	}
}

// portableTags are Octavia's tags on every kind of object: key=value, or the key alone.
func (o *Options) portableTags(in intent.Service, problems *intent.Problems) {
	for _, key := range sortedKeys(in.Tags) {
		tag := key
		if in.Tags[key] != "" {
			tag += "=" + in.Tags[key]
		}
		if reserved(tag) || len(tag) > maxTag {
			problems.Addf(intent.KeyTags, tag, "such tags mark whose an object is, or are too long: choose another of at most %d characters", maxTag)
			continue
		}
		for _, list := range []*[]string{&o.LoadBalancerTags, &o.ListenerTags, &o.PoolTags} {
			if !slices.Contains(*list, tag) {
				*list = append(*list, tag)
			}
		}
	}
}

// portableSubnet takes the one subnet in which the address is.
func (o *Options) portableSubnet(in intent.Service, problems *intent.Problems, both func(string, string)) {
	if len(in.Subnets) == 0 {
		return
	}
	value := in.Annotations[intent.KeySubnets]
	if len(in.Subnets) > 1 {
		problems.Add(intent.KeySubnets, value, "a load balancer has its address in one subnet: write one")
		return
	}
	if !uuid.MatchString(in.Subnets[0]) {
		problems.Add(intent.KeySubnets, value, "write the ID of the subnet, not its name")
		return
	}
	if own := o.Place.SubnetID; own != nil && *own != in.Subnets[0] {
		both(intent.KeySubnets, KeySubnetID)
	}
	o.Place.SubnetID = &in.Subnets[0]
}

// portableMonitor fills in what the OpenStack annotations leave open.
func (o *Options) portableMonitor(in intent.Service, both func(string, string)) {
	m, h := &o.Monitor, in.HealthCheck
	asked := false
	for _, key := range []string{
		intent.KeyHealthCheckProtocol, intent.KeyHealthCheckPort, intent.KeyHealthCheckPath, intent.KeyHealthCheckInterval,
		intent.KeyHealthCheckTimeout, intent.KeyHealthCheckHealthyThreshold, intent.KeyHealthCheckUnhealthyThreshold,
	} {
		_, set := in.Annotations[key]
		asked = asked || set
	}
	if asked {
		if m.Enabled != nil && !*m.Enabled {
			both(intent.KeyHealthCheckProtocol, KeyMonitor)
		}
		yes := true
		m.Enabled = &yes
	}
	m.Protocol, m.Port, m.Path = string(h.Protocol), h.Port, h.Path
	durations := func(have **time.Duration, want time.Duration, portable, own string) {
		if want == 0 {
			return
		}
		if *have != nil && **have != want {
			both(portable, own)
		}
		*have = &want
	}
	durations(&m.Delay, h.Interval, intent.KeyHealthCheckInterval, KeyMonitorDelay)
	durations(&m.Timeout, h.Timeout, intent.KeyHealthCheckTimeout, KeyMonitorTimeout)
	counts := func(have **int, want int, portable, own string) {
		if want == 0 {
			return
		}
		if *have != nil && **have != want {
			both(portable, own)
		}
		*have = &want
	}
	counts(&m.Retries, h.HealthyThreshold, intent.KeyHealthCheckHealthyThreshold, KeyMonitorRetries)
	counts(&m.Down, h.UnhealthyThreshold, intent.KeyHealthCheckUnhealthyThreshold, KeyMonitorDown)
}

// together finds what single annotations cannot tell.
func (o *Options) together(in intent.Service, problems *intent.Problems) {
	if o.ProxyProtocol != 0 && o.XForwardedFor {
		problems.Addf(KeyXForwardedFor, "true", "%s is on too, and both tell the nodes who the client is: remove one of them", KeyProxyProtocol)
	}
	p := o.Place
	if given(p.FloatingSubnetID) && (given(p.FloatingSubnet) || given(p.FloatingSubnetTags)) {
		// The ID has always won; nothing is refused that works.
		o.Place.FloatingSubnet, o.Place.FloatingSubnetTags = nil, nil
	}
	if o.PortID != "" && len(in.StaticAddresses) > 0 && o.Internal != nil && *o.Internal {
		problems.Add(KeyPortID, o.PortID, "the port has its address already: remove spec.loadBalancerIP")
	}
}

func given(s *string) bool { return s != nil && *s != "" }
