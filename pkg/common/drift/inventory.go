package drift

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
)

// InventoryOptions configure an Inventory. All fields but Clock are required.
type InventoryOptions struct {
	// Period is the time between two inventories.
	Period time.Duration
	// Session lists the cluster from the manager's informers. Objects are not compared with their Services, which
	// would cost reads for each Service: its Plan is not used. Run reads its ClusterUID.
	Session orphans.Session
	// Synced report whether the informers are filled.
	Synced []cache.InformerSynced
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Inventory counts the objects in the cloud by kind and state, with the lister and the classifier of ccm audit. The
// number of its calls does not depend on the number of Services where the cloud can list.
type Inventory struct {
	options InventoryOptions
	// objects and failures are the series of the gauges.
	objects, failures map[series]float64
}

// series is the values of the labels of a gauge behind the provider: the kind, and the state or the class.
type series struct{ kind, value string }

// countedStates have a series even without objects: a kind without any series could not be listed. Only routes are
// compared with what the cluster needs, so that they can also be in sync or drifted.
var countedStates = []inventory.State{inventory.Orphaned, inventory.Unknown, inventory.Unidentified, inventory.Foreign,
	inventory.Owned}

// NewInventory returns false if the period is not positive or the provider cannot list its objects.
func NewInventory(o InventoryOptions) (*Inventory, bool) {
	if o.Period <= 0 || !orphans.Supported(o.Session.Cloud) {
		return nil, false
	}
	o.Clock = clocks.OrReal(o.Clock)
	o.Session.Plan, o.Session.Parts = nil, false
	process().set.Register()
	return &Inventory{options: o}, true
}

// Run counts once per period until ctx ends, for the first time after startPause: the start of the manager, which may
// read hundreds of load balancers, has the cloud's rate limits for itself.
func (i *Inventory) Run(ctx context.Context) {
	if !cache.WaitForNamedCacheSyncWithContext(ctx, i.options.Synced...) {
		return
	}
	pause := min(startPause, i.options.Period)
	for clocks.Sleep(ctx, i.options.Clock, pause) == nil {
		i.count(ctx)
		pause = i.options.Period
	}
}

// count lists and classifies the objects, and sets the gauges. A kind with a failed list has only the series of that
// failure: it must not look empty.
func (i *Inventory) count(ctx context.Context) {
	session := &i.options.Session
	logger := klog.FromContext(ctx).WithValues("provider", session.Cloud.ProviderName())
	if session.ClusterUID == "" {
		session.ClusterUID = i.clusterUID(ctx)
	}
	audit, err := orphans.Run(ctx, *session)
	if err != nil {
		return // ctx has ended
	}
	objects, failures := map[series]float64{}, map[series]float64{}
	for _, k := range audit.Inventory.Kinds {
		if k.Err != nil {
			failures[series{k.Name, string(cloudapi.ClassOf(k.Err))}] = 1
			logger.Error(k.Err, "Failed to list the objects of a kind for the inventory", "kind", k.Name)
			continue
		}
		for _, state := range countedStates {
			objects[series{k.Name, string(state)}] = 0
		}
	}
	for _, e := range audit.Report.Entries {
		if _, listed := objects[series{e.Kind, string(inventory.Orphaned)}]; listed {
			objects[series{e.Kind, string(e.State)}]++
		}
	}
	i.expose(objects, failures)
	if n := audit.Report.Count()[inventory.Orphaned]; n > 0 {
		logger.Info("Found orphans in the cloud, which ccm audit lists", "orphans", n)
	}
}

// clusterUID returns the UID of the namespace kube-system, or "" if it cannot be read: no object is provably this
// cluster's then.
func (i *Inventory) clusterUID(ctx context.Context) string {
	namespaces := i.options.Session.Client.CoreV1().Namespaces()
	namespace, err := namespaces.Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read the UID of namespace kube-system for the inventory")
		return ""
	}
	return string(namespace.UID)
}

// expose replaces the series of the gauges.
func (i *Inventory) expose(objects, failures map[series]float64) {
	provider := i.options.Session.Cloud.ProviderName()
	for s, value := range objects {
		process().objects.WithLabelValues(provider, s.kind, s.value).Set(value)
	}
	for s, value := range failures {
		process().listFailures.WithLabelValues(provider, s.kind, s.value).Set(value)
	}
	for s := range i.objects {
		if _, kept := objects[s]; !kept {
			process().objects.Delete(map[string]string{"provider": provider, "kind": s.kind, "state": s.value})
		}
	}
	for s := range i.failures {
		if _, kept := failures[s]; !kept {
			process().listFailures.Delete(map[string]string{"provider": provider, "kind": s.kind, "class": s.value})
		}
	}
	i.objects, i.failures = objects, failures
}
