package ccmapp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// recheckPeriod is the interval at which an unhealthy cloud is checked again. A replica that waits for the
// lease makes no calls of its own, and would not detect a recovery.
const recheckPeriod = 30 * time.Second

// partCloud is the only part of a provider that does not report health by part.
const partCloud = "cloud"

// partKubernetes is the version of the API server. It is reported, and does not decide about readiness: what works with
// an unsupported version must not stop.
const partKubernetes = "kubernetes"

// checkTimeout bounds the check of the credentials. A cloud that does not answer does not prevent the start:
// it may be back in a minute.
const checkTimeout = 10 * time.Second

// CloudHealth is the health of one cloud.
type CloudHealth struct {
	cloud cloudprovider.Interface
	clock clock.Clock

	mu sync.Mutex
	// err is the error of the last check, and its start.
	err   error
	since time.Time
	// blocked is why the cloud's controllers do no work at all, and since when.
	blocked      error
	blockedSince time.Time
}

// Check verifies that the cloud accepts the credentials, and stores the result. A provider that cannot check
// passes.
func (h *CloudHealth) Check(ctx context.Context) error {
	checker, ok := h.cloud.(provider.Checker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := checker.Check(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && h.err == nil {
		h.since = h.clock.Now()
	}
	h.err = err
	return err
}

// Parts returns the health of each part of the work.
func (h *CloudHealth) Parts() []provider.PartHealth {
	h.mu.Lock()
	blocked := provider.PartHealth{Part: partCloud, Err: h.blocked, Since: h.blockedSince}
	h.mu.Unlock()
	if blocked.Err != nil {
		return []provider.PartHealth{blocked}
	}
	if reporter, ok := h.cloud.(provider.HealthReporter); ok {
		if parts := reporter.Health(); len(parts) > 0 {
			return parts
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return []provider.PartHealth{{Part: partCloud, Err: h.err, Since: h.since}}
}

// SetBlocked stores why the cloud's controllers do no work at all. Nil ends that.
func (h *CloudHealth) SetBlocked(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.blocked, h.blockedSince = err, h.clock.Now()
}

// Health is the manager's view of its clouds, for /readyz.
//
// The manager is ready as long as any part of its work can be done: a cloud without load balancers must not
// look like a manager that initialises no nodes, and an outage of one service, or of one of several clouds, must not
// stop a rollout. It is not ready while nothing works, for example while no cloud can be reached: then a rollout stops
// before it has replaced the replicas that do work. Readiness never restarts a process, and the leader continues
// either way: controllers retry what failed.
type Health struct {
	clouds []*CloudHealth
	clock  clock.Clock

	mu sync.Mutex
	// kubernetes is the problem with the version of the API server, and when it was found.
	kubernetes      error
	kubernetesSince time.Time
	// info returns a line for /readyz?verbose that does not decide about readiness.
	info func() string
}

// NewHealth returns the health of a manager of these clouds.
func NewHealth(c clock.Clock, clouds ...cloudprovider.Interface) *Health {
	h := &Health{clock: c}
	for _, cloud := range clouds {
		h.clouds = append(h.clouds, &CloudHealth{cloud: cloud, clock: c})
	}
	return h
}

// Clouds returns the health of each cloud, in the order of NewHealth.
func (h *Health) Clouds() []*CloudHealth { return h.clouds }

// Parts returns the health of each part of the work. With several clouds, the name of a part begins with that of its
// cloud.
func (h *Health) Parts() []provider.PartHealth {
	var all []provider.PartHealth
	for _, cloud := range h.clouds {
		for _, p := range cloud.Parts() {
			if len(h.clouds) > 1 {
				p.Part = cloud.cloud.ProviderName() + "/" + p.Part
			}
			all = append(all, p)
		}
	}
	return all
}

// degraded returns the names of those of several clouds that have an unhealthy part.
func (h *Health) degraded() []string {
	var names []string
	for _, cloud := range h.clouds {
		if len(h.clouds) > 1 && slices.ContainsFunc(cloud.Parts(), isUnhealthy) {
			names = append(names, cloud.cloud.ProviderName())
		}
	}
	return names
}

// SetInfo sets a line of /readyz?verbose that does not decide about readiness.
func (h *Health) SetInfo(line func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.info = line
}

// SetKubernetes stores the problem with the version of the API server.
func (h *Health) SetKubernetes(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kubernetes, h.kubernetesSince = err, h.clock.Now()
}

// kubernetesParts returns the health of the API server's version if it has a problem.
func (h *Health) kubernetesParts() []provider.PartHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kubernetes == nil {
		return nil
	}
	return []provider.PartHealth{{Part: partKubernetes, Err: h.kubernetes, Since: h.kubernetesSince}}
}

// Watch checks an unhealthy cloud again periodically, until ctx ends. It logs when a part fails and when it
// recovers.
func (h *Health) Watch(ctx context.Context) {
	logger := klog.FromContext(ctx)
	failing := map[string]bool{}
	for clocks.Sleep(ctx, h.clock, recheckPeriod) == nil {
		h.recheck(ctx)
		for _, p := range h.Parts() {
			switch {
			case p.Err != nil && !failing[p.Part]:
				logger.Error(p.Err, "Part of the manager is unhealthy; the others continue", "part", p.Part, "since", p.Since)
			case p.Err == nil && failing[p.Part]:
				logger.Info("Part of the manager is healthy again", "part", p.Part)
			}
			failing[p.Part] = p.Err != nil
		}
	}
}

// recheck checks the unhealthy clouds at the same time: one that does not answer holds up no other.
func (h *Health) recheck(ctx context.Context) {
	var group sync.WaitGroup
	for _, cloud := range h.clouds {
		if slices.ContainsFunc(cloud.Parts(), isUnhealthy) {
			group.Go(func() { _ = cloud.Check(ctx) }) // The result is in the parts.
		}
	}
	group.Wait()
}

func isUnhealthy(p provider.PartHealth) bool { return p.Err != nil }

// ServeHTTP serves /readyz, which names the degraded ones of several clouds, /readyz?verbose with a line for each part,
// and /readyz/PART, which fails as soon as that part does.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	parts, notes := h.Parts(), h.kubernetesParts()
	var out strings.Builder
	part := strings.Trim(strings.TrimPrefix(r.URL.Path, pathReady), "/")
	if part != "" {
		parts = slices.DeleteFunc(slices.Concat(parts, notes), func(p provider.PartHealth) bool { return p.Part != part })
		notes = nil
		if len(parts) == 0 {
			http.NotFound(w, r)
			return
		}
	} else {
		out.WriteString(h.infoLine())
	}
	for _, p := range slices.Concat(parts, notes) {
		out.WriteString(h.line(p))
	}
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case len(parts) > 0 && !slices.ContainsFunc(parts, func(p provider.PartHealth) bool { return p.Err == nil }):
		w.WriteHeader(http.StatusServiceUnavailable)
		out.WriteString("readyz check failed\n")
	case verbose:
		out.WriteString("readyz check passed\n")
	default:
		out.Reset()
		out.WriteString("ok")
		if names := h.degraded(); part == "" && len(names) > 0 {
			out.WriteString(", degraded: " + strings.Join(names, ", "))
		}
	}
	_, _ = w.Write([]byte(out.String()))
}

func (h *Health) infoLine() string {
	h.mu.Lock()
	line := h.info
	h.mu.Unlock()
	if line == nil {
		return ""
	}
	return line()
}

// line formats the health of a part, in the form of Kubernetes' own checks.
func (h *Health) line(p provider.PartHealth) string {
	if p.Err == nil {
		return fmt.Sprintf("[+]%s ok\n", p.Part)
	}
	since := h.clock.Since(p.Since).Round(time.Second)
	return fmt.Sprintf("[-]%s failing for %s: %s\n", p.Part, since, cloudapi.OneLine(p.Err))
}
