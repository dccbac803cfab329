package chartvalues

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/cloud-provider/names"
	"sigs.k8s.io/yaml"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// setControllers sets the controllers under their current names, unless all of them run.
func (c *conversion) setControllers(list []string) {
	aliases, framework := provider.ControllerAliases(), names.CCMControllerAliases()
	var enabled []any
	for _, name := range list {
		disabled := strings.HasPrefix(name, "-")
		name = strings.TrimPrefix(name, "-")
		if canonical, ok := aliases[name]; ok {
			name = canonical
		}
		if disabled {
			name = "-" + name
		}
		enabled = append(enabled, name)
	}
	runs := func(name string) bool { return slices.Contains(enabled, any(name)) }
	all := len(enabled) == len(framework) || runs("*") && len(enabled) == 1
	for _, name := range framework {
		all = all && (runs("*") || runs(name))
		if name == names.NodeRouteController && !runs(name) && (!runs("*") || runs("-"+name)) {
			c.routes.enabled = false
		}
	}
	if !all {
		c.set("controllers", enabled)
	}
}

// extraArguments converts a text with a YAML list of flags, as a template of the chart renders it.
func extraArguments(c *conversion, key string, value any) error {
	content, isText := value.(string)
	if !isText {
		return argumentList(c, key, value)
	}
	if strings.Contains(content, "{{") {
		c.note(key, "it is a template: set args to the flags that it renders")
		return nil
	}
	var items any
	if err := yaml.Unmarshal([]byte(content), &items); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return argumentList(c, key, items)
}

// argumentList converts the arguments of a container: --name=value, --name value, or --name alone.
func argumentList(c *conversion, key string, value any) error {
	items, err := listOf(key, value)
	if err != nil {
		return err
	}
	for i := 0; i < len(items); i++ {
		argument, err := valueAs[string](key, "a flag", items[i])
		if err != nil {
			return err
		}
		name, dashes := strings.CutPrefix(argument, "-")
		if !dashes {
			c.note(key, "%s is not a flag: remove it", argument)
			continue
		}
		name, content, assigned := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if !assigned {
			content = "true"
			if next, ok := nextValue(items, i); ok {
				content = next
				i++
			}
		}
		if err := c.convertFlag(key, strings.ReplaceAll(name, "_", "-"), content); err != nil {
			return err
		}
	}
	return nil
}

// nextValue returns the next argument if it is the value of the flag at i.
func nextValue(items []any, i int) (string, bool) {
	if i+1 == len(items) {
		return "", false
	}
	next, isText := items[i+1].(string)
	return next, isText && !strings.HasPrefix(next, "-")
}

// flagRules are the flags that have a value in the chart. All others become args.
var flagRules = map[string]func(c *conversion, key, content string) error{
	"cloud-provider": func(c *conversion, key, content string) error {
		if content != c.chart.provider {
			return fmt.Errorf("%s: the chart is for %s, not for %s", key, c.chart.provider, content)
		}
		return nil
	},
	"v": func(c *conversion, key, content string) error {
		level, err := strconv.Atoi(content)
		c.set("verbosity", level)
		return withKey(key, err)
	},
	"secure-port": func(c *conversion, key, content string) error {
		port, err := strconv.Atoi(content)
		c.set("port", port)
		return withKey(key, err)
	},
	"cluster-name": func(c *conversion, _, content string) error {
		c.set("clusterName", content)
		return nil
	},
	"cluster-cidr": func(c *conversion, _, content string) error {
		c.routes.cidr = content
		return nil
	},
	"configure-cloud-routes": func(c *conversion, key, content string) error {
		on, err := strconv.ParseBool(content)
		c.routes.enabled = c.routes.enabled && on
		return withKey(key, err)
	},
	"controllers": func(c *conversion, _, content string) error {
		c.setControllers(strings.Split(content, ","))
		return nil
	},
	"feature-gates": func(c *conversion, key, content string) error {
		for _, gate := range strings.Split(content, ",") {
			name, state, _ := strings.Cut(strings.TrimSpace(gate), "=")
			on, err := strconv.ParseBool(state)
			if err != nil {
				return withKey(key, err)
			}
			c.set("featureGates."+name, on)
		}
		return nil
	},
	"leader-elect": func(c *conversion, key, content string) error {
		on, err := strconv.ParseBool(content)
		if err == nil && !on {
			c.note(key, "leader election stays on: only with it, two managers never work at the same time")
		}
		return withKey(key, err)
	},
	"leader-elect-resource-name": func(c *conversion, _, content string) error {
		c.set("leaderElection.leaseName", content)
		return nil
	},
	"leader-elect-resource-namespace": func(c *conversion, _, content string) error {
		c.set("leaderElection.namespace", content)
		return nil
	},
	"use-service-account-credentials": func(c *conversion, key, content string) error {
		on, err := strconv.ParseBool(content)
		if err == nil && on {
			c.note(key, "nothing to do: all controllers use the account of the pod, which needs no permission to create tokens")
		}
		return withKey(key, err)
	},
}

func (c *conversion) convertFlag(key, name, content string) error {
	path := key + ": --" + name
	if apply, ok := flagRules[name]; ok {
		return apply(c, path, content)
	}
	if !c.flags(name) {
		c.note(path, "ccm has no such flag: remove it")
		return nil
	}
	if name == "cloud-config" {
		c.note(path, "the file must come from extraVolumes, as before; or remove the flag, and set cloudConfig.content or "+
			"cloudConfig.existingSecret")
	}
	c.setArg(name, content)
	return nil
}

func withKey(key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", key, err)
}
