// Package annotation documents the Service annotations of the GCE provider and parses them.
package annotation

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

const (
	networking = "networking.gke.io/"
	cloud      = "cloud.google.com/"
)

// The keys. They are in users' manifests and can never change.
const (
	KeyType            = networking + "load-balancer-type"
	KeyOldType         = cloud + "load-balancer-type"
	KeyRBS             = cloud + "l4-rbs"
	KeyNetworkTier     = cloud + "network-tier"
	KeyGlobalAccess    = networking + "internal-load-balancer-allow-global-access"
	KeySubnet          = networking + "internal-load-balancer-subnet"
	KeyBackendShare    = cloud + "load-balancer-backend-share"
	KeyOldBackendShare = "alpha." + KeyBackendShare
	// KeyBackendService and KeyTargetPool are written by the manager.
	KeyBackendService = networking + "backend-service"
	KeyTargetPool     = networking + "target-pool"

	keyWeighted       = networking + "weighted-load-balancing"
	keyStrongAffinity = networking + "l4-strong-session-affinity"
	keyELBSubnet      = networking + "load-balancer-subnet"
	keyAddresses      = networking + "load-balancer-ip-addresses"
)

// Enabled is the value of KeyRBS that hands a Service to ingress-gce.
const Enabled = "enabled"

// Options are the values of the provider's own annotations.
type Options struct {
	// Type is the first of the two annotations that is set.
	Type string
	// Tier is STANDARD or PREMIUM; "" without the annotation.
	Tier         string
	GlobalAccess bool
	// Subnet is the name of the subnet of an internal load balancer.
	Subnet       string
	BackendShare bool
	// Warnings are about annotations without an effect.
	Warnings []string
}

// IsInternal reports whether a value of KeyType is that of an internal load balancer. Every other text is external.
func IsInternal(value string) bool { return value == "Internal" || value == "internal" }

// table returns the provider's own annotations. It sets the fields of o.
func table(o *Options) intent.Table {
	setTrue := func(option *bool) func(string) error {
		return func(value string) error {
			*option = *option || value == "true"
			return nil
		}
	}
	return append(intent.Table{
		{
			Key: KeyType, Type: "Internal", Default: "external", Example: "Internal",
			Doc: "Internal makes a load balancer in the private network. Any other value is external. Changing it on a live " +
				"Service replaces the load balancer, which gets another address.",
			Set: func(string) error { return nil },
		},
		{
			Key: KeyOldType, Type: "Internal", Default: "external", Example: "Internal",
			Doc: "The older form of " + KeyType + ", which overrides it.", Set: func(string) error { return nil },
		},
		{
			Key: KeyNetworkTier, Type: "Standard or Premium", Default: "Premium for a new load balancer", Example: "Standard",
			Doc: "The network tier of an external load balancer. Changing it on a live Service gives the load balancer " +
				"another " +
				"address; removing it changes nothing.",
			Set: intent.Store(&o.Tier, tier),
		},
		{
			Key: KeyGlobalAccess, Type: "true", Default: "false", Example: "true",
			Doc: "Whether clients in other regions reach an internal load balancer. Changes apply in place.",
			Set: setTrue(&o.GlobalAccess),
		},
		{
			Key: KeySubnet, Type: "name", Default: "subnetwork-name in section [global]", Example: "balancers",
			Doc: "The subnet of the address of an internal load balancer. Changing it on a live Service gives the load " +
				"balancer another address.",
			Empty: intent.EmptyRefused, Set: intent.Store(&o.Subnet, intent.Text),
		},
		{
			Key: KeyBackendShare, Type: "true", Default: "false", Example: "true",
			Doc: "Whether internal load balancers of one protocol and session affinity share a backend service, of Services " +
				"with externalTrafficPolicy: Cluster. Changing it on a live Service replaces the forwarding rule; the address " +
				"stays.",
			Set: setTrue(&o.BackendShare),
		},
		{Key: KeyOldBackendShare, Type: "true", Default: "false", Example: "true",
			Doc: "The older form of " + KeyBackendShare + ".", Set: setTrue(&o.BackendShare)},
	}, elsewhereTable(o)...)
}

// elsewhereTable has the annotations of load balancers that ingress-gce makes, and those that this manager writes.
func elsewhereTable(o *Options) intent.Table {
	refuse := func(string) error {
		return fmt.Errorf("load balancers of this manager cannot do that: remove the annotation, or have ingress-gce make " +
			"the load balancer of a new Service")
	}
	warn := func(key, advice string) func(string) error {
		return func(string) error {
			o.Warnings = append(o.Warnings, key+" has no effect on load balancers of this manager: "+advice)
			return nil
		}
	}
	return intent.Table{
		{
			Key: KeyRBS, Type: Enabled, Default: "this manager makes the load balancer", Example: Enabled,
			Doc: "Hands a new external Service to ingress-gce, which makes a load balancer with a backend service. Without " +
				"effect on a Service with a load balancer of this manager.",
			Set: func(string) error { return nil },
		},
		{
			Key: keyWeighted, Type: "text", Default: "off", Example: "pods-per-node",
			Doc: "Refused: weights need the load balancers of ingress-gce.", Set: refuse,
		},
		{
			Key: keyStrongAffinity, Type: "text", Default: "off", Example: Enabled,
			Doc: "Refused: strong session affinity needs the load balancers of ingress-gce.", Set: refuse,
		},
		{
			Key: keyELBSubnet, Type: "name", Default: "none", Example: "balancers", Doc: "No effect; see " + KeySubnet + ".",
			Set: warn(keyELBSubnet, "use "+KeySubnet),
		},
		{
			Key: keyAddresses, Type: "list of names", Default: "none", Example: "web-address",
			Doc: "No effect; see " + intent.KeyStaticAddresses + ".",
			Set: warn(keyAddresses, "use "+intent.KeyStaticAddresses),
		},
		{Key: KeyBackendService, Type: "name", Default: "written by the manager", Example: "a0f1e2d3c4b5a69788796a5b4c3d2e1f",
			Doc: "The backend service of an internal load balancer, written with --enable-l4-lb-annotations."},
		{Key: KeyTargetPool, Type: "name", Default: "written by the manager", Example: "a0f1e2d3c4b5a69788796a5b4c3d2e1f",
			Doc: "The target pool of an external load balancer, written with --enable-l4-lb-annotations."},
	}
}

func tier(value string) (string, error) {
	switch value {
	case "Standard":
		return "STANDARD", nil
	case "Premium":
		return "PREMIUM", nil
	}
	return "", fmt.Errorf("write Standard or Premium")
}

// Read parses the provider's own annotations of a Service.
func Read(in intent.Service, problems *intent.Problems) Options {
	var o Options
	table(&o).Read(in.Annotations, problems)
	// Earlier managers compare these with the spaces around them, and what they made of them stays.
	value, ok := in.Annotations[KeyType]
	if !ok {
		value = in.Annotations[KeyOldType]
	}
	o.Type = value
	o.readExactly(in.Annotations, &o.GlobalAccess, KeyGlobalAccess)
	o.readExactly(in.Annotations, &o.BackendShare, KeyBackendShare, KeyOldBackendShare)
	if o.Type != "" && !IsInternal(o.Type) {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%s is %s, and only Internal has an effect: the load balancer is "+
			"external",
			KeyType, intent.Quote(o.Type)))
	}
	return o
}

// readExactly turns an option off that only a value with spaces around it turns on.
func (o *Options) readExactly(annotations map[string]string, option *bool, keys ...string) {
	for _, key := range keys {
		if annotations[key] == "true" {
			return
		}
	}
	for _, key := range keys {
		if value, ok := annotations[key]; ok && *option {
			o.Warnings = append(o.Warnings, fmt.Sprintf("%s is %s, with spaces, and only true has an effect", key,
				intent.Quote(value)))
		}
	}
	*option = false
}

// Documentation returns the reference entries of the provider's own annotations.
func Documentation() []intent.Annotation { return table(&Options{}).Documentation() }

// Prefixes returns the prefixes of the provider's own annotations. Other controllers have many annotations with the
// domains of these.
func Prefixes() []string {
	return []string{networking + "internal-load-balancer-", networking + "load-balancer-", networking + "l4-",
		cloud + "load-balancer-", cloud + "network-tier", cloud + "l4-", "alpha." + cloud + "load-balancer-"}
}

// Portable returns the keys of the portable annotations that the provider supports. The probes of nodes are shared by
// all Services.
func Portable() []string {
	return []string{intent.KeyScheme, intent.KeySourceRanges, intent.KeyStaticAddresses, intent.KeySubnets}
}

// Vocabulary returns the annotations that the provider reads.
func Vocabulary(provider string) intent.Vocabulary {
	return intent.Vocabulary{
		Provider: provider, Portable: Portable(), Own: table(&Options{}).Keys(), OwnPrefixes: Prefixes(),
		Written:   []string{KeyBackendService, KeyTargetPool},
		NodePorts: intent.NodePortsUnused,
	}
}
