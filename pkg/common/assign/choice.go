package assign

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// Choice selects the cloud of a Service by what its author wrote.
type Choice struct {
	// Clouds are the names of the clouds of this process.
	Clouds []string
	// Default is the cloud of Services that select none.
	Default string
	// Classes are the classes of Services that get load balancers. With several clouds, DefaultClass selects the class
	// of each of them too.
	Classes loadbalancer.Classes
}

// classes returns the selection by class that each of the clouds applies.
func (c Choice) classes() loadbalancer.Classes {
	if len(c.Clouds) > 1 && c.Classes == loadbalancer.DefaultClass {
		return loadbalancer.AllClasses
	}
	return c.Classes
}

// Of returns the cloud that a Service selects: that of its class, that of its annotation, or the default. It is empty
// for a Service of another controller, and for one with an annotation that names none of the clouds; problem then says
// so.
func (c Choice) Of(service *v1.Service) (cloud, problem string) {
	if class := service.Spec.LoadBalancerClass; class != nil {
		for _, name := range c.Clouds {
			if *class == loadbalancer.ClassOf(name) && c.classes() != loadbalancer.DefaultClass {
				return name, ""
			}
		}
		return "", ""
	}
	if c.Classes == loadbalancer.OwnClass && service.Spec.Type == v1.ServiceTypeLoadBalancer {
		return "", ""
	}
	name := service.Annotations[intent.KeyProvider]
	switch {
	case name == "":
		return c.Default, ""
	case slices.Contains(c.Clouds, name):
		return name, ""
	}
	return "", fmt.Sprintf("the annotation %s names %q, which is not one of %s", intent.KeyProvider, name,
		strings.Join(c.Clouds, ", "))
}

// show returns a Service as the framework's service controller of a cloud has to see it.
func (c Choice) show(cloud string, service *v1.Service) *v1.Service {
	return c.classes().Select(cloud, service)
}

// Sees returns a Service as the framework's service controller of a cloud has to see it, by the record in its status
// or, without one, by what it selects: for commands, which ask no cloud.
func (c Choice) Sees(cloud string, service *v1.Service) *v1.Service {
	r, known := StoredRecord(service)
	selected, _ := c.Of(service)
	switch {
	case known && r.RoleOf(cloud) == None, !known && len(c.Clouds) > 1 && selected != cloud:
		return loadbalancer.Unselected(service)
	}
	return c.show(cloud, service)
}

// wants reports whether a Service wants a load balancer of one of the clouds.
func (c Choice) wants(service *v1.Service) bool {
	cloud, _ := c.Of(service)
	return service.Spec.Type == v1.ServiceTypeLoadBalancer && service.DeletionTimestamp.IsZero() && cloud != ""
}

// mayHave reports whether a Service may have a load balancer already.
func mayHave(service *v1.Service) bool {
	for _, condition := range service.Status.Conditions {
		if condition.Type == loadbalancer.ConditionHistory {
			return true
		}
	}
	return servicehelper.HasLBFinalizer(service) || len(service.Status.LoadBalancer.Ingress) > 0
}
