// Package drift detects and corrects drift: changes of load balancers that were made outside of the manager. The
// framework reconciles a load balancer only when its Service or the nodes change; without the audit, a listener
// that was removed by hand would stay removed for as long as the manager runs.
package drift

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// DefaultPeriod is the longest time that drift stays undetected. Each load balancer costs a handful of reads per
// period: half an hour keeps 200 of them under one call per second.
const DefaultPeriod = 30 * time.Minute

// idlePause is the interval at which an audit without load balancers lists the Services again.
const idlePause = time.Minute

// startPause delays the first audit, so that the start of the manager, which may read hundreds of load balancers,
// has the cloud's rate limits for itself. The first round takes that much longer.
const startPause = time.Minute

// Options configure an Audit. All fields but Clock are required.
type Options struct {
	// Provider is the cloud's name, the label of the metric.
	Provider string
	// ClusterName is the --cluster-name flag.
	ClusterName string
	// Period is the time in which every load balancer is audited once, evenly spread unless all share one read.
	Period   time.Duration
	Services corelisters.ServiceLister
	Nodes    corelisters.NodeLister
	// Synced report whether the listers are filled.
	Synced []cache.InformerSynced
	// Client writes the status of a Service after its load balancer had to be recreated.
	Client kubernetes.Interface
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Audit compares every load balancer with its Service once per period.
type Audit struct {
	options Options
	auditor loadbalancer.Auditor
}

// New returns the audit of a provider's load balancers, or false if the period is not positive or the
// provider does not implement loadbalancer.Auditor.
func New(o Options, cloud cloudprovider.Interface) (*Audit, bool) {
	balancer, ok := cloud.LoadBalancer()
	if !ok || o.Period <= 0 {
		return nil, false
	}
	auditor, ok := balancer.(loadbalancer.Auditor)
	if !ok {
		return nil, false
	}
	o.Clock = clocks.OrReal(o.Clock)
	process().set.Register()
	// All series begin with zero: otherwise alerts do not see the increase by the first audits.
	for _, result := range []string{resultFailed, resultClean, resultRepaired} {
		process().audits.WithLabelValues(o.Provider, result)
	}
	return &Audit{options: o, auditor: auditor}, true
}

// Run audits until ctx ends. The first audit starts after startPause or after one load balancer's share of the
// period: at start the framework reconciles all of them anyway.
func (a *Audit) Run(ctx context.Context) {
	if !cache.WaitForNamedCacheSyncWithContext(ctx, a.options.Synced...) {
		return
	}
	for minPause := min(startPause, a.options.Period); ctx.Err() == nil; {
		keys := a.keys(ctx)
		if len(keys) == 0 {
			_ = clocks.Sleep(ctx, a.options.Clock, min(idlePause, a.options.Period))
		}
		pause, next := max(minPause, a.options.Period/time.Duration(max(len(keys), 1))), time.Duration(0)
		if a.auditor.AuditsTogether() {
			pause = minPause // All share one read.
			next = a.options.Period
		}
		for _, key := range keys {
			if clocks.Sleep(ctx, a.options.Clock, pause) != nil {
				return
			}
			minPause = next
			a.audit(ctx, key)
			pause = 0
			if next == 0 {
				pause = a.options.Period / time.Duration(len(keys))
			}
		}
	}
}

// keys lists the Services to audit, sorted by namespace and name.
func (a *Audit) keys(ctx context.Context) []cache.ObjectName {
	services, err := a.options.Services.List(labels.Everything())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to list Services for the audit")
		return nil
	}
	var keys []cache.ObjectName
	for _, s := range services {
		if isAuditable(s) {
			keys = append(keys, cache.MetaObjectToName(s))
		}
	}
	sorting.Func(keys, func(x, y cache.ObjectName) int {
		return slices.Compare([]string{x.Namespace, x.Name}, []string{y.Namespace, y.Name})
	})
	return keys
}

// isAuditable reports whether the framework has finished creating the load balancer of the Service. Until then, the
// framework alone reconciles it.
func isAuditable(s *v1.Service) bool {
	return loadbalancer.WantsLoadBalancer(s) && servicehelper.HasLBFinalizer(s) && len(s.Status.LoadBalancer.Ingress) > 0
}

// audit audits one Service. Errors are logged and counted; the next period tries again.
func (a *Audit) audit(ctx context.Context, key cache.ObjectName) {
	logger := klog.FromContext(ctx).WithValues("provider", a.options.Provider, "service", key)
	var audited *v1.Service
	drift, status, err := a.auditor.AuditLoadBalancer(ctx, a.options.ClusterName, func() (*v1.Service, []*v1.Node) {
		audited = a.service(key)
		nodes, err := a.options.Nodes.List(labels.Everything())
		if err != nil {
			audited = nil // An audit without nodes would remove all members.
		}
		return audited, nodes
	})
	if err == nil && audited != nil && status != nil {
		err = a.publish(audited, status)
	}
	switch {
	case err != nil:
		process().audits.WithLabelValues(a.options.Provider, resultFailed).Inc()
		logger.Error(err, "Failed to audit load balancer, retrying in the next period", "period", a.options.Period)
	case drift.Empty():
		process().audits.WithLabelValues(a.options.Provider, resultClean).Inc()
	default:
		process().audits.WithLabelValues(a.options.Provider, resultRepaired).Inc()
		logger.Info("Corrected drift of load balancer", "changes", plan.Summary(drift))
	}
}

// service returns the current Service, or nil if it no longer needs an audit.
func (a *Audit) service(key cache.ObjectName) *v1.Service {
	s, err := a.options.Services.Services(key.Namespace).Get(key.Name)
	if err != nil || !isAuditable(s) {
		return nil
	}
	return s
}

// publish writes the status if it has changed: a recreated load balancer may have another address, and the
// framework would only write it at the Service's next change.
func (a *Audit) publish(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if len(status.Ingress) == 0 || servicehelper.LoadBalancerStatusEqual(&service.Status.LoadBalancer, status) {
		return nil
	}
	updated := service.DeepCopy()
	updated.Status.LoadBalancer = *status
	if _, err := servicehelper.PatchService(a.options.Client.CoreV1(), service, updated); err != nil {
		return fmt.Errorf("writing the new address into the Service's status: %w", err)
	}
	return nil
}
