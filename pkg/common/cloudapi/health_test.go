package cloudapi_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	call := func(class cloudapi.Class, code string) cloudapi.Call {
		return cloudapi.Call{Request: cloudapi.Request{Service: "lb", Operation: "ListThings"}, Sent: true, Class: class,
			Code: code}
	}
	down, denied, well := call(cloudapi.Unavailable, "503"), call(cloudapi.Denied, "403"), call("", "200")
	unsent := down
	unsent.Sent = false
	other := well
	other.Service = "other"
	for _, tt := range []struct {
		name  string
		calls []cloudapi.Call
		// want is part of the error; since is how long after the start it began.
		want  string
		since time.Duration
	}{
		{"nothing yet", nil, "", 0},
		{"one lost answer", []cloudapi.Call{down, well, down, down}, "", 0},
		{"three in a row", []cloudapi.Call{well, down, down, down}, "the last 3 requests to the service lb failed, most recently ListThings: unavailable (503)", time.Second},
		{"back again", []cloudapi.Call{down, down, down, well}, "", 0},
		{"an answer that it does not exist is an answer", []cloudapi.Call{down, down, call(cloudapi.NotFound, "404"), down}, "", 0},
		{"refused", []cloudapi.Call{denied, denied, denied}, "denied (403)", 0},
		{"too many requests say nothing", []cloudapi.Call{down, down, down, call(cloudapi.Throttled, "429")}, "unavailable (503)", 0},
		{"neither does what was not sent", []cloudapi.Call{down, down, unsent, call(cloudapi.Canceled, "canceled")}, "", 0},
		{"another service's answer does not help", []cloudapi.Call{down, down, down, other}, "unavailable (503)", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := testingclock.NewFakeClock(start)
			h := cloudapi.NewHealth(c)
			for _, one := range tt.calls {
				h.Observe(one)
				c.Step(time.Second)
			}
			since, err := h.Err("other", "lb")
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if want := start.Add(tt.since); err != nil && !since.Equal(want) {
				t.Errorf("since %v, want %v", since, want)
			}
		})
	}
}

func TestHealthSet(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Unix(1000, 0))
	h := cloudapi.NewHealth(c)
	h.Set("lb", errors.New("not in the catalogue"))
	c.Step(time.Minute)
	h.Set("lb", errors.New("still not in the catalogue"))
	if since, err := h.Err("lb"); err == nil || err.Error() != "still not in the catalogue" ||
		!since.Equal(time.Unix(1000, 0)) {
		t.Errorf("%v since %v, want the last word, and the first time", err, since)
	}
	h.Set("lb", nil)
	if _, err := h.Err("lb"); err != nil {
		t.Errorf("%v stays", err)
	}
}
