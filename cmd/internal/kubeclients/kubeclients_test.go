package kubeclients

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	appconfig "k8s.io/cloud-provider/app/config"
)

func TestDryTransport(t *testing.T) {
	for _, tc := range []struct {
		name, method, path string
		dry                bool
	}{
		{"a read", http.MethodGet, "/api/v1/nodes", false},
		{"a watch", http.MethodGet, "/api/v1/nodes?watch=true", false},
		{"a patch of a node's status", http.MethodPatch, "/api/v1/nodes/n/status", true},
		{"a deletion of a node", http.MethodDelete, "/api/v1/nodes/n", true},
		{"an update of a Service", http.MethodPut, "/api/v1/namespaces/default/services/web", true},
		{"a Service that is called events", http.MethodPut, "/api/v1/namespaces/default/services/events", true},
		{"a namespace that is called leases", http.MethodPut, "/apis/apps/v1/namespaces/leases/deployments/d", true},
		{"a resource of another group that is called events", http.MethodPost, "/apis/example.com/v1/namespaces/default/events", true},
		{"an Event", http.MethodPost, "/api/v1/namespaces/default/events", false},
		{"an Event of the newer group", http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events", false},
		{"the leader's lease", http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ccm", false},
		{"a review of access", http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", false},
		{"a token", http.MethodPost, "/api/v1/namespaces/kube-system/serviceaccounts/ccm/token", false},
		{"a service account", http.MethodPost, "/api/v1/namespaces/kube-system/serviceaccounts", true},
		{"behind a proxy", http.MethodPatch, "/k8s/clusters/c-1/api/v1/nodes/n", true},
		{"an unknown path", http.MethodPost, "/what/is/this", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen *http.Request
			inner := func(r *http.Request) (*http.Response, error) { seen = r; return &http.Response{Body: http.NoBody}, nil }
			request := httptest.NewRequest(tc.method, tc.path, strings.NewReader("{}"))
			response, err := newDryRunTransport(roundTripperFunc(inner)).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if got := seen.URL.Query().Get("dryRun") == "All"; got != tc.dry {
				t.Errorf("%s %s: dry is %v", tc.method, seen.URL, got)
			}
			if request.URL.Query().Has("dryRun") {
				t.Error("the caller's request was changed")
			}
		})
	}
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The API server ignores dryRun in the URL of a deletion that has a body, and client-go always
// sends one: the node would be gone.
func TestDryDeletionHasNoBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if len(body) > 0 || r.URL.Query().Get("dryRun") != "All" || r.Method != http.MethodDelete {
			t.Errorf("%s %s with body %q", r.Method, r.URL, body)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}))
	defer server.Close()
	client, err := dryRunClients{builder{&rest.Config{Host: server.URL}}}.Client("test")
	if err != nil {
		t.Fatal(err)
	}
	uid := types.UID("u")
	if err := client.CoreV1().Nodes().Delete(t.Context(), "n",
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		t.Fatal(err)
	}
}

// builder is a client builder over one configuration.
type builder struct{ config *rest.Config }

func (b builder) Config(string) (*rest.Config, error) { return b.config, nil }
func (b builder) ConfigOrDie(string) *rest.Config     { return b.config }
func (b builder) Client(string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(b.config)
}
func (b builder) ClientOrDie(string) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(b.config)
}

// Only the informer of Nodes is filtered: a Service never carries a node's labels.
func TestNodeFilterLeavesServicesAlone(t *testing.T) {
	client := kubefake.NewClientset(
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "in", Labels: map[string]string{"zone": "a"}}},
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "out", Labels: map[string]string{"zone": "b"}}},
		&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}},
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	config := (&appconfig.Config{SharedInformers: factory, LoopbackClientConfig: &rest.Config{}}).Complete()
	FilterNodes(config, labels.SelectorFromSet(labels.Set{"zone": "a"}))
	nodes, services := factory.Core().V1().Nodes(), factory.Core().V1().Services()
	nodes.Informer()
	services.Informer()
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	listed, err := nodes.Lister().List(labels.Everything())
	if err != nil || len(listed) != 1 || listed[0].Name != "in" {
		t.Errorf("nodes: %v, %v", listed, err)
	}
	if all, err := services.Lister().List(labels.Everything()); err != nil || len(all) != 1 {
		t.Errorf("services: %v, %v", all, err)
	}
}

// A trimmed informer also works with a filter of Nodes.
func TestTrimObjectsDropsLargeFields(t *testing.T) {
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate}}
	client := kubefake.NewClientset(
		&v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", ManagedFields: managed, Labels: map[string]string{"zone": "a"}},
			Status: v1.NodeStatus{
				NodeInfo:     v1.NodeSystemInfo{SystemUUID: "uuid"},
				Images:       []v1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}}},
				VolumesInUse: []v1.UniqueVolumeName{"v"}, VolumesAttached: []v1.AttachedVolume{{Name: "v"}},
			},
		},
		&v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ManagedFields: managed},
			Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
		},
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	config := (&appconfig.Config{SharedInformers: factory, LoopbackClientConfig: &rest.Config{}}).Complete()
	FilterNodes(config, labels.SelectorFromSet(labels.Set{"zone": "a"}))
	if err := TrimObjects(config); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	node, err := factory.Core().V1().Nodes().Lister().Get("n")
	if err != nil {
		t.Fatal(err)
	}
	if len(node.ManagedFields) > 0 || len(node.Status.Images) > 0 || len(node.Status.VolumesInUse) > 0 ||
		len(node.Status.VolumesAttached) > 0 {
		t.Errorf("node is not trimmed: %+v", node)
	}
	if node.Labels["zone"] != "a" || node.Status.NodeInfo.SystemUUID != "uuid" {
		t.Errorf("node lost a field that is read: %+v", node)
	}
	service, err := factory.Core().V1().Services().Lister().Services("default").Get("web")
	if err != nil {
		t.Fatal(err)
	}
	if len(service.ManagedFields) > 0 || service.Spec.Type != v1.ServiceTypeLoadBalancer {
		t.Errorf("service: %+v", service)
	}
}
