package translation

import (
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// translation gives a Service what another manager reads instead of a portable annotation with this value.
type translation func(svc *v1.Service, value string)

func annotate(svc *v1.Service, key, value string) {
	metav1.SetMetaDataAnnotation(&svc.ObjectMeta, key, value)
}

// as gives an annotation the same value.
func as(key string) translation {
	return func(svc *v1.Service, value string) { annotate(svc, key, value) }
}

// constantly gives an annotation the one value that the scenarios mean.
func constantly(key, value string) translation {
	return func(svc *v1.Service, _ string) { annotate(svc, key, value) }
}

// inSpec requests an address in the field of Kubernetes.
func inSpec(svc *v1.Service, address string) { svc.Spec.LoadBalancerIP = address }

// inSeconds gives an annotation a duration in seconds.
func inSeconds(key string) translation {
	return func(svc *v1.Service, value string) { annotate(svc, key, seconds(value)) }
}

// seconds converts a duration. The scenarios have valid ones; the text of a user's file stays as it is.
func seconds(value string) string {
	d, err := time.ParseDuration(value)
	if err != nil {
		return value
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}
