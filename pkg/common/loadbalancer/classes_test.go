package loadbalancer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

func TestClassesSelect(t *testing.T) {
	const mine, foreign = "unified-ccm.io/aws", "example.com/other"
	tests := map[string]struct {
		classes loadbalancer.Classes
		class   *string
		// handled is set if the framework's controller keeps a load balancer for the Service, cleaned if it may delete
		// the load balancer and the finalizer of the deleted Service.
		handled, cleaned bool
	}{
		"default, without class":         {classes: loadbalancer.DefaultClass, handled: true, cleaned: true},
		"default, with our class":        {classes: loadbalancer.DefaultClass, class: ptr.To(mine), cleaned: true},
		"default, with another's class":  {classes: loadbalancer.DefaultClass, class: ptr.To(foreign), cleaned: true},
		"own, without class":             {classes: loadbalancer.OwnClass},
		"own, with our class":            {classes: loadbalancer.OwnClass, class: ptr.To(mine), handled: true, cleaned: true},
		"own, with another's class":      {classes: loadbalancer.OwnClass, class: ptr.To(foreign)},
		"own, another provider's class":  {classes: loadbalancer.OwnClass, class: ptr.To("unified-ccm.io/openstack")},
		"all, without class":             {classes: loadbalancer.AllClasses, handled: true, cleaned: true},
		"all, with our class":            {classes: loadbalancer.AllClasses, class: ptr.To(mine), handled: true, cleaned: true},
		"all, with another's class":      {classes: loadbalancer.AllClasses, class: ptr.To(foreign)},
		"all, with the class in capital": {classes: loadbalancer.AllClasses, class: ptr.To("unified-ccm.io/AWS")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			service := &v1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{"example.com/mine", servicehelper.LoadBalancerCleanupFinalizer}},
				Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, LoadBalancerClass: test.class},
			}
			before := service.DeepCopy()
			got := test.classes.Select("aws", service)
			if handled := loadbalancer.WantsLoadBalancer(got); handled != test.handled {
				t.Errorf("handled: %v, want %v", handled, test.handled)
			}
			if cleaned := servicehelper.HasLBFinalizer(got); cleaned != test.cleaned {
				t.Errorf("cleaned up: %v, want %v", cleaned, test.cleaned)
			}
			if got.Finalizers[0] != "example.com/mine" {
				t.Errorf("finalizers %v", got.Finalizers)
			}
			if diff := cmp.Diff(before, service); diff != "" {
				t.Errorf("the Service was changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A Service that had our class loses it with the type, and its load balancer has to be deleted.
func TestClassesSelectLeavesOtherTypes(t *testing.T) {
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Finalizers: []string{servicehelper.LoadBalancerCleanupFinalizer}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeClusterIP},
	}
	if got := loadbalancer.OwnClass.Select("aws", service); got != service {
		t.Errorf("a Service of another type was copied: %v", got)
	}
}

func TestClassesValidate(t *testing.T) {
	for _, valid := range []loadbalancer.Classes{loadbalancer.DefaultClass, loadbalancer.OwnClass, loadbalancer.AllClasses} {
		if err := valid.Validate(); err != nil {
			t.Errorf("%q: %v", valid, err)
		}
	}
	for _, invalid := range []loadbalancer.Classes{"", "Own", "unified-ccm.io/aws"} {
		err := invalid.Validate()
		if err == nil || !strings.Contains(err.Error(), "default, own, all") {
			t.Errorf("%q: %v", invalid, err)
		}
	}
}
