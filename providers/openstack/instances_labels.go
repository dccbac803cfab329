package openstack

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// maxLabel is the longest value of a label.
const maxLabel = 63

// notInLabels are runs of characters that values of labels cannot have.
var notInLabels = regexp.MustCompile(`[^-A-Za-z0-9_.]+`)

// labelValue makes a value of a label out of a name: every run of other characters is one hyphen.
func labelValue(name string) string {
	value := strings.Trim(notInLabels.ReplaceAllString(name, "-"), "-_.")
	return strings.TrimRight(value[:min(len(value), maxLabel)], "-_.")
}

func isLabelValue(text string) bool {
	return text != "" && len(validation.IsValidLabelValue(text)) == 0
}

// flavorsAge is how long flavors are remembered. They hardly ever change, and never under a server.
const flavorsAge = time.Hour

// flavors knows the types of servers that do not say them: those of a Nova before microversion 2.47,
// and those whose flavor has a name that is no value of a label.
type flavors struct {
	api   api.ComputeAPI
	clock clock.PassiveClock

	mu     sync.Mutex
	readAt time.Time
	byID   map[string]string
	byName map[string]string
}

// typeOf returns the instance type of a server: the name of its flavor if that can be a label, else
// the flavor's ID. A flavor that was deleted or is hidden must not keep a node from being initialised.
func (f *flavors) typeOf(ctx context.Context, s api.Server) (string, error) {
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

// nameOf returns a flavor's name, or "" if it cannot be seen.
func (f *flavors) nameOf(ctx context.Context, id string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
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

// idOf returns the ID of the flavor of that name as a value of a label, or else the name as one.
func (f *flavors) idOf(ctx context.Context, name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.readLocked(ctx); err != nil {
		return "", err
	}
	if id, ok := f.byName[name]; ok && isLabelValue(id) {
		return id, nil
	}
	return labelValue(name), nil
}

func (f *flavors) readLocked(ctx context.Context) error {
	now := f.clock.Now()
	if f.byID != nil && now.Sub(f.readAt) < flavorsAge {
		return nil
	}
	list, err := f.api.ListFlavors(ctx)
	if err != nil {
		return err
	}
	f.byID, f.byName, f.readAt = make(map[string]string, len(list)), make(map[string]string, len(list)), now
	for _, one := range list {
		f.byID[one.ID], f.byName[one.Name] = one.Name, one.ID
	}
	return nil
}
