// Package sdktest tests the simulator with Google's own client. All requests and responses are checked against Google's
// description of the API.
package sdktest

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	compute "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

const (
	project = "simulated"
	region  = "europe-west1"
	zone    = "europe-west1-b"
)

// cloud is a simulated cloud with a client.
type cloud struct {
	*sim.Cloud
	*compute.Service
	t *testing.T
	// lenient is set while a test sends what the description does not allow.
	lenient bool
}

// run runs a test in a bubble with a simulated cloud.
func run(t *testing.T, o sim.Options, test func(t *testing.T, c *cloud)) {
	t.Helper()
	document, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		world, err := sim.New(o)
		if err != nil {
			t.Fatal(err)
		}
		c := &cloud{Cloud: world, t: t}
		checked := document.Transport(world.Front().Transport(), func(problem string) {
			if !c.lenient {
				t.Error(problem)
			}
		})
		c.Service, err = compute.NewService(t.Context(), option.WithHTTPClient(&http.Client{
			Transport: bearer{world.Token(), checked}}))
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
		if err := world.Check(); err != nil {
			t.Error(err)
		}
	})
}

// bearer authenticates requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// starter is a call that starts an operation.
type starter interface {
	Do(opts ...googleapi.CallOption) (*compute.Operation, error)
}

// done waits for the operation of a call, which must succeed.
func (c *cloud) done(call starter) *compute.Operation {
	c.t.Helper()
	op, err := c.finish(call)
	if err != nil {
		c.t.Fatal(err)
	}
	if op.Error != nil {
		c.t.Fatalf("operation %s failed: %s", op.OperationType, op.Error.Errors[0].Message)
	}
	return op
}

// finish waits for the operation of a call.
func (c *cloud) finish(call starter) (*compute.Operation, error) {
	op, err := call.Do()
	for err == nil && op.Status != "DONE" {
		switch {
		case op.Zone != "":
			op, err = c.ZoneOperations.Wait(project, last(op.Zone), op.Name).Do()
		case op.Region != "":
			op, err = c.RegionOperations.Wait(project, last(op.Region), op.Name).Do()
		default:
			op, err = c.GlobalOperations.Wait(project, op.Name).Do()
		}
	}
	return op, err
}

func last(url string) string {
	for i := len(url) - 1; i >= 0; i-- {
		if url[i] == '/' {
			return url[i+1:]
		}
	}
	return url
}

// wantError checks status and reason of an error.
func (c *cloud) wantError(err error, status int, reason string) {
	c.t.Helper()
	var e *googleapi.Error
	if !errors.As(err, &e) || e.Code != status || len(e.Errors) != 1 || e.Errors[0].Reason != reason {
		c.t.Errorf("error is %v, want %d %s", err, status, reason)
	}
}

// refused checks that a call is refused at once.
func (c *cloud) refused(call starter, status int, reason string) {
	c.t.Helper()
	_, err := call.Do()
	c.wantError(err, status, reason)
}

// launch starts a machine in a zone and returns the URL of its instance.
func (c *cloud) launch(name, zone string) string {
	c.t.Helper()
	if _, err := c.Launch(world.Machine{Name: name, Zone: zone}); err != nil {
		c.t.Fatal(err)
	}
	i, err := c.Instances.Get(project, zone, name).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	return i.SelfLink
}

// pass lets time pass in the bubble.
func pass(d time.Duration) { time.Sleep(d) }

// must returns the result of a call that must succeed.
func must[T any](t *testing.T) func(x T, err error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}
