package sim

import (
	"net/http"
	"time"
)

// Operation identifies the kind of a request, with the name in the cloud's own API reference.
type Operation struct {
	Service, Name string
	// Mutating operations change the cloud.
	Mutating bool
}

// Call is one request in the log.
type Call struct {
	// Seq counts from 1 over the life of the log, in the order in which calls ended. Reset does not restart it.
	Seq int
	Operation
	// At is when the call arrived, on the front's clock.
	At time.Time
	// Duration is from arrival to the response, latency included.
	Duration time.Duration
	// Status is the HTTP status that the client saw; 0 if it saw no response.
	Status int
	// Fault is the fault that was injected into this call, if any.
	Fault FaultKind
}

// FaultKind is the kind of a fault.
type FaultKind string

// The closed set of faults.
const (
	// FaultError returns an error; the operation is not executed.
	FaultError FaultKind = "error"
	// FaultThrottle returns the cloud's response to a throttled call; the operation is not executed.
	FaultThrottle FaultKind = "throttle"
	// FaultDenied returns the cloud's response to a call that the credentials do not allow; the operation is not executed.
	FaultDenied FaultKind = "denied"
	// FaultHang gives no answer: the call ends with its client, or with the generation; the operation is not executed.
	FaultHang FaultKind = "hang"
	// FaultLostReply executes the operation and drops the connection before the reply.
	FaultLostReply FaultKind = "lost-reply"
	// FaultKillBefore calls the function set by OnKill, and the operation is not executed.
	FaultKillBefore FaultKind = "kill-before"
	// FaultKillAfter executes the operation, then calls the function set by OnKill; the client sees no reply.
	FaultKillAfter FaultKind = "kill-after"
)

// Fault selects the calls that fail, and the kind of failure.
type Fault struct {
	Kind FaultKind
	// Call is the number of the first call that fails, counted from 1 when the script was set: among all calls,
	// or among those of Operation if that is set. 0 means from the first on.
	Call int
	// Operation, if set, restricts the fault to calls of that name.
	Operation string
	// Mutating restricts the fault to mutating calls, and Call counts only these.
	Mutating bool
	// Times is the total number of calls that fail. 0 means one, or with a Rate any number; Always has no end.
	Times int
	// Rate, if not 0, makes each matching call fail with this probability instead.
	Rate float64
	// RetryAfter is the Retry-After of a FaultThrottle, rounded up to a second; 0 sends none.
	RetryAfter time.Duration
}

// Always is the Times of a fault that makes every matching call fail until the script is replaced.
const Always = -1

// Describe names the operation of a request. It may read the body, completely or in part: the handler gets
// all of it again.
type Describe func(*http.Request) Operation

// Dialect writes errors in the format of one cloud.
type Dialect struct {
	// Error writes an internal error; Throttled the response to a call over the limit, Denied to one without a
	// permission. When Throttled is called, the header Retry-After is already set if the wait is known: a cloud that
	// does not send it deletes it. Nil functions respond with 500, 429 and 403 in plain text.
	Error, Throttled, Denied func(http.ResponseWriter, *http.Request)
}

// withDefaults fills in the functions that are nil.
func (d Dialect) withDefaults() Dialect {
	if d.Error == nil {
		d.Error = plainError(http.StatusInternalServerError)
	}
	if d.Throttled == nil {
		d.Throttled = plainError(http.StatusTooManyRequests)
	}
	if d.Denied == nil {
		d.Denied = plainError(http.StatusForbidden)
	}
	return d
}

func plainError(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "simulated: "+http.StatusText(status), status)
	}
}

// describeByPath names operations when the simulator does not: "GET /v1/things".
func describeByPath(r *http.Request) Operation {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	return Operation{Name: r.Method + " " + r.URL.Path, Mutating: !read}
}
