package auditcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

const ourUID, theirUID = "uid-ours", "uid-theirs"

// cloud has a load balancer named lb-NAME for each Service, with a listener and an address.
type cloud struct {
	cloudprovider.Interface
	objects  []inventory.Object
	unlisted string
	deleted  []string
}

func (c *cloud) Inventory() (inventory.Lister, bool) { return c, true }

func (c *cloud) ListInventory(context.Context, inventory.Request) inventory.Inventory {
	found := inventory.Inventory{Cluster: "prod", Kinds: []inventory.Kind{
		{Name: "load balancer"}, {Name: "listener", Needs: []string{"load balancer"}}, {Name: "address", Needs: []string{"load balancer"}},
	}}
	for i, k := range found.Kinds {
		if k.Name == c.unlisted {
			found.Kinds[i].Err = errors.New("denied:\nno permission")
		}
	}
	for _, o := range c.objects {
		if o.Kind != c.unlisted {
			found.Objects = append(found.Objects, o)
		}
	}
	return found
}

func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return balancers{cloud: c}, true }

type balancers struct {
	cloudprovider.LoadBalancer
	loadbalancer.Auditor
	cloud *cloud
}

func (b balancers) GetLoadBalancerName(_ context.Context, _ string, s *v1.Service) string {
	return "lb-" + s.Name
}

// PlanLoadBalancer plans the deletion of the objects of a Service; for one that exists, it changes the listener.
func (b balancers) PlanLoadBalancer(_ context.Context, _ string, s *v1.Service, _ []*v1.Node,
	o loadbalancer.PlanOptions) (plan.Plan, error) {
	p := plan.Plan{Subject: "Service default/" + s.Name}
	if !o.Remove {
		if s.Name == "web" {
			p.Changes = []plan.Change{{Ref: plan.Ref{Kind: "listener", Name: "80-web", Action: plan.Update},
				Fields: []plan.Field{{Name: "port", Before: "81", After: "80"}}}}
		}
		return p, nil
	}
	for _, object := range b.cloud.objects {
		if object.Kind == "listener" || object.Service() != "default/"+s.Name || object.Mark.UID != ourUID {
			continue
		}
		p.Changes = append(p.Changes, plan.Change{
			Ref: plan.Ref{Kind: object.Kind, Name: object.Name, Action: plan.Delete}, ID: object.ID,
			Do: func(context.Context, *plan.Handles) error {
				b.cloud.deleted = append(b.cloud.deleted, object.ID)
				return nil
			},
		})
	}
	return p, nil
}

func (b balancers) RemoveOrphans(ctx context.Context, cluster string, s *v1.Service,
	approve loadbalancer.ApproveFunc) (plan.Result, error) {
	whole, err := b.PlanLoadBalancer(ctx, cluster, s, nil, loadbalancer.PlanOptions{Remove: true})
	if err != nil {
		return plan.Result{}, err
	}
	approved, err := approve(ctx, whole)
	if err != nil {
		return plan.Result{}, err
	}
	return approved.Apply(ctx, plan.ApplyOptions{Parallel: 1})
}

func object(kind, id, name, service, uid string) inventory.Object {
	return inventory.Object{Kind: kind, ID: id, Name: name, Mark: inventory.Mark{Cluster: "prod", UID: uid},
		Owners: []inventory.Owner{{NamespacedName: types.NamespacedName{Namespace: "default", Name: service},
			LoadBalancer: "lb-" + service}}}
}

func balanced(service, uid string) []inventory.Object {
	lb := object("load balancer", "id-"+service, "lb-"+service, service, uid)
	address := object("address", "ip-"+service, "ip-of-"+service, service, uid)
	address.UsedBy = []string{lb.ID}
	address.Fields = []inventory.Field{{Name: "ip", Value: "198.51.100.7"}}
	return []inventory.Object{lb, lb.Part("listener", lb.ID+"/80-"+service, "80-"+service), address}
}

func service(name string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}
}

func newCloud() *cloud {
	all := slices.Concat(balanced("web", ourUID), balanced("ok", ourUID), balanced("old", ourUID), balanced("x", theirUID))
	busy := object("load balancer", "id-busy", "lb-busy", "busy", ourUID)
	busy.Settling = "PENDING_CREATE"
	named := object("address", "ip-named", "ip-of-named", "named", "")
	return &cloud{objects: append(all, busy, named)}
}

func (c *cloud) session(services ...*v1.Service) orphans.Session {
	client := fake.NewClientset()
	for _, s := range services {
		_ = client.Tracker().Add(s)
	}
	b := balancers{cloud: c}
	return orphans.Session{
		Cloud: c, Client: client, ClusterName: "prod", ClusterUID: ourUID, Now: time.Now, Parts: true,
		Services: func(context.Context) ([]*v1.Service, error) { return services, nil },
		Nodes:    func(context.Context) ([]*v1.Node, error) { return nil, nil },
		Plan: func(ctx context.Context, list []*v1.Service, _ []*v1.Node) ([]plan.Plan, []error) {
			plans := make([]plan.Plan, len(list))
			for i, s := range list {
				plans[i], _ = b.PlanLoadBalancer(ctx, "prod", s, nil, loadbalancer.PlanOptions{})
			}
			return plans, make([]error, len(list))
		},
	}
}

const table = `Orphaned: marked as this cluster's, and no Service or node needs them
  load balancer  lb-busy    id-busy  default/busy
      there is no Service default/busy
      not deleted: the cloud is still changing it (PENDING_CREATE)
  address        ip-of-old  ip-old   default/old   ip 198.51.100.7
      there is no Service default/old
  load balancer  lb-old     id-old   default/old   with 1 listener
      there is no Service default/old

Drifted: the manager would change them
  listener  80-web    default/web
      listener 80-web: update port

Unidentified: nothing on them proves which cluster they belong to
  address  ip-of-named  ip-named  default/named
      it is marked with the cluster's name only, which another cluster may have too

Foreign: marked as another cluster's
  address        ip-of-x  ip-x  default/x  ip 198.51.100.7
      of the cluster with the UID uid-theirs
  load balancer  lb-x     id-x  default/x  with 1 listener
      of the cluster with the UID uid-theirs

In sync: 2 addresses, 1 listener, 2 load balancers; --verbose lists them

Cluster prod (uid-ours) in Test: 4 orphaned, 1 drifted, 1 unidentified, 3 foreign, 5 in sync.
`

func TestTableHasASectionForEachState(t *testing.T) {
	var out strings.Builder
	result, err := Run(t.Context(), newCloud().session(service("web"), service("ok")), Options{Title: "Test"},
		Streams{Out: &out})
	if err != nil || !result.Attention || len(result.Failures) > 0 {
		t.Errorf("%+v, %v", result, err)
	}
	if diff := cmp.Diff(table, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnlistedKindIsReported(t *testing.T) {
	var out strings.Builder
	c := newCloud()
	c.unlisted = "load balancer"
	result, err := Run(t.Context(), c.session(service("web"), service("ok")), Options{Title: "Test", JSON: true,
		DeleteOrphans: true, Yes: true}, Streams{Out: &out})
	if err != nil || len(result.Failures) != 1 || len(c.deleted) > 0 {
		t.Fatalf("%+v, %v, deleted %q", result, err, c.deleted)
	}
	var d Document
	if err := json.Unmarshal([]byte(out.String()), &d); err != nil {
		t.Fatal(err)
	}
	if d.Version != "1" || d.Kinds[0].Listed || d.Kinds[0].Error != "denied:; no permission" || !d.Kinds[1].Listed {
		t.Errorf("%+v", d.Kinds)
	}
	if d.Summary[inventory.Unknown] != 2 || d.Summary[inventory.Orphaned] != 0 || len(d.Deletions) != 0 {
		t.Errorf("%+v %+v", d.Summary, d.Deletions)
	}
}

func TestDeletionNeedsAYes(t *testing.T) {
	for answer, want := range map[string][]string{"yes\n": {"id-old", "ip-old"}, "y\n": nil, "": nil} {
		var out strings.Builder
		c := newCloud()
		_, err := Run(t.Context(), c.session(service("web"), service("ok")), Options{Title: "Test", DeleteOrphans: true},
			Streams{In: strings.NewReader(answer), Out: &out})
		slices.Sort(c.deleted)
		if diff := cmp.Diff(want, c.deleted); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("answer %q: error %v, deleted (-want +got):\n%s", answer, err, diff)
		}
		if want == nil {
			continue
		}
		for _, line := range []string{"  - load balancer lb-old", `Apply 2 changes? Only "yes" is accepted: `,
			"deleted load balancer lb-old (id-old)", "deleted listener 80-old: with load balancer lb-old",
			"refused load balancer lb-busy (id-busy): the cloud is still changing it (PENDING_CREATE)",
			"Orphans: 3 deleted, 1 refused.",
		} {
			if !strings.Contains(out.String(), line) {
				t.Errorf("the output lacks %q:\n%s", line, out.String())
			}
		}
	}
}

// A terminal sends nothing after Ctrl-C, so that the read of the answer does not end.
func TestInterruptEndsTheQuestion(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	in, terminal := io.Pipe()
	defer func() { _ = terminal.Close() }()
	c := newCloud()
	// The question is the last output before the answer is read.
	out := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), `Only "yes" is accepted`) {
			interrupt()
		}
		return len(p), nil
	})
	_, err := Run(ctx, c.session(service("web"), service("ok")), Options{Title: "Test", DeleteOrphans: true},
		Streams{In: in, Out: out})
	if !errors.Is(err, context.Canceled) || len(c.deleted) > 0 {
		t.Errorf("error %v, deleted %v", err, c.deleted)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The Service may be created between the list and the deletion.
func TestOrphanOfNewServiceIsNotDeleted(t *testing.T) {
	var out strings.Builder
	c := newCloud()
	s := c.session(service("web"), service("ok"))
	s.Client = fake.NewClientset(service("old"))
	result, err := Run(t.Context(), s, Options{Title: "Test", DeleteOrphans: true, Yes: true}, Streams{Out: &out})
	if err != nil || len(c.deleted) > 0 || !strings.Contains(strings.Join(result.Failures, "\n"), "the Service exists now") {
		t.Errorf("deleted %q, %+v, %v", c.deleted, result, err)
	}
}

func TestServicesThatCannotBeListedMakeNoOrphans(t *testing.T) {
	c := newCloud()
	s := c.session()
	s.Services = func(context.Context) ([]*v1.Service, error) { return nil, errors.New("forbidden") }
	audit, err := orphans.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if n := audit.Report.Count(); n[inventory.Orphaned] > 0 || n[inventory.Unknown] == 0 {
		t.Errorf("states %v", n)
	}
}
