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

// Health is the manager's view of its cloud, for /readyz.
//
// The manager is ready as long as any part of its work can be done: a cloud without load balancers must not
// look like a manager that initialises no nodes, and an outage of one service must not stop a rollout. It is
// not ready while nothing works, for example while the cloud cannot be reached: then a rollout stops before
// it has replaced the replicas that do work. Readiness never restarts a process, and the leader continues
// either way: controllers retry what failed.
type Health struct {
	cloud cloudprovider.Interface
	clock clock.Clock

	mu sync.Mutex
	// err is the error of the last check, and its start.
	err   error
	since time.Time
	// blocked is why the process does no work at all, and since when.
	blocked      error
	blockedSince time.Time
	// kubernetes is the problem with the version of the API server, and when it was found.
	kubernetes      error
	kubernetesSince time.Time
	// info returns a line for /readyz?verbose that does not decide about readiness.
	info func() string
}

// NewHealth returns the health of a cloud.
func NewHealth(cloud cloudprovider.Interface, c clock.Clock) *Health {
	return &Health{cloud: cloud, clock: c}
}

// SetInfo sets a line of /readyz?verbose that does not decide about readiness.
func (h *Health) SetInfo(line func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.info = line
}

// Check verifies that the cloud accepts the credentials, and stores the result. A provider that cannot check
// passes.
func (h *Health) Check(ctx context.Context) error {
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
func (h *Health) Parts() []provider.PartHealth {
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

// SetBlocked stores why the process does no work at all: it is not ready then. Nil ends that.
func (h *Health) SetBlocked(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.blocked, h.blockedSince = err, h.clock.Now()
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
		if slices.ContainsFunc(h.Parts(), isUnhealthy) {
			// The result is in the parts.
			_ = h.Check(ctx)
		}
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

func isUnhealthy(p provider.PartHealth) bool { return p.Err != nil }

// ServeHTTP serves /readyz, /readyz?verbose with a line for each part, and /readyz/PART, which fails
// as soon as that part does.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	parts, notes := h.Parts(), h.kubernetesParts()
	var out strings.Builder
	if part := strings.Trim(strings.TrimPrefix(r.URL.Path, pathReady), "/"); part != "" {
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
