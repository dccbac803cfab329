package provider

import (
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// Base implements the parts of cloudprovider.Interface and cloudprovider.InformerUser that are the same
// in every provider. A provider embeds it and overrides what it does differently.
type Base struct {
	name  string
	nodes nodes.LazyLister
}

var _ cloudprovider.InformerUser = (*Base)(nil)

// NewBase returns the Base of the provider of that name.
func NewBase(name string) Base { return Base{name: name} }

// Nodes returns the lister of the cluster's Nodes, which is empty until SetInformers is called.
func (b *Base) Nodes() *nodes.LazyLister { return &b.nodes }

// ProviderName implements cloudprovider.Interface.
func (b *Base) ProviderName() string { return b.name }

// HasClusterID implements cloudprovider.Interface. The manager identifies clusters by their UID.
func (b *Base) HasClusterID() bool { return true }

// Initialize implements cloudprovider.Interface.
func (b *Base) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// SetInformers implements cloudprovider.InformerUser.
func (b *Base) SetInformers(factory informers.SharedInformerFactory) {
	informer := factory.Core().V1().Nodes()
	b.nodes.Set(informer.Lister(), informer.Informer().HasSynced)
}

// Instances implements cloudprovider.Interface. The framework does not call it if InstancesV2 exists.
func (b *Base) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements cloudprovider.Interface. The framework does not call it if InstancesV2 exists.
func (b *Base) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters implements cloudprovider.Interface.
func (b *Base) Clusters() (cloudprovider.Clusters, bool) { return nil, false }
