// Package provider is the registry beside cloudprovider.RegisterCloudProvider: the name, capabilities and
// configuration of each linked cloud, without constructing it.
package provider

import (
	"context"
	"io"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Descriptor describes a provider. Help texts, reference documentation and error messages are generated from
// it, so every text in it is written for users.
type Descriptor struct {
	// Name is the registry key, the scheme of provider IDs and the metric label alike. It can never change.
	Name string
	// Title is the common name: "Amazon Web Services".
	Title string
	// Summary is one sentence for help texts.
	Summary string
	// Config documents every key of the cloud.conf file, in file order.
	Config []ConfigKey
	// Annotations documents the provider's own Service and Node annotations.
	Annotations []intent.Annotation
	// AnnotationPrefixes are the prefixes of Annotations. An unknown key with such a prefix is reported as a
	// probable typo on this cloud, and as another cloud's annotation on the others.
	AnnotationPrefixes []string
	// Portable lists the keys of the portable annotations (package intent) that this cloud supports. A Service
	// with another one gets a warning Event.
	Portable []string
	// Disruptions declares every kind of change of load balancers that disrupts more than members.
	Disruptions []plan.Effect
	// Capabilities are the interfaces of the framework that the provider implements.
	Capabilities Capabilities
	// Flags adds the provider's own flags, each prefixed by Name. May be nil.
	Flags func(*pflag.FlagSet)
	// InheritedFlags are the names of those of Flags that have no prefix, because the cloud's previous manager
	// has them. They can never change. A flag that several clouds' managers have is not one of them: the manager declares
	// it once, and passes its value in ControllerContext.
	InheritedFlags []string
	// Controllers are the provider's own; the result of New must then implement ControllerStarter.
	Controllers []Controller
	// ControllerAliases are further names in --controllers, with the controller that each stands for: the names that the
	// cloud's previous manager has for controllers of the framework or of this provider.
	ControllerAliases map[string]string
	// AllocatesRanges is set if the controller node-ipam-controller of the provider allocates podCIDRs from
	// --cluster-cidr, which is what --cidr-allocator-type means by default. Otherwise kube-controller-manager does.
	AllocatesRanges bool
	// KubeRules are the permissions in the cluster that this provider needs beside those that every provider needs.
	KubeRules []KubeRule
	// ValidateConfig parses and validates a configuration without calls to the cloud. It returns warnings
	// (unknown keys) separately from errors; file is used in messages only.
	ValidateConfig func(file string, content []byte) (warnings []string, err error)
	// ShowConfig writes a valid configuration with its defaults filled in and its secrets redacted, as
	// config.WriteEffective does. May be nil.
	ShowConfig func(w io.Writer, file string, content []byte) error
	// ConvertConfig writes a file in an older form in the current one, with its secrets. Nil for clouds with one form.
	ConvertConfig func(w io.Writer, file string, content []byte) error
	// New constructs the provider. It is called by the registry with its lock held: no network
	// calls that can block for long, and no calls back into the registry. A nil reader means
	// that no configuration file was given.
	New cloudprovider.Factory
}

// ConfigKey documents one key of cloud.conf.
type ConfigKey struct {
	Section, Key string
	// Type is the format of a value: string, bool, integer, duration, list of CIDR.
	Type string
	// Default is the value used when the key is absent, as it would be written; empty for none.
	Default string
	// Secret marks values that are never printed.
	Secret bool
	// Doc describes the key, and the effect of changing it while load balancers exist.
	Doc string
}

// Runtime is what a running manager passes to a provider; the registry's factory cannot receive it.
type Runtime struct {
	// Recorder records Events on Services and Nodes. Never nil.
	Recorder record.EventRecorder
	// ClusterUID is the UID of the kube-system namespace, which distinguishes clusters of the same name. Empty
	// if it could not be read.
	ClusterUID string
	// DryRun forbids changes in the cloud and in the cluster. The guards keep mutations from the provider's
	// interfaces; a provider that mutates where the framework only reads must check it itself.
	DryRun bool
	// Disruption is the policy for disruptive changes; empty means HoldDisruption.
	Disruption DisruptionPolicy
	// LeadingSince identifies the first leader after which no other manager has led; empty without leader election. The
	// inputs of a Service that was last seen before count as applied, because what the other manager made of edits
	// meanwhile is unknown.
	LeadingSince string
	// Approvals are where users approve held changes; nil for the annotations of Services, which then stay.
	Approvals Approvals
	// Annotate sets annotations of a Service in the cluster; others stay. It fails if the Service was deleted
	// and recreated. Nil if writing is not allowed.
	Annotate func(ctx context.Context, service *v1.Service, annotations map[string]string) error
	// SetCondition sets a condition in the status of a Service in the cluster; others stay. One without a status is
	// removed. It fails if the Service was deleted and recreated. Nil if writing is not allowed.
	SetCondition func(ctx context.Context, service *v1.Service, condition metav1.Condition) error
	// SetFinalizers adds and removes finalizers of a Service in the cluster; others stay. It fails if the Service was
	// deleted and recreated, and to add one, if it is being deleted. Nil if writing is not allowed.
	SetFinalizers func(ctx context.Context, service *v1.Service, add, remove []string) error
	// EndpointNodes returns the name of the node of each endpoint of a Service that gets traffic; empty for an endpoint
	// outside of the nodes. Nil without a cluster. Only a manager of several clouds has the permission.
	EndpointNodes func(ctx context.Context, service *v1.Service) ([]string, error)
	// ConfigMap returns the data of a ConfigMap, uncached. One that does not exist is created with the initial data, or
	// is an error in a dry run. The provider's KubeRules allow it. Nil without a cluster, as in ccm plan for files.
	ConfigMap func(ctx context.Context, name types.NamespacedName, initial map[string]string) (map[string]string, error)
}

// Approvals are the approvals of held changes. They are safe for concurrent use.
type Approvals interface {
	// Approved returns the ID that approves held changes of a Service; empty for none.
	Approved(ctx context.Context, service *v1.Service) (id string, err error)
	// End removes an approval, because its changes are applied. One with another ID stays.
	End(ctx context.Context, service *v1.Service, id string) error
	// Place returns where an approval for the Service is written, for messages.
	Place(service *v1.Service) string
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

// RuntimeUser is implemented by providers that use the Runtime. It is called once, before any controller
// starts.
type RuntimeUser interface{ SetRuntime(Runtime) }

// Stopper is implemented by providers that hold something in the cloud while the manager runs, such as sessions.
type Stopper interface {
	// Stop releases it. It is called once, after the last other call has ended or has run out of time, and ends
	// with ctx.
	Stop(ctx context.Context)
}

// Checker is implemented by providers that can check at start whether the cloud accepts their
// credentials: one cheap read. Errors carry a class of package cloudapi.
type Checker interface {
	Check(ctx context.Context) error
}
