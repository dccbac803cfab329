package aws

import (
	"strconv"
	"sync"
	"time"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// legacyMetrics are those of managers before this one, under their names and with their labels,
// for dashboards and alerts. A nil pointer records nothing.
type legacyMetrics struct {
	duration  *basemetrics.HistogramVec
	errors    *basemetrics.CounterVec
	throttled *basemetrics.CounterVec
	status    *basemetrics.CounterVec

	// Of the tagging controller.
	tagErrors *basemetrics.CounterVec
	tagDelay  *basemetrics.HistogramVec
}

// newLegacyMetrics returns the metrics of the process, and exposes them with the first call.
var newLegacyMetrics = sync.OnceValue(func() *legacyMetrics {
	set := &metrics.Set{}
	m := &legacyMetrics{
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
			Help: "Answers of the AWS API with a status of 400 and above.",
		}),
		tagErrors: set.Counter(metrics.Doc{
			Name: "cloudprovider_aws_tagging_controller_work_item_errors_total", Labels: []string{"error_type", "instance_id"},
			Help: "Nodes whose instances could not be tagged or untagged: each try (total_errors), and the last one (errors_after_retries_exhausted). The label instance_id is empty, since it would have a value for each instance that there ever was.",
		}),
		tagDelay: set.Histogram(metrics.Doc{
			Name: "tagging_controller_inital_node_tagging_delay_seconds", //nolint:misspell // spelt as ever
			Help: "Time from the creation of a node until its instance was first tagged, in seconds.",
			// From 1 s to 17 min, as dashboards have them.
		}, basemetrics.ExponentialBuckets(1, 4, 6)),
	}
	set.Register()
	// A metric without labels is there from the start, with nothing counted.
	m.tagDelay.WithLabelValues()
	return m
})

// legacyRequest is what those metrics call an operation; "" for those that they do not know.
func legacyRequest(operation string) string {
	return map[string]string{
		"DescribeInstances": "describe_instance", "DescribeNetworkInterfaces": "describe_network_interfaces",
		"DescribeSecurityGroups": "describe_security_groups", "DescribeRouteTables": "describe_route_tables",
		"CreateTags": "create_tags", "DeleteTags": "delete_tags",
	}[operation]
}

// called records a call with all its attempts.
func (m *legacyMetrics) called(req cloudapi.Request, took time.Duration, err error) {
	if m == nil {
		return
	}
	if awserr.Is(err, "RequestLimitExceeded") {
		m.throttled.WithLabelValues(req.Operation).Inc()
	}
	name := legacyRequest(req.Operation)
	switch {
	case name == "" || req.Service != string(serviceEC2):
	case err != nil:
		m.errors.WithLabelValues(name).Inc()
	default:
		m.duration.WithLabelValues(name).Observe(took.Seconds())
	}
}

// tagFailed records a try to tag or untag the instance of a node that failed; last says that it was the last one.
func (m *legacyMetrics) tagFailed(last bool) {
	if m == nil {
		return
	}
	kind := "total_errors"
	if last {
		kind = "errors_after_retries_exhausted"
	}
	m.tagErrors.WithLabelValues(kind, "").Inc()
}

// tagged records that the instance of a node was tagged for the first time, so long after the node was created.
func (m *legacyMetrics) tagged(after time.Duration) {
	if m != nil {
		m.tagDelay.WithLabelValues().Observe(after.Seconds())
	}
}

// legacyServices are the SDK's names of the services, which the label service has.
func legacyServices() map[string]string {
	return map[string]string{
		string(serviceEC2): "EC2", string(serviceELB): "Elastic Load Balancing", string(serviceELBv2): "Elastic Load Balancing v2", string(serviceSTS): "STS",
	}
}

// answered records one attempt.
func (m *legacyMetrics) answered(call cloudapi.Call) {
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
