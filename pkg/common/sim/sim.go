// Package sim is the kit that every simulated cloud is built with: clock, latency, token
// buckets, fault scripts and a call log. It knows HTTP, and no cloud.
package sim

import (
	"net/http"
	"time"
)

// Operation is how a simulator names one request, and is the same word that the cloud's own API reference uses.
type Operation struct {
	Service, Name string
	// Mutating operations change the cloud.
	Mutating bool
}

// Call is one request in the log.
type Call struct {
	// Seq counts from 1 over the life of the log.
	Seq int
	Operation
	At       time.Time
	Duration time.Duration
	// Status is the HTTP status that the client saw; 0 if it saw no answer.
	Status int
	// Fault is the fault that was injected into this call, if any.
	Fault FaultKind
}

// FaultKind is what goes wrong.
type FaultKind string

// The closed set of faults.
const (
	// FaultError answers with an error; the operation is not done.
	FaultError FaultKind = "error"
	// FaultThrottle answers as the cloud answers a throttled call; the operation is not done.
	FaultThrottle FaultKind = "throttle"
	// FaultLostReply does the operation and drops the connection before the reply.
	FaultLostReply FaultKind = "lost-reply"
	// FaultKillBefore calls the script's Kill function, and the operation is not done.
	FaultKillBefore FaultKind = "kill-before"
	// FaultKillAfter does the operation, then calls Kill; the client sees no reply.
	FaultKillAfter FaultKind = "kill-after"
)

// Fault says which calls go wrong and how.
type Fault struct {
	Kind FaultKind
	// Call is the number of the call that goes wrong, counted from 1 when the script was set. 0 means by Operation.
	Call int
	// Operation, where set, restricts the fault to calls of that name.
	Operation string
	// Times is how many matching calls go wrong; 0 means one.
	Times int
	// Rate, where not 0, makes each matching call go wrong with this probability instead.
	Rate float64
}

// Describe names the operation of a request. It must not consume the body.
type Describe func(*http.Request) Operation

// Dialect writes errors as one cloud writes them.
type Dialect struct {
	// Error writes an internal error; Throttled the answer to a call over the limit.
	Error, Throttled func(http.ResponseWriter, *http.Request)
}
