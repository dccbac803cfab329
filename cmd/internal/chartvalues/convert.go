package chartvalues

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Result is the outcome of a conversion.
type Result struct {
	// Values are the values of the chart unified-ccm that differ from its defaults.
	Values map[string]any
	// Notes list the keys without an equivalent, sorted by key.
	Notes []Note
}

// Note reports a key that was not converted.
type Note struct {
	// Key is the path of a value of the other chart, or a flag in it.
	Key string
	// Action is what the user has to do, or the reason why nothing is to do.
	Action string
}

// frameworkClusterName is the default of --cluster-name. The chart of ccm has none.
const frameworkClusterName = "kubernetes"

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// Flags reports whether the manager has a flag of that name.
type Flags func(name string) bool

// rule converts one value of a chart. The value is neither nil nor the default of the other chart.
type rule func(c *conversion, key string, value any) error

// chart describes the chart of a cloud's own manager.
type chart struct {
	name     string
	provider string
	// distinctKeys are top-level keys that only this chart has.
	distinctKeys []string
	rules        map[string]rule
	// required are the defaults that the converted values must repeat, because those of this chart differ.
	required map[string]any
	// ignored are the defaults that need no conversion.
	ignored map[string]any
	// finish converts what depends on several values. May be nil.
	finish func(c *conversion) error
}

// conversion is the state of one run.
type conversion struct {
	chart  *chart
	flags  Flags
	values map[string]any
	notes  []Note
	// routes are the settings of pod routes, which come from several values.
	routes routes
}

// routes are the settings of the route controller, which are flags in the other charts.
type routes struct {
	enabled bool
	cidr    string
}

// Convert converts the values of a chart: those that a user has set, or all of them. The error joins one message for
// each value of a wrong type.
func (ch *chart) Convert(values map[string]any, flags Flags) (Result, error) {
	c := &conversion{chart: ch, flags: flags, values: map[string]any{}, routes: routes{enabled: true}}
	merged := merge(ch.required, values)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		errs = append(errs, c.convert(key, merged[key]))
	}
	if ch.finish != nil {
		errs = append(errs, ch.finish(c))
	}
	c.finishRoutes()
	if err := errors.Join(errs...); err != nil {
		return Result{}, err
	}
	c.set("cloudProvider", ch.provider)
	if c.values["clusterName"] == nil {
		c.set("clusterName", frameworkClusterName)
	}
	// The pods of the other manager run on other nodes than those of the control plane, too.
	if selector, _ := c.values["nodeSelector"].(map[string]any); selector[controlPlaneLabel] == nil {
		c.set("controlPlaneNodes", "preferred")
	}
	sorting.StableFunc(c.notes, func(a, b Note) int { return strings.Compare(a.Key, b.Key) })
	return Result{Values: c.values, Notes: c.notes}, nil
}

// finishRoutes sets up routes if the other manager does: with a range of pods, and unless its flags turn them off.
func (c *conversion) finishRoutes() {
	if c.routes.cidr == "" {
		return
	}
	c.set("routes.clusterCIDR", c.routes.cidr)
	if c.routes.enabled {
		c.set("routes.enabled", true)
	}
}

func (c *conversion) convert(key string, value any) error {
	apply, known := c.chart.rules[key]
	switch {
	case !known:
		action := "the chart " + c.chart.name + " has no such value: remove it"
		if nearest := provider.Nearest(key, slices.Collect(maps.Keys(c.chart.rules))); nearest != "" {
			action = fmt.Sprintf("the chart %s has no such value; if %s is meant, rename it and convert again",
				c.chart.name, nearest)
		}
		c.note(key, "%s", action)
		return nil
	case empty(value) || reflect.DeepEqual(value, c.chart.ignored[key]):
		return nil
	default:
		return apply(c, key, value)
	}
}

// set sets a value by its path, such as image.tag.
func (c *conversion) set(path string, value any) {
	parent := c.values
	for {
		group, subpath, nested := strings.Cut(path, ".")
		if !nested {
			parent[path] = value
			return
		}
		child, ok := parent[group].(map[string]any)
		if !ok {
			child = map[string]any{}
			parent[group] = child
		}
		parent, path = child, subpath
	}
}

// setArg sets a flag in args. Names of flags have no dots, but feature gates might.
func (c *conversion) setArg(name string, value any) {
	args, ok := c.values["args"].(map[string]any)
	if !ok {
		args = map[string]any{}
		c.values["args"] = args
	}
	args[name] = value
}

// append adds an item to a list at the top level of the values.
func (c *conversion) append(key string, item any) {
	items, _ := c.values[key].([]any)
	c.values[key] = append(items, item)
}

func (c *conversion) note(key, format string, args ...any) {
	c.notes = append(c.notes, Note{Key: key, Action: fmt.Sprintf(format, args...)})
}

// empty reports whether Helm's charts treat a value as absent. false and 0 are values.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// merge overrides defaults with values as Helm does: maps are merged, other values replace, and null removes.
func merge(defaults, values map[string]any) map[string]any {
	merged := maps.Clone(defaults)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range values {
		overrides, isMap := value.(map[string]any)
		base, overMap := merged[key].(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case isMap && overMap:
			merged[key] = merge(base, overrides)
		default:
			merged[key] = value
		}
	}
	return merged
}

// valueAs returns a value as the type that the other chart requires.
func valueAs[T any](key, want string, value any) (T, error) {
	v, ok := value.(T)
	if !ok {
		return v, fmt.Errorf("%s: %v is not %s", key, value, want)
	}
	return v, nil
}

func mapOf(key string, value any) (map[string]any, error) {
	return valueAs[map[string]any](key, "a map", value)
}

func listOf(key string, value any) ([]any, error) { return valueAs[[]any](key, "a list", value) }
