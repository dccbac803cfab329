package cloudapi

import (
	"time"
)

// Request identifies a request by the names of the cloud's API reference.
type Request struct {
	// Service and Operation are names from the cloud's API reference, without IDs. They become metric labels.
	Service, Operation string
	// Mutating requests change the cloud, or may.
	Mutating bool
	// Idempotent mutations lead to the same state when they are applied twice. Reads always are.
	Idempotent bool
}

// Call is a finished request from the view of the client.
type Call struct {
	Request
	// Sent is false if the request was not sent because of the rate limit or the context.
	Sent bool
	// Code is the HTTP status, or the class if there was no response.
	Code string
	// Class is "" for success.
	Class Class
	// Waited is the time spent in the rate limiter, Duration the time from sending to the response header.
	Waited, Duration time.Duration
}
