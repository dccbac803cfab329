package lease

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

var now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func held(holder string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "manager"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15),
			RenewTime: &metav1.MicroTime{Time: renewed}}}
}

func TestLineNamesTheHolder(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "manager", errors.New("https://10.0.0.1"))
	for name, tc := range map[string]struct {
		lease *coordinationv1.Lease
		err   error
		want  string
	}{
		"held":        {lease: held("node-1_uid", now), want: "[+]lease manager is held by node-1_uid\n"},
		"no lease":    {want: "[+]lease manager does not exist yet\n"},
		"expired":     {lease: held("node-1_uid", now.Add(-16*time.Second)), want: "[+]lease manager has no holder\n"},
		"released":    {lease: held("", now), want: "[+]lease manager has no holder\n"},
		"forbidden":   {err: denied, want: "[+]lease manager cannot be read: Forbidden\n"},
		"other error": {err: errors.New("dial 10.0.0.1"), want: "[+]lease manager cannot be read: \n"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			if tc.lease != nil {
				client = fake.NewClientset(tc.lease)
			}
			if tc.err != nil {
				client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, tc.err
				})
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			o := NewObserver(client.CoordinationV1(), "kube-system", "manager", testingclock.NewFakeClock(now))
			o.Watch(ctx)
			if got := o.Line(); got != tc.want {
				t.Errorf("line %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWatchLogsEachHolderOnce(t *testing.T) {
	var log bytes.Buffer
	flags := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=10"}); err != nil {
		t.Fatal(err)
	}
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.SetOutput(&log)
	client := fake.NewClientset(held("theirs", now))
	reads := 0
	client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if reads == 1 {
			return true, nil, errors.New("timeout")
		}
		return false, nil, nil
	})
	o := NewObserver(client.CoordinationV1(), "kube-system", "manager", testingclock.NewFakeClock(now))
	o.sleep = func(ctx context.Context) error {
		if reads++; reads == 3 {
			if _, err := client.CoordinationV1().Leases("kube-system").Update(ctx, held("ours", now),
				metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		if reads == 5 {
			return context.Canceled
		}
		return nil
	}
	o.Watch(t.Context())
	klog.Flush()
	for _, holder := range []string{"theirs", "ours"} {
		if n := strings.Count(log.String(), `holder="`+holder+`"`); n != 1 {
			t.Errorf("holder %s is logged %d times:\n%s", holder, n, log.String())
		}
	}
}

func TestReleaseEndsOnlyTheLeaseOfThisHost(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "manager", errors.New("renewed"))
	for name, tc := range map[string]struct {
		holder    string
		conflicts int
		want      string
		fails     bool
	}{
		"held by this process":        {holder: "node-1_uid", want: ""},
		"held by another host":        {holder: "node-12_uid", want: "node-12_uid"},
		"renewed at the same time":    {holder: "node-1_uid", conflicts: 2, want: ""},
		"renewed again and again":     {holder: "node-1_uid", conflicts: 3, want: "node-1_uid", fails: true},
		"released by someone already": {holder: "", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(held(tc.holder, now))
			client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				if tc.conflicts--; tc.conflicts >= 0 {
					return true, nil, conflict
				}
				return false, nil, nil
			})
			err := Release(t.Context(), client.CoordinationV1(), "kube-system", "manager", "node-1_", testingclock.NewFakePassiveClock(now))
			if (err != nil) != tc.fails {
				t.Errorf("error %v", err)
			}
			lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "manager", metav1.GetOptions{})
			if err != nil || *lease.Spec.HolderIdentity != tc.want {
				t.Errorf("holder %v, want %q; error %v", lease.Spec.HolderIdentity, tc.want, err)
			}
		})
	}
	if err := Release(t.Context(), fake.NewClientset().CoordinationV1(), "kube-system", "manager", "node-1_", testingclock.NewFakePassiveClock(now)); err != nil {
		t.Errorf("without a lease: %v", err)
	}
}
