package instances_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// federation returns a federation of clouds.
func federation(clouds ...*cloud) *instances.Federation {
	var members []instances.Member
	for n, c := range clouds {
		members = append(members, instances.Member{Name: fmt.Sprintf("part-%d", n), Instances: newInstances(c)})
	}
	return instances.NewFederation(members...)
}

func (c *cloud) move(to *cloud, n int) {
	id := fmt.Sprintf("m-%d", n)
	c.mu.Lock()
	moved := c.instances[id]
	delete(c.instances, id)
	c.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	to.instances[id] = moved
}

func TestSilentMemberDelaysNoNodesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		good, silent := newCloud(100), newCloud(0)
		silent.fail = func(string, []string) error {
			<-ctx.Done()
			return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "list", Err: errors.New("no answer")}
		}
		f := federation(silent, good)
		start := time.Now()
		for n := range 100 {
			in := good.instances[fmt.Sprintf("m-%d", n)]
			in.SystemUUIDs = []string{fmt.Sprint("uuid-", n)}
			good.instances[in.ID] = in
		}
		for n := range 100 {
			node := joiningNode(n)
			node.Status.NodeInfo.SystemUUID = fmt.Sprint("uuid-", n)
			if _, err := f.InstanceMetadata(t.Context(), node); err != nil {
				t.Fatalf("node %d: %v", n, err)
			}
			if exists, err := f.InstanceExists(t.Context(), readyNode(n)); err != nil || !exists {
				t.Fatalf("node %d exists: %v, %v", n, exists, err)
			}
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("200 lookups took %v", took)
		}
		cancel()
		synctest.Wait()
		time.Sleep(time.Hour) // of the bubble: everything in flight ends
	})
}

func TestInstanceIsDeletedOnlyIfEveryMemberAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newCloud(2), newCloud(0)
		f := federation(a, b)
		a.terminate(1)
		b.fail = func(string, []string) error {
			return &cloudapi.Error{Class: cloudapi.Denied, Operation: "list", Err: errors.New("wrong password")}
		}
		if exists, err := f.InstanceExists(t.Context(), readyNode(0)); err != nil || !exists {
			t.Errorf("instance of the member that answers: %v, %v", exists, err)
		}
		if _, err := f.InstanceExists(t.Context(), readyNode(1)); !cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("with a member that fails: error %v", err)
		}
		if _, err := f.InstanceMetadata(t.Context(), readyNode(1)); err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
			t.Errorf("with a member that fails: error %v", err)
		}
		b.fail = nil
		if exists, err := f.InstanceExists(t.Context(), readyNode(1)); err != nil || exists {
			t.Errorf("with all answers: %v, %v", exists, err)
		}
		if _, err := f.InstanceShutdown(t.Context(), readyNode(1)); err != cloudprovider.InstanceNotFound { //nolint:errorlint // the framework compares
			t.Errorf("with all answers: error %v", err)
		}
	})
}

func TestInstanceThatMovesToAnotherMemberStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newCloud(1), newCloud(0)
		f := federation(a, b)
		for range 3 {
			if exists, err := f.InstanceExists(t.Context(), readyNode(0)); err != nil || !exists {
				t.Fatalf("%v, %v", exists, err)
			}
			a.move(b, 0)
			a, b = b, a
			time.Sleep(10 * time.Minute)
		}
	})
}

func TestNameInSeveralMembersIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newCloud(1), newCloud(1)
		f := federation(a, b)
		if _, err := f.InstanceMetadata(t.Context(), joiningNode(0)); !cloudapi.Is(err, cloudapi.Invalid) {
			t.Errorf("error %v", err)
		}
		in := b.instances["m-0"]
		in.SystemUUIDs = []string{"b-0"}
		b.instances["m-0"] = in
		time.Sleep(10 * time.Minute)
		node := joiningNode(0)
		node.Status.NodeInfo = v1.NodeSystemInfo{SystemUUID: "B-0"}
		if m, err := f.InstanceMetadata(t.Context(), node); err != nil || m.ProviderID != "fake://a/m-0" {
			t.Errorf("a node with the system UUID: %v, %v", m, err)
		}
	})
}

// A machine that was copied into another part has its ID. Which one is the node's does not depend on who answers first.
func TestEqualIDsInSeveralMembers(t *testing.T) {
	for name, tc := range map[string]struct {
		state instances.State
		delay time.Duration
		fails bool
	}{
		"both run":                         {instances.Running, 0, true},
		"both run, and one answers later":  {instances.Running, 200 * time.Millisecond, true},
		"the copy is stopped":              {instances.Stopped, 0, false},
		"the copy is stopped, and is late": {instances.Stopped, 200 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newCloud(1), newCloud(1)
				in := b.instances["m-0"]
				in.State, in.Type = tc.state, "copy"
				b.instances["m-0"] = in
				b.fail = func(string, []string) error {
					time.Sleep(tc.delay)
					return nil
				}
				for _, f := range []*instances.Federation{federation(a, b), federation(b, a)} {
					for range 2 {
						m, err := f.InstanceMetadata(t.Context(), readyNode(0))
						if tc.fails != cloudapi.Is(err, cloudapi.Invalid) || !tc.fails && (err != nil || m.InstanceType == "copy") {
							t.Errorf("%+v, %v", m, err)
						}
						if _, err := f.InstanceShutdown(t.Context(), readyNode(0)); (err != nil) != tc.fails {
							t.Errorf("shut down: error %v", err)
						}
					}
				}
			})
		})
	}
}

func TestPanicOfAMemberIsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, defective := newCloud(1), newCloud(0)
		defective.fail = func(string, []string) error { panic("defect") }
		f := federation(defective, good)
		var panicked *panics.Error
		if _, err := f.InstanceExists(t.Context(), readyNode(7)); !errors.As(err, &panicked) {
			t.Errorf("a node of no other member: %v", err)
		}
	})
}
