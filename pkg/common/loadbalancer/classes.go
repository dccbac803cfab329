package loadbalancer

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"
)

// Classes selects by spec.loadBalancerClass the Services that get load balancers from this manager. The zero value
// selects as DefaultClass does.
type Classes string

// The selections.
const (
	// DefaultClass selects Services without a class, as every cloud controller manager does.
	DefaultClass Classes = "default"
	// OwnClass selects Services with the class of the provider, see ClassOf. Another controller may handle those
	// without a class.
	OwnClass Classes = "own"
	// AllClasses selects both.
	AllClasses Classes = "all"
)

const (
	// classPrefix is the prefix of the providers' classes. The class of a Service is immutable, so it never changes.
	classPrefix = "unified-ccm.io/"
	// unselected is the class that Select gives to Services without one. It is never written to the API server.
	unselected = classPrefix + "unselected"
)

// ClassOf returns the load balancer class of a provider, such as unified-ccm.io/aws.
func ClassOf(provider string) string { return classPrefix + provider }

// Validate returns an error that names the valid selections.
func (c Classes) Validate() error {
	valid := []string{string(DefaultClass), string(OwnClass), string(AllClasses)}
	if slices.Contains(valid, string(c)) {
		return nil
	}
	return fmt.Errorf("%q is not a selection of load balancer classes; use %s", c, strings.Join(valid, ", "))
}

// Select returns the Service as the framework's service controller has to see it, which handles Services without a
// class and no others: a selected Service has no class, and another one has a class. The controller also cleans up
// after every deleted Service that carries its finalizer, whatever its class. So a Service that is not selected has no
// finalizer either: another cloud controller manager uses the same one, and removing it would leave that one's load
// balancer behind. A Service that was changed to another type has lost its class, and stays as it is, because its load
// balancer may be ours.
//
// The Service itself is not changed. Controllers write patches of what they change, so the differences do not reach
// the API server. With DefaultClass, all Services are as the framework sees them in every manager.
func (c Classes) Select(provider string, s *v1.Service) *v1.Service {
	class := s.Spec.LoadBalancerClass
	if c == DefaultClass || c == "" || s.Spec.Type != v1.ServiceTypeLoadBalancer || class == nil && c == AllClasses {
		return s
	}
	if class != nil && *class == ClassOf(provider) {
		seen := s.DeepCopy()
		seen.Spec.LoadBalancerClass = nil
		return seen
	}
	return Unselected(s)
}

// Unselected returns a Service as the framework's service controller has to see one of another controller: with a class
// and without the finalizer.
func Unselected(s *v1.Service) *v1.Service {
	seen := s.DeepCopy()
	if seen.Spec.LoadBalancerClass == nil {
		seen.Spec.LoadBalancerClass = ptr.To(unselected)
	}
	seen.Finalizers = slices.DeleteFunc(seen.Finalizers, func(name string) bool {
		return name == servicehelper.LoadBalancerCleanupFinalizer
	})
	return seen
}

// WantsLoadBalancer reports whether the framework's service controller keeps a load balancer for the Service: its type
// is LoadBalancer, it has no class of another controller, and it is not being deleted.
func WantsLoadBalancer(s *v1.Service) bool {
	return s.Spec.Type == v1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && s.DeletionTimestamp.IsZero()
}

// IsReconciled reports whether the framework's service controller works on the Service: it keeps a load balancer for
// it, or deletes the one that its finalizer stands for. It leaves a Service with a class to another controller, even if
// that controller uses the same finalizer, until the Service is deleted.
func IsReconciled(s *v1.Service) bool {
	return WantsLoadBalancer(s) || servicehelper.HasLBFinalizer(s) &&
		(s.Spec.Type != v1.ServiceTypeLoadBalancer || !s.DeletionTimestamp.IsZero())
}
