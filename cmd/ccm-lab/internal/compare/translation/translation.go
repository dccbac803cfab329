// Package translation translates Services with portable annotations to what the own manager of a cloud reads, so that
// both managers get the same request.
package translation

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/gce"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	vsphereannotation "github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
)

// MissingSettingError reports that another manager has no setting for a portable annotation.
type MissingSettingError struct{ Key string }

// Error implements error.
func (e *MissingSettingError) Error() string {
	return "It has no setting like " + strings.TrimPrefix(e.Key, intent.Prefix) + "."
}

// Translate replaces the portable annotations of a Service by what the own manager of a provider's cloud reads, for a
// kind of load balancers. A cloud without a manager of its own has portable ones only. It returns a MissingSettingError
// if that manager has no such setting.
func Translate(svc *v1.Service, provider, kind string) error {
	known := translations(provider, kind)
	if known == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(svc.Annotations)) {
		if !strings.HasPrefix(key, intent.Prefix) {
			continue
		}
		t, ok := known[key]
		if !ok {
			return &MissingSettingError{key}
		}
		value := svc.Annotations[key]
		delete(svc.Annotations, key)
		t(svc, value)
	}
	return nil
}

// translations returns the settings of a cloud's own manager for a kind of load balancers, by the portable annotation;
// nil for a cloud without one.
func translations(provider, kind string) map[string]translation {
	out := map[string]translation{intent.KeySourceRanges: as(v1.AnnotationLoadBalancerSourceRangesKey)}
	switch provider {
	default:
		return nil
	case aws.ProviderName:
		maps.Copy(out, awsTranslations())
		if kind == "classic" {
			maps.Copy(out, awsClassicTranslations())
		} else {
			maps.Copy(out, awsNetworkTranslations())
		}
	case gce.ProviderName:
		maps.Copy(out, gceTranslations())
	case openstack.ProviderName:
		maps.Copy(out, openStackTranslations())
	case vsphere.ProviderName:
		out[intent.KeyScheme] = as(vsphereannotation.KeyClass) // The lab has a class of this name.
	}
	return out
}
