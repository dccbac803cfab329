package chartvalues

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// copyTo sets a value of this chart to the same content.
func copyTo(path string) rule {
	return func(c *conversion, _ string, value any) error {
		c.set(path, value)
		return nil
	}
}

// drop ignores a value, because this chart needs none.
func drop(*conversion, string, any) error { return nil }

// advise reports what to do about a value without an equivalent.
func advise(action string) rule {
	return func(c *conversion, key string, _ any) error {
		c.note(key, "%s", action)
		return nil
	}
}

// list copies a list, and rejects other types, which Helm would render into an invalid manifest.
func list(path string) rule {
	return func(c *conversion, key string, value any) error {
		items, err := listOf(key, value)
		if err == nil {
			c.set(path, items)
		}
		return err
	}
}

// group applies a rule to each value below a key.
func group(rules map[string]rule) rule {
	return func(c *conversion, key string, value any) error {
		values, err := mapOf(key, value)
		if err != nil {
			return err
		}
		for _, name := range sortedKeys(values) {
			path := key + "." + name
			apply, known := rules[name]
			if !known {
				c.note(path, "the chart %s has no such value: remove it", c.chart.name)
				continue
			}
			if empty(values[name]) {
				continue
			}
			if err := apply(c, path, values[name]); err != nil {
				return err
			}
		}
		return nil
	}
}

// image reports an image from another repository than the public ones, which this chart's image replaces.
func image(public ...string) rule {
	return group(map[string]rule{
		"tag": drop,
		"repository": func(c *conversion, key string, value any) error {
			if name, isText := value.(string); !isText || !slices.Contains(public, name) {
				c.note(key, "mirror the image of this chart there, and set image.registry and image.repository")
			}
			return nil
		},
	})
}

// pullSecrets converts names, or objects with a name, to the form of a pod spec.
func pullSecrets(c *conversion, key string, value any) error {
	items, err := listOf(key, value)
	if err != nil {
		return err
	}
	var secrets []any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			item = object["name"]
		}
		name, err := valueAs[string](key, "the name of a Secret", item)
		if err != nil {
			return err
		}
		secrets = append(secrets, map[string]any{"name": name})
	}
	c.set("image.pullSecrets", secrets)
	return nil
}

// scalar returns a value as it is written in YAML, without exponents.
func scalar(key string, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	default:
		return "", fmt.Errorf("%s: %v is not a text, a number or a boolean", key, value)
	}
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
