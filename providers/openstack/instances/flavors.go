package instances

import (
	"context"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// maxLabel limits the length of a label value.
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

// flavorCache resolves the instance types of servers that do not contain one: before microversion 2.47 of
// Nova, or where the name of the flavor is not a valid label value.
type flavorCache struct {
	api   api.ComputeAPI
	clock clock.PassiveClock

	mu     locks.Mutex
	readAt time.Time
	byID   map[string]string
	byName map[string]string
}

// typeOf returns the instance type of a server: the name of its flavor if that is a valid label value, else
// the flavor's ID. A deleted or hidden flavor must not keep a node from being initialized.
func (f *flavorCache) typeOf(ctx context.Context, s api.Server) (string, error) {
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
func (f *flavorCache) nameOf(ctx context.Context, id string) (string, error) {
	unlock, err := f.mu.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := f.readLocked(ctx); err != nil {
		return "", err
	}
	if name, ok := f.byID[id]; ok {
		return name, nil
	}
	found, err := f.api.GetFlavor(ctx, id)
	if err != nil && !cloudapi.Is(err, cloudapi.NotFound, cloudapi.Denied) {
		return "", err
	}
	f.byID[id] = found.Name
	return found.Name, nil
}

// idOf returns the ID of the flavor of that name if it is a valid label value, else the converted name.
func (f *flavorCache) idOf(ctx context.Context, name string) (string, error) {
	unlock, err := f.mu.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := f.readLocked(ctx); err != nil {
		return "", err
	}
	if id, ok := f.byName[name]; ok && isLabelValue(id) {
		return id, nil
	}
	return labelValue(name), nil
}

func (f *flavorCache) readLocked(ctx context.Context) error {
	now := f.clock.Now()
	if f.byID != nil && now.Sub(f.readAt) < flavorMaxAge {
		return nil
	}
	list, err := f.api.ListFlavors(ctx)
	if err != nil {
		return err
	}
	f.byID, f.byName = make(map[string]string, len(list)), make(map[string]string, len(list))
	f.readAt = now
	for _, one := range list {
		f.byID[one.ID], f.byName[one.Name] = one.Name, one.ID
	}
	return nil
}
