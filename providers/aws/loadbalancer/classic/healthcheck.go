package classic

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// The default health check. Every classic load balancer of Kubernetes has these values, so they can never
// change.
const (
	defaultInterval  = 10 * time.Second
	defaultTimeout   = 5 * time.Second
	defaultHealthy   = 2
	defaultUnhealthy = 6
)

// maxTimeout is the limit of the API; an interval is always longer than the timeout.
const maxTimeout = 60 * time.Second

// desireHealthCheck sets the defaults. The first port represents all.
func (c *Cloud) desireHealthCheck(in intent.Service, o annotation.Options, problems *intent.Problems) HealthCheck {
	probe := o.HealthCheck
	protocol, nodePort := protocolTCP, int32(0)
	if o.BackendProtocol == "https" || o.BackendProtocol == "ssl" {
		protocol = protocolSSL
	}
	if len(in.Ports) > 0 {
		nodePort = in.Ports[0].NodePort
	}
	target := c.probeTarget(in, o, protocol, nodePort)
	interval := cmp.Or(probe.Interval, defaultInterval)
	timeout := cmp.Or(probe.Timeout, min(defaultTimeout, interval-time.Second))
	switch {
	case timeout > maxTimeout:
		problems.Addf(annotation.KeyHealthCheckTimeout, inSeconds(timeout),
			"classic load balancers wait at most %s for a probe: write at most that", inSeconds(maxTimeout))
	case timeout >= interval:
		problems.Addf(annotation.KeyHealthCheckTimeout, inSeconds(timeout),
			"it must be less than the interval of a classic load balancer's probes, which is %s seconds: write less, or "+
				"raise %s", inSeconds(interval), annotation.KeyHealthCheckInterval)
	}
	//nolint:gosec // at most 300 s and 10 checks
	return HealthCheck{
		Target: target, Interval: int32(interval / time.Second), Timeout: int32(timeout / time.Second),
		Healthy:   int32(cmp.Or(probe.Healthy, defaultHealthy)),
		Unhealthy: int32(cmp.Or(probe.Unhealthy, defaultUnhealthy)),
	}
}

// probeTarget returns the target of health checks: by default the node port, by this protocol.
func (c *Cloud) probeTarget(in intent.Service, o annotation.Options, protocol string, nodePort int32) string {
	probe := o.HealthCheck
	port, path := annotation.TrafficPort, "/"
	switch {
	case in.LocalTraffic:
		// Port and path are those of the Service's own probe; see annotation.Read.
		protocol = protocolHTTP
	case c.options.SharedProbe != nil:
		protocol, port, path = protocolHTTP, strconv.Itoa(int(c.options.SharedProbe.Port)), c.options.SharedProbe.Path
	}
	protocol, port, path = cmp.Or(probe.Protocol, protocol), cmp.Or(probe.Port, port), cmp.Or(probe.Path, path)
	if port == annotation.TrafficPort && len(in.Ports) > 0 {
		port = strconv.Itoa(int(nodePort))
	}
	target := protocol + ":" + port
	if protocol == protocolHTTP || protocol == protocolHTTPS {
		target += path
	}
	return target
}

// probeProtocol is the default protocol of health checks of the node port of a listener.
func (l Listener) probeProtocol() string {
	if l.InstanceProtocol == protocolSSL || l.InstanceProtocol == protocolHTTPS {
		return protocolSSL
	}
	return protocolTCP
}

func inSeconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// healthCheckKind is the health check, which has the name of its load balancer.
var healthCheckKind = rows.Kind[*HealthCheck, *HealthCheck]{
	Name: "health check",
	Key:  func(*HealthCheck) string { return "" },
	Rows: rows.InPlace([]rows.Row[*HealthCheck, *HealthCheck]{
		{Name: "target", Value: rows.Text(func(h *HealthCheck) *string { return &h.Target })},
		{Name: "interval", Value: rows.Number(func(h *HealthCheck) *int32 { return &h.Interval })},
		{Name: "timeout", Value: rows.Number(func(h *HealthCheck) *int32 { return &h.Timeout })},
		{Name: "healthyThreshold", Value: rows.Number(func(h *HealthCheck) *int32 { return &h.Healthy })},
		{Name: "unhealthyThreshold", Value: rows.Number(func(h *HealthCheck) *int32 { return &h.Unhealthy })},
	}),
}

// diffHealthCheck plans the health check.
func (d *differ) diffHealthCheck(have HealthCheck) {
	if change, differ := healthCheckKind.Update(&have, &d.want.HealthCheck); differ {
		change.Name, change.Step = d.name, healthCheckUpdate{d.want.HealthCheck, d.advice()}
		d.add(change)
	}
}

// healthCheckUpdate sets the health check.
type healthCheckUpdate struct {
	want   HealthCheck
	advice advice
}

// Do implements plan.Step.
func (s healthCheckUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	_, err := w.api.ConfigureHealthCheck(ctx, &elb.ConfigureHealthCheckInput{LoadBalancerName: &w.name,
		HealthCheck: &elbtypes.HealthCheck{
			Target: &s.want.Target, Interval: aws.Int32(s.want.Interval), Timeout: aws.Int32(s.want.Timeout),
			HealthyThreshold: aws.Int32(s.want.Healthy), UnhealthyThreshold: aws.Int32(s.want.Unhealthy),
		}})
	return w.finishBalancer(s.advice.classify("ConfigureHealthCheck", err),
		func(b *Balancer) { b.HealthCheck = s.want })
}

// initialHealthCheck is that of a new load balancer, by the documentation of the API.
func initialHealthCheck(first Listener) HealthCheck {
	protocol := protocolTCP
	if first.InstanceProtocol == protocolSSL {
		protocol = protocolSSL
	}
	return HealthCheck{Target: fmt.Sprintf("%s:%d", protocol, first.InstancePort), Interval: 30, Timeout: 5, Unhealthy: 2,
		Healthy: 10}
}
