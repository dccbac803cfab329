package instances

import (
	"context"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// maxLabel is the maximum length of a label value.
const maxLabel = 63

// notInLabels matches characters that are invalid in label values.
var notInLabels = regexp.MustCompile(`[^-A-Za-z0-9_.]+`)

// labelValue converts a name to a valid label value: runs of invalid characters become one hyphen.
func labelValue(name string) string {
	value := strings.Trim(notInLabels.ReplaceAllString(name, "-"), "-_.")
	return strings.TrimRight(value[:min(len(value), maxLabel)], "-_.")
}

func isLabelValue(text string) bool {
	return text != "" && len(validation.IsValidLabelValue(text)) == 0
}

// flavorMaxAge limits the age of the flavor list. Flavors rarely change, and the flavor of a server never does.
const flavorMaxAge = time.Hour

// indexFlavorName is the prefix of the index of flavors by name.
const indexFlavorName = "name "

// flavorCache resolves the instance types of servers that do not contain one: before microversion 2.47 of
// Nova, or where the name of the flavor is not a valid label value.
type flavorCache struct{ flavors *snapshot.Table[api.Flavor] }

func newFlavorCache(compute api.ComputeAPI, c clock.PassiveClock) flavorCache {
	return flavorCache{snapshot.NewTable(snapshot.NewStore(c), snapshot.Kind[api.Flavor]{
		ID:   func(f api.Flavor) string { return f.ID },
		List: compute.ListFlavors,
		// Servers may have flavors that lists do not include.
		Covers: func(api.Flavor) bool { return false },
		Read: func(ctx context.Context, id string) (api.Flavor, error) {
			found, err := compute.GetFlavor(ctx, id)
			if cloudapi.Is(err, cloudapi.Denied) {
				err = &cloudapi.Error{Class: cloudapi.NotFound, Operation: "ShowFlavor", Err: err}
			}
			return found, err
		},
		MaxAge: flavorMaxAge,
		Index:  func(f api.Flavor) []string { return []string{indexFlavorName + f.Name} },
	})}
}

// typeOf returns the instance type of a server: the name of its flavor if that is a valid label value, else
// the flavor's ID. A deleted or hidden flavor must not keep a node from being initialized.
func (f flavorCache) typeOf(ctx context.Context, s api.Server) (string, error) {
	if name := s.Flavor.OriginalName; name != "" {
		if isLabelValue(name) {
			return name, nil
		}
		return f.idOf(ctx, name)
	}
	if s.Flavor.ID == "" {
		return "", nil
	}
	name, err := f.nameOf(ctx, s.Flavor.ID)
	if err != nil || isLabelValue(name) {
		return name, err
	}
	return labelValue(s.Flavor.ID), nil
}

// nameOf returns the name of a flavor, or "" if it is not visible.
func (f flavorCache) nameOf(ctx context.Context, id string) (string, error) {
	if err := f.flavors.Refresh(ctx); err != nil {
		return "", err
	}
	found, _, err := f.flavors.Ensure(ctx, id)
	return found.Name, err
}

// idOf returns the ID of the flavor of that name if it is a valid label value, else the converted name.
func (f flavorCache) idOf(ctx context.Context, name string) (string, error) {
	if err := f.flavors.Refresh(ctx); err != nil {
		return "", err
	}
	for _, id := range f.flavors.LookupIDs(indexFlavorName + name) {
		if isLabelValue(id) {
			return id, nil
		}
	}
	return labelValue(name), nil
}
