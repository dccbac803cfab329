package loadbalancer

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

func TestMembersFollowWhileTheServiceIsInvalid(t *testing.T) {
	invalid := web(annotated("load-balancer.unified-ccm.io/scheme", "neither"))
	pool := ref("pool", "lb-web/80-TCP")
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))

	if _, err := f.EnsureLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("a"), node("b")}); !cloudapi.Is(err, cloudapi.Invalid) {
		t.Errorf("Ensure: %v, want an error of class Invalid", err)
	}
	if got := f.cloud.have[pool]; got != "a,b" {
		t.Errorf("members after Ensure %q", got)
	}
	if err := f.UpdateLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("b")}); err != nil {
		t.Errorf("Update: %v", err)
	}
	if got := f.cloud.have[pool]; got != "b" {
		t.Errorf("members after Update %q", got)
	}
}

func TestMembersFollowAfterRestartWhileTheServiceIsInvalid(t *testing.T) {
	invalid := web(annotated(intent.KeyScheme, "neither"), addressed)
	pool := ref("pool", "lb-web/80-TCP")
	for name, follow := range map[string]func(*fixture) error{
		"ensure": func(f *fixture) error {
			_, err := f.EnsureLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("a"), node("b")})
			return err
		},
		"update": func(f *fixture) error {
			return f.UpdateLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("a"), node("b")})
		},
		"audit": func(f *fixture) error {
			_, _, err := f.AuditLoadBalancer(t.Context(), "prod",
				func() (*v1.Service, []*v1.Node) { return invalid, []*v1.Node{node("a"), node("b")} })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := newFixture(t)
			before.mustEnsure(t, web(), node("a"))
			f := newFixture(t)
			f.cloud.have = before.cloud.have
			if err := follow(f); cloudapi.Is(err, cloudapi.Invalid) != (name != "update") {
				t.Errorf("%s: %v", name, err)
			}
			if got := f.cloud.have[pool]; got != "a,b" {
				t.Errorf("members %q", got)
			}
			if diff := cmp.Diff([]string{"update pool lb-web/443-TCP", "update pool lb-web/80-TCP"},
				sorted(f.cloud.mutations)); diff != "" {
				t.Errorf("mutations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUpdateOfInvalidServiceWithoutLoadBalancerFails(t *testing.T) {
	f := newFixture(t)
	err := f.UpdateLoadBalancer(t.Context(), "prod", web(annotated(intent.KeyScheme, "neither"), addressed),
		[]*v1.Node{node("a")})
	if !cloudapi.Is(err, cloudapi.Invalid) || len(f.cloud.mutations) > 0 {
		t.Errorf("%v, mutations %v", err, f.cloud.mutations)
	}
}

// A change that the cloud refuses keeps the load balancer unchanged; its members follow.
func TestMembersFollowWhileDiffRefuses(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	f.cloud.refused = &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Diff", Err: errors.New("the type cannot change")}
	if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("b")}); err != nil {
		t.Error(err)
	}
	if got := f.cloud.have[ref("pool", "lb-web/80-TCP")]; got != "b" {
		t.Errorf("members %q", got)
	}
}

// Members of what a plan deletes follow the nodes while the cloud refuses a change of that plan.
func TestMembersFollowWhileAChangeIsRefused(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	edited := web(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[1:] })
	f.cloud.doing = func(_ context.Context, r plan.Ref) error {
		if r.Kind == "listener" {
			return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Delete", Err: errors.New("it is protected")}
		}
		return nil
	}
	verify := func(step, want string) {
		t.Helper()
		for _, port := range []string{"80", "443"} {
			if got := f.cloud.have[ref("pool", "lb-web/"+port+"-TCP")]; got != want {
				t.Errorf("%s: members of port %s are %q, want %q", step, port, got, want)
			}
		}
	}
	if _, err := f.EnsureLoadBalancer(t.Context(), "prod", edited, []*v1.Node{node("a"), node("b")}); err == nil {
		t.Error("the deletion is not refused")
	}
	verify("sync", "a,b")
	if err := f.UpdateLoadBalancer(t.Context(), "prod", edited, []*v1.Node{node("b")}); err != nil {
		t.Error(err)
	}
	verify("change of nodes", "b")
	f.cloud.doing = nil
	f.mustEnsure(t, edited, node("b"))
	f.converged(t, edited, node("b"))
}

// An error of the cloud on the way is returned: the framework retries.
func TestUpdateReturnsErrorsOfMembersOfInvalidServices(t *testing.T) {
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))
	f.cloud.fault = func(int, bool) error {
		return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "fault", Err: errors.New("no answer")}
	}
	err := f.UpdateLoadBalancer(t.Context(), "prod", web(annotated(intent.KeyScheme, "neither")), []*v1.Node{node("b")})
	if err == nil {
		t.Error("members are left undone, and the update succeeds")
	}
}

// The stored record must not prove members that were changed while the Service was invalid.
func TestRecordDoesNotProveMembersOfInvalidService(t *testing.T) {
	f := newKeeping(false)
	f.ensure(t, web(), node("a"))
	invalid := web(annotated(intent.KeyScheme, "neither"))
	for range 2 {
		if err := f.UpdateLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("b")}); err != nil {
			t.Fatal(err)
		}
	}
	in, _, _ := intent.Read(web(), f.options.Vocabulary)
	want, _ := f.cloud.Desired(f.key("prod", web()), in, []*v1.Node{node("a")}, "")
	stored := applied.Parse(f.cloud.records["lb-web"])
	if stored.Proves(want.record) {
		t.Error("the record proves members that were replaced")
	}
	if stored.State != want.record.State {
		t.Error("the record lost the state")
	}
	f.ensure(t, web(), node("b"))
	f.stored(t, web(), node("b"))
}

// addressed gives the Service the status that a load balancer has left.
func addressed(svc *v1.Service) {
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "198.51.100.7"}}
}

// The record does not prove members that have changed while an edit waits: the next process would not read the load
// balancer once the edit is taken back.
func TestRecordOfMembersWhileAnEditWaits(t *testing.T) {
	for name, edit := range map[string]func(*v1.Service){
		"of existing pools": ranges("10.0.0.0/8"), "of a pool that is deleted": func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			f := newKeeping(false)
			f.ensure(t, web(), node("a"))
			f.cloud.doing = func(_ context.Context, r plan.Ref) error {
				if r.Kind == "listener" {
					return &cloudapi.Error{Class: cloudapi.Denied, Operation: "Update", Err: errors.New("no")}
				}
				return nil
			}
			if _, err := f.EnsureLoadBalancer(t.Context(), "prod", web(edit), []*v1.Node{node("a")}); err == nil {
				t.Fatal("the edit is not refused")
			}
			if err := f.UpdateLoadBalancer(t.Context(), "prod", web(edit), []*v1.Node{node("a"), node("b")}); err != nil {
				t.Fatal(err)
			}
			if got := f.cloud.have[ref("pool", "lb-web/443-TCP")]; got != "a,b" {
				t.Fatalf("members %q", got)
			}
			in, _, _ := intent.Read(web(), f.options.Vocabulary)
			want, _ := f.cloud.Desired(f.key("prod", web()), in, []*v1.Node{node("a")}, "")
			if applied.Parse(f.cloud.records["lb-web"]).Proves(want.record) {
				t.Error("the record proves the members before")
			}
		})
	}
}
