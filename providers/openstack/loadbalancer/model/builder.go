package model

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// builder computes the desired state of one Service.
type builder struct {
	key      lbcommon.Key
	in       intent.Service
	settings Settings
	shared   SharedState
	serverID func(string) (string, error)
	// subnets are the project's by ID; nil if the place of the load balancer does not depend on them.
	subnets map[string]api.Subnet

	// provider is Octavia's, of the load balancer.
	provider string
	// kept replaces the place that the Service requests.
	kept KeptPlace

	options  annotation.Options
	class    Place
	internal bool
	unowned  []node
	problems intent.Problems
	// creation has problems that only refuse a new load balancer.
	creation intent.Problems
	// selectsTLS is the selector of the ports with TLS, once it is used.
	selectsTLS func(intent.Port) bool
	// reported are the keys of problems that every port would report.
	reported []string
	warnings []string
	reasons  map[string]events.Reason
}

// KeptPlace is the part of its place that an existing load balancer keeps, whatever its Service requests.
type KeptPlace struct {
	// SubnetID, NetworkID and Address are empty if they are not kept.
	SubnetID, NetworkID, Address string
	// Port is set if the load balancer keeps its port.
	Port bool
	// FlavorID and Zone are nil if they are not kept, and may be empty.
	FlavorID, Zone *string
}

// Input is the input of Build.
type Input struct {
	Key      lbcommon.Key
	Service  intent.Service
	Settings Settings
	Shared   SharedState
	// ServerID returns the server of a provider ID.
	ServerID func(string) (string, error)
	Nodes    []*v1.Node

	// subnets are the project's, by ID: see Desired.NeedsSubnets.
	subnets map[string]api.Subnet
	// kept replaces the place that the Service requests.
	kept KeptPlace
}

// node is a node that receives traffic.
type node struct{ name, address, subnet, server string }

func (b *builder) service() types.NamespacedName {
	return types.NamespacedName{Namespace: b.key.Namespace, Name: b.key.Name}
}

func (b *builder) subject() string { return "Service " + b.in.Namespace + "/" + b.in.Name }

func (b *builder) warnf(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// warnWithReason is warnf with an Event reason of earlier managers, for existing alerts.
func (b *builder) warnWithReason(reason events.Reason, format string, args ...any) {
	b.warnf(format, args...)
	if b.reasons == nil {
		b.reasons = map[string]events.Reason{}
	}
	b.reasons[b.warnings[len(b.warnings)-1]] = reason
}

// optionOr returns the option of the Service if it is set, and else the default. A pointer to an empty text means none.
// explicit reports that the Service sets a value.
func optionOr(option *string, defaultValue string) (value string, explicit bool) {
	if option != nil {
		return *option, *option != ""
	}
	return defaultValue, false
}

// warnUnsupported warns about a setting of the Service that this Octavia does not support.
func (b *builder) warnUnsupported(explicit bool, key, value string) {
	if explicit {
		b.warnf("%s", b.unsupportedText(key, value))
	}
}

func (b *builder) unsupportedText(key, value string) string {
	return fmt.Sprintf("%s is %s: Octavia's provider %s, with version %s of its API, does not support it, so it has no "+
		"effect; remove it",
		key, intent.Quote(value), b.provider, b.shared.Features.Version)
}

// InConfiguration returns the name of a key of the configuration in a message for the Service's author.
func InConfiguration(key string) string {
	return key + " in section [LoadBalancer] of the configuration"
}

// selector returns the labels that a node needs to receive traffic.
func (b *builder) selector() map[string]string {
	if b.options.HasNodeLabels {
		return b.options.NodeLabels
	}
	labels, _ := annotation.ParseNodeLabels(b.settings.NodeSelector) // the configuration is valid
	return labels
}

// tlsContainer returns the certificate for TLS termination at the load balancer; empty for none.
func (b *builder) tlsContainer() string {
	ref, _ := optionOr(b.options.TLSContainer, b.settings.TLSContainer)
	return strings.TrimSpace(ref)
}

// tlsContainerAt returns the certificate of a port; empty for none.
func (b *builder) tlsContainerAt(port intent.Port) string {
	if b.selectsTLS == nil {
		b.selectsTLS = b.in.TLS.Selector()
	}
	if !b.selectsTLS(port) {
		return ""
	}
	return b.tlsContainer()
}

// addProblemOnce adds a problem that every port would add.
func (b *builder) addProblemOnce(key, value, fix string) {
	if slices.Contains(b.reported, key) {
		return
	}
	b.reported = append(b.reported, key)
	b.problems.Add(key, value, fix)
}
