package cloudapitest

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func TestRecorderCountsWhatWasSent(t *testing.T) {
	r := &Recorder{}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			r.Observe(cloudapi.Call{Request: cloudapi.Request{Operation: "ListServers"}, Sent: true})
			r.Observe(cloudapi.Call{Request: cloudapi.Request{Operation: "CreatePort", Mutating: true}, Sent: true})
			r.Observe(cloudapi.Call{Request: cloudapi.Request{Operation: "DeletePort", Mutating: true}})
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]int{"ListServers": 10, "CreatePort": 10}, r.Count()); diff != "" {
		t.Errorf("Count (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"CreatePort": 10}, r.Mutations()); diff != "" {
		t.Errorf("Mutations (-want +got):\n%s", diff)
	}
	if n := len(r.Calls()); n != 30 {
		t.Errorf("%d calls, want 30 with those not sent", n)
	}
	r.Reset()
	if n := len(r.Calls()); n != 0 {
		t.Errorf("%d calls after Reset", n)
	}
}

func TestBudget(t *testing.T) {
	budget := Budget{"List": 2, "Create": 1}
	tests := []struct {
		name  string
		count map[string]int
		want  string
	}{
		{name: "nothing", want: ""},
		{name: "within", count: map[string]int{"List": 2, "Create": 1}, want: ""},
		{name: "over", count: map[string]int{"List": 3, "Create": 1},
			want: "too many cloud API requests:\n  List: 3 requests, the budget is 2"},
		{name: "not in the budget, and over", count: map[string]int{"List": 3, "Delete": 1},
			want: "too many cloud API requests:\n  Delete: 1 requests, the budget is 0\n  List: 3 requests, the budget is 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := budget.Check(tt.count); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
