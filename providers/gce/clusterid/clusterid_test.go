package clusterid

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// cluster has the ConfigMap; data is nil while it does not exist.
type cluster struct {
	data    map[string]string
	created int
	err     error
}

func (c *cluster) runtime(dryRun bool) provider.Runtime {
	return provider.Runtime{DryRun: dryRun, ConfigMap: func(_ context.Context, name types.NamespacedName,
		initial map[string]string) (map[string]string, error) {
		switch {
		case name.String() != "kube-system/ingress-uid":
			return nil, errors.New("another ConfigMap")
		case c.err != nil:
			return nil, c.err
		case c.data == nil && dryRun:
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name.Name)
		case c.data == nil:
			c.data, c.created = maps.Clone(initial), c.created+1
		}
		return c.data, nil
	}}
}

func TestGet(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "ingress-uid", errors.New("no role"))
	for name, test := range map[string]struct {
		cluster *cluster
		dryRun  bool
		// offline has no cluster, as in a plan for files.
		offline bool
		want    string
		problem string
	}{
		"ID of ingress-gce":           {cluster: &cluster{data: map[string]string{"uid": "a1"}}, want: "a1"},
		"ID of the provider wins":     {cluster: &cluster{data: map[string]string{"uid": "a1", "provider-uid": "b2"}}, want: "b2"},
		"empty, of a legacy cluster":  {cluster: &cluster{data: map[string]string{"uid": ""}}},
		"an empty one wins, too":      {cluster: &cluster{data: map[string]string{"uid": "a1", "provider-uid": ""}}},
		"neither key":                 {cluster: &cluster{data: map[string]string{}}, problem: "neither the key"},
		"denied":                      {cluster: &cluster{err: denied}, problem: "permissions get and create"},
		"denied in a dry run":         {cluster: &cluster{err: denied}, dryRun: true, problem: "permissions get and create"},
		"none yet, in a dry run":      {cluster: &cluster{}, dryRun: true, want: Unassigned},
		"none yet, in a plan":         {dryRun: true, offline: true, want: Unassigned},
		"no cluster, and no dry run":  {offline: true, problem: "not connected"},
		"read in a dry run if exists": {cluster: &cluster{data: map[string]string{"uid": "a1"}}, dryRun: true, want: "a1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(testingclock.NewFakePassiveClock(time.Now()))
			if test.offline {
				r.SetRuntime(provider.Runtime{DryRun: test.dryRun})
			} else {
				r.SetRuntime(test.cluster.runtime(test.dryRun))
			}
			id, err := r.Get(t.Context())
			if test.problem != "" {
				if !cloudapi.Is(err, cloudapi.Unavailable) || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("got %q and %v, want an error with %q", id, err, test.problem)
				}
				return
			}
			if err != nil || id != test.want {
				t.Errorf("got %q and %v, want %q", id, err, test.want)
			}
		})
	}
}

func TestIDIsCreatedOnce(t *testing.T) {
	c := &cluster{}
	first := New(testingclock.NewFakePassiveClock(time.Now()))
	first.SetRuntime(c.runtime(false))
	id, err := first.Get(t.Context())
	if err != nil || len(id) != 16 || id == Unassigned {
		t.Fatalf("got %q and %v", id, err)
	}
	second := New(testingclock.NewFakePassiveClock(time.Now()))
	second.SetRuntime(c.runtime(false))
	if again, err := second.Get(t.Context()); err != nil || again != id || c.created != 1 {
		t.Errorf("got %q and %v after %d creations, want %q", again, err, c.created, id)
	}
}

func TestGetBeforeTheRuntimeIsAnError(t *testing.T) {
	r := New(testingclock.NewFakePassiveClock(time.Now()))
	if _, err := r.Get(t.Context()); !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("got %v", err)
	}
}
