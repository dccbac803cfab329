package client

import (
	"strconv"
	"sync"
	"time"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// LegacyMetrics are the metrics of cloud-provider-aws, for existing dashboards and alerts. A nil
// pointer records nothing.
type LegacyMetrics struct {
	duration  *basemetrics.HistogramVec
	errors    *basemetrics.CounterVec
	throttled *basemetrics.CounterVec
	status    *basemetrics.CounterVec

	// Metrics of the tagging controller.
	tagErrors *basemetrics.CounterVec
	tagDelay  *basemetrics.HistogramVec
}

// newLegacyMetrics returns the metrics of the process. The first call registers them.
var newLegacyMetrics = sync.OnceValue(func() *LegacyMetrics {
	set := &metrics.Set{}
	m := &LegacyMetrics{
		duration: set.Histogram(metrics.Doc{
			Name: "cloudprovider_aws_api_request_duration_seconds", Labels: []string{"request"},
			Help: "Latency of some AWS API calls, in seconds. See ccm_cloud_api_request_duration_seconds for all of them.",
		}, nil),
		errors: set.Counter(metrics.Doc{
			Name: "cloudprovider_aws_api_request_errors", Labels: []string{"request"},
			Help: "Errors of the same AWS API calls.",
		}),
		throttled: set.Counter(metrics.Doc{
			Name: "cloudprovider_aws_api_throttled_requests_total", Labels: []string{"operation_name"},
			Help: "AWS API calls that failed because AWS throttled them, by operation.",
		}),
		status: set.Counter(metrics.Doc{
			Name: "cloudprovider_aws_api_response_status_total", Labels: []string{"service", "operation", "status_code"},
			Help: "Responses of the AWS API with a status of 400 and above.",
		}),
		tagErrors: set.Counter(metrics.Doc{
			Name: "cloudprovider_aws_tagging_controller_work_item_errors_total", Labels: []string{"error_type", "instance_id"},
			Help: "Failed attempts to tag or untag the instance of a Node: all (total_errors), and last ones " +
				"(errors_after_retries_exhausted). The label instance_id is empty, to bound the number of series.",
		}),
		tagDelay: set.Histogram(metrics.Doc{
			Name: "tagging_controller_inital_node_tagging_delay_seconds", //nolint:misspell // existing name
			Help: "Time from the creation of a node until its instance was first tagged, in seconds.",
			// From 1 s to 17 min, as in existing dashboards.
		}, basemetrics.ExponentialBuckets(1, 4, 6)),
	}
	set.Register()
	// A metric without labels is exposed from the start, with count 0.
	m.tagDelay.WithLabelValues()
	return m
})

// legacyRequest returns the name of an operation in these metrics, or "".
func legacyRequest(operation string) string {
	return map[string]string{
		"DescribeInstances": "describe_instance", "DescribeNetworkInterfaces": "describe_network_interfaces",
		"DescribeSecurityGroups": "describe_security_groups", "DescribeRouteTables": "describe_route_tables",
		"CreateTags": "create_tags", "DeleteTags": "delete_tags",
	}[operation]
}

// observeCall records a call with all its attempts.
func (m *LegacyMetrics) observeCall(req cloudapi.Request, duration time.Duration, err error) {
	if m == nil {
		return
	}
	if awserr.Is(err, "RequestLimitExceeded") {
		m.throttled.WithLabelValues(req.Operation).Inc()
	}
	name := legacyRequest(req.Operation)
	switch {
	case name == "" || req.Service != string(api.ServiceEC2):
	case err != nil:
		m.errors.WithLabelValues(name).Inc()
	default:
		m.duration.WithLabelValues(name).Observe(duration.Seconds())
	}
}

// ObserveTagError records a failed attempt to tag or untag the instance of a Node. last reports that it
// is not retried.
func (m *LegacyMetrics) ObserveTagError(last bool) {
	if m == nil {
		return
	}
	kind := "total_errors"
	if last {
		kind = "errors_after_retries_exhausted"
	}
	m.tagErrors.WithLabelValues(kind, "").Inc()
}

// ObserveTagDelay records the time from the creation of a Node until its instance was tagged first.
func (m *LegacyMetrics) ObserveTagDelay(delay time.Duration) {
	if m != nil {
		m.tagDelay.WithLabelValues().Observe(delay.Seconds())
	}
}

// legacyServices maps services to the SDK's names, which are the values of the label service.
func legacyServices() map[string]string {
	return map[string]string{
		string(api.ServiceEC2): "EC2", string(api.ServiceELB): "Elastic Load Balancing",
		string(api.ServiceELBV2): "Elastic Load Balancing v2", string(api.ServiceSTS): "STS",
	}
}

// observeAttempt records one attempt of a call.
func (m *LegacyMetrics) observeAttempt(call cloudapi.Call) {
	if m == nil {
		return
	}
	service, known := legacyServices()[call.Service]
	status, err := strconv.Atoi(call.Code)
	if !known || err != nil || status < 400 {
		return
	}
	m.status.WithLabelValues(service, call.Operation, call.Code).Inc()
}
