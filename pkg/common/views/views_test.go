package views

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

func node(name, providerID string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: providerID}}
}

// A handler of a view gets one event when an object comes into the view and one when it leaves it, whether by a
// change of the object or by a decision about it.
func TestViewPassesOnWhatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(node("a", "x://1"), node("b", ""))
		factory := informers.NewSharedInformerFactory(client, 0)
		decided := map[string]bool{}
		view := OfNodes(factory.Core().V1().Nodes(), func(n *v1.Node) bool { return n.Spec.ProviderID != "" || decided[n.Name] })
		var passed []string
		note := func(what string, o any) { passed = append(passed, what+" "+o.(*v1.Node).Name) }
		if _, err := view.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { note("add", o) },
			UpdateFunc: func(_, o any) { note("update", o) },
			DeleteFunc: func(o any) { note("delete", o) },
		}); err != nil {
			t.Fatal(err)
		}
		factory.Start(t.Context().Done())
		steps := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, passed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			passed = nil
		}
		steps("add a")
		view.Refresh(node("b", ""))
		steps()
		decided["b"] = true
		view.Refresh(node("b", ""))
		view.Refresh(node("b", ""))
		steps("add b")
		if _, err := client.CoreV1().Nodes().Update(t.Context(), node("b", "x://2"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		steps("update b")
		if _, err := client.CoreV1().Nodes().Update(t.Context(), node("a", ""), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		steps("delete a")
		if err := client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		steps("delete b")
	})
}

func TestListersHaveWhatTheViewHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := func(name string) *v1.Service {
			return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		}
		client := fake.NewClientset(node("a", "x://1"), node("b", ""), service("s"), service("hidden"))
		factory := informers.NewSharedInformerFactory(client, 0)
		nodes := OfNodes(factory.Core().V1().Nodes(), func(n *v1.Node) bool { return n.Spec.ProviderID != "" })
		services := OfServices(factory.Core().V1().Services(), func(s *v1.Service) (*v1.Service, bool) {
			seen := s.DeepCopy()
			seen.Finalizers = []string{"seen"}
			return seen, s.Name == "s"
		})
		factory.Start(t.Context().Done())
		factory.WaitForCacheSync(t.Context().Done())
		var got []string
		list, err := nodes.Lister().List(labels.Everything())
		for _, n := range list {
			got = append(got, n.Name)
		}
		listed, err2 := services.Lister().List(labels.Everything())
		for _, s := range listed {
			got = append(got, fmt.Sprint(s.Name, s.Finalizers))
		}
		s, err3 := services.Lister().Services("default").Get("s")
		if err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
		got = append(got, fmt.Sprint(s.Name, s.Finalizers))
		if diff := cmp.Diff([]string{"a", "s[seen]", "s[seen]"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := nodes.Lister().Get("b"); !apierrors.IsNotFound(err) {
			t.Errorf("Get of a Node that is not in the view: %v", err)
		}
		if _, err := services.Lister().Services("default").Get("hidden"); !apierrors.IsNotFound(err) {
			t.Errorf("Get of a Service that is not in the view: %v", err)
		}
	})
}
