package cloudapi

// Limits are client-side rate limits. A service that is not named gets buckets of its own by Default.
type Limits struct {
	Default  ServiceLimits
	Services map[string]ServiceLimits
	// ObeyRetryAfter holds a bucket back when the cloud throttles and says for how long.
	ObeyRetryAfter bool
}

// ServiceLimits are the limits of one service. Reads and mutations have a bucket each, so that a
// burst of lists cannot keep a deletion waiting.
type ServiceLimits struct{ Read, Mutate Limit }

// Limit is a token bucket.
type Limit struct {
	// QPS is in requests per second; 0 means no limit.
	QPS float64
	// Burst is how many requests may go out at once after a pause; less than 1 means 1.
	Burst int
}
