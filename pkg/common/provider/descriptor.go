// Package provider is the registry beside cloudprovider.RegisterCloudProvider: what a linked
// cloud is called, what it can do and how it is configured, without constructing it.
package provider

import (
	"context"
	"io"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
)

// Descriptor is what a provider says about itself. Help texts, reference documentation and
// error messages are generated from it, so every text in it is written for users.
type Descriptor struct {
	// Name is the registry key, the scheme of provider IDs and the metric label alike. It can never change.
	Name string
	// Title is the name people use: "Amazon Web Services".
	Title string
	// Summary is one sentence for help texts.
	Summary string
	// Config documents every key of the cloud.conf file, in file order.
	Config []ConfigKey
	// Annotations documents the provider's own Service and Node annotations.
	Annotations []Annotation
	// AnnotationPrefixes begin the keys of Annotations. A key with such a prefix that does not exist is
	// reported as a probable typo on this cloud, and as another cloud's annotation on the others.
	AnnotationPrefixes []string
	// Portable lists the keys of the portable annotations (package intent) that this cloud
	// honours. One that is not listed gets a warning Event when a Service uses it.
	Portable []string
	// Capabilities say which jobs the provider does.
	Capabilities Capabilities
	// Flags adds the provider's own flags, each prefixed by Name. May be nil.
	Flags func(*pflag.FlagSet)
	// InheritedFlags are the names of those of Flags that have no prefix, because the manager that
	// users of this cloud come from has them. They can never change.
	InheritedFlags []string
	// Controllers are the provider's own; what New returns then implements ControllerStarter.
	Controllers []Controller
	// ValidateConfig parses and validates a configuration without touching the cloud. It returns
	// warnings (unknown keys) apart from errors; file is used in messages only.
	ValidateConfig func(file string, content []byte) (warnings []string, err error)
	// ShowConfig writes a valid configuration with its defaults filled in and its secrets
	// redacted: config.Effective of what the provider parsed. May be nil.
	ShowConfig func(w io.Writer, file string, content []byte) error
	// New constructs the provider. It is called by the registry with its lock held: no network
	// calls that can block for long, and no calls back into the registry. A nil reader means
	// that no configuration file was given.
	New cloudprovider.Factory
}

// ConfigKey documents one key of cloud.conf.
type ConfigKey struct {
	Section, Key string
	// Type is how a value is written: string, bool, integer, duration, list of CIDR.
	Type string
	// Default is the value used when the key is absent, as it would be written; empty for none.
	Default string
	// Secret marks values that are never printed.
	Secret bool
	// Doc says what the key does, and what happens when it changes while load balancers exist.
	Doc string
}

// Annotation documents one annotation.
type Annotation struct {
	Key, Type, Default, Doc, Example string
}

// Capabilities are the jobs a provider does. They are declared here and verified by the
// conformance suite.
type Capabilities struct {
	LoadBalancer, InstancesV2, Instances, Zones, Clusters, Routes bool
}

// Runtime is what a running manager passes to a provider; the registry's factory cannot receive it.
type Runtime struct {
	// Recorder records Events on Services and Nodes. Never nil.
	Recorder record.EventRecorder
	// ClusterUID is the UID of the kube-system namespace, which distinguishes clusters that have
	// the same name. Empty when it could not be read.
	ClusterUID string
	// DryRun says that nothing may be changed, in the cloud or anywhere else. The guards keep
	// mutations from the provider's interfaces; a provider that mutates where the framework
	// only reads must heed it itself.
	DryRun bool
	// Disruption is the policy for disruptive changes; empty means HoldDisruption.
	Disruption DisruptionPolicy
	// Annotate sets annotations of a Service in the cluster; others stay. It fails if the Service was
	// deleted and made again. Nil where nothing may be written.
	Annotate func(ctx context.Context, service *v1.Service, annotations map[string]string) error
}

// DisruptionPolicy decides about changes that disrupt traffic, an address or a load balancer.
type DisruptionPolicy string

// The policies.
const (
	// HoldDisruption, the default, holds disruptions without a cause in the Service.
	HoldDisruption DisruptionPolicy = "hold"
	// AllowDisruption applies every change.
	AllowDisruption DisruptionPolicy = "allow"
	// HoldAllDisruption holds every disruption, for clusters that must never be disrupted.
	HoldAllDisruption DisruptionPolicy = "hold-all"
)

// RuntimeUser is implemented by providers that take the Runtime. It is called once, before any
// controller starts.
type RuntimeUser interface{ SetRuntime(Runtime) }

// Checker is implemented by providers that can check at start whether the cloud accepts their
// credentials: one cheap read. Errors carry a class of package cloudapi.
type Checker interface {
	Check(ctx context.Context) error
}

// NodeOwner is implemented by providers that know their own provider IDs. It does no I/O.
type NodeOwner interface {
	// OwnsNode classifies a node by its spec.providerID alone.
	OwnsNode(node *v1.Node) Ownership
}

// Ownership is the relation of a provider to a node.
type Ownership string

// The three answers. Unknown is a node without a provider ID, or with one that cannot be parsed.
const (
	Mine    Ownership = "mine"
	Foreign Ownership = "foreign"
	Unknown Ownership = "unknown"
)
