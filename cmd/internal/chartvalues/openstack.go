package chartvalues

import (
	"fmt"
	"strings"
)

const (
	certsVolume = "k8s-certs"
	certsFolder = "/etc/kubernetes/pki"
	// injectedConfig is the file that the chart of OpenStack's manager expects from an injector.
	injectedConfig = "/etc/config/cloud.conf"
)

// openstackChart is the chart of openstack-cloud-controller-manager, version 2.36 of July 2026.
func openstackChart() *chart {
	const probes = "nothing to do: this chart has probes of its own, for /livez and /readyz"
	return &chart{
		name: "openstack-cloud-controller-manager", provider: "openstack",
		distinctKeys: []string{"controllerExtraArgs", "enabledControllers", "cloudConfig", "cloudConfigContents",
			"logVerbosityLevel", "cluster", "secret"},
		required: map[string]any{
			"nodeSelector": map[string]any{controlPlaneLabel: ""},
			"secret":       map[string]any{"enabled": true, "create": true, "name": "cloud-config"},
			"cluster":      map[string]any{"name": "kubernetes"},
		},
		ignored: map[string]any{
			// Pods of the host network resolve names as with Default.
			"dnsPolicy":       "ClusterFirst",
			"clusterRoleName": "system:cloud-controller-manager", "serviceAccountName": "cloud-controller-manager",
			"podSecurityContext": map[string]any{"runAsUser": 1001.0},
			"tolerations": []any{
				map[string]any{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
				map[string]any{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
			},
		},
		rules: map[string]rule{
			"commonAnnotations": advise("this chart annotates pods (podAnnotations), the ServiceAccount " +
				"(serviceAccount.annotations) and the metrics Service (metrics.service.annotations) only"),
			"imagePullSecrets":    pullSecrets,
			"image":               image("registry.k8s.io/provider-os/openstack-cloud-controller-manager"),
			"extraInitContainers": list("initContainers"), "extraEnv": list("env"), "resources": copyTo("resources"),
			"livenessProbe": advise(probes), "readinessProbe": advise(probes),
			"dnsPolicy": copyTo("dnsPolicy"), "nodeSelector": copyTo("nodeSelector"), "tolerations": list("tolerations"),
			"podAnnotations": copyTo("podAnnotations"), "podLabels": copyTo("podLabels"),
			"podSecurityContext": copyTo("podSecurityContext"),
			"enabledControllers": enabledControllers, "controllerExtraArgs": extraArguments,
			"serviceMonitor": group(map[string]rule{"enabled": copyTo("metrics.serviceMonitor.enabled"),
				"additionalLabels": copyTo("metrics.serviceMonitor.labels")}),
			"secret": secret, "logVerbosityLevel": copyTo("verbosity"), "cloudConfig": cloudConfig,
			"cloudConfigContents": cloudConfigContents,
			"hostAliases":         list("hostAliases"), "priorityClassName": copyTo("priorityClassName"),
			"extraVolumes": volumes("extraVolumes"), "extraVolumeMounts": volumes("extraVolumeMounts"),
			"cluster":            group(map[string]rule{"name": copyTo("clusterName")}),
			"clusterRoleName":    advise("nothing to do: roles and bindings are named after the release"),
			"serviceAccountName": copyTo("serviceAccount.name"),
		},
		finish: finishOpenStack,
	}
}

func enabledControllers(c *conversion, key string, value any) error {
	items, err := listOf(key, value)
	if err != nil {
		return err
	}
	var controllers []string
	for _, item := range items {
		name, err := valueAs[string](key, "the name of a controller", item)
		if err != nil {
			return err
		}
		controllers = append(controllers, name)
	}
	c.setControllers(controllers)
	return nil
}

// secret converts the source of cloud.conf: a Secret of the chart, an existing one, or a file that something else
// puts into the pod.
func secret(c *conversion, key string, value any) error {
	settings, err := mapOf(key, value)
	if err != nil {
		return err
	}
	name, err := valueAs[string](key+".name", "the name of a Secret", settings["name"])
	switch {
	case err != nil:
		return err
	case isFalse(settings["enabled"]):
		c.setArg("cloud-config", injectedConfig)
		c.note(key+".enabled", "the file %s must come from an injector or a volume, as before", injectedConfig)
	case isFalse(settings["create"]):
		c.set("cloudConfig.existingSecret", name)
	default:
		c.note(key+".name", "the file goes into a Secret of this chart, named after the release; other programs that read "+
			"the Secret %s, such as Cinder's or Manila's drivers, need one of their own", name)
	}
	return nil
}

// sections are those of cloud.conf, by the key of the chart.
var sections = map[string]string{"global": "Global", "networking": "Networking", "loadBalancer": "LoadBalancer",
	"metadata": "Metadata", "route": "Route"}

// quote writes a text as a value of cloud.conf.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}

// cloudConfig writes cloud.conf.
func cloudConfig(c *conversion, key string, value any) error {
	groups, err := mapOf(key, value)
	if err != nil {
		return err
	}
	var file strings.Builder
	for _, name := range sortedKeys(groups) {
		path := key + "." + name
		section, known := sections[name]
		switch {
		case empty(groups[name]):
			continue
		case name == "blockStorage":
			c.note(path, "nothing to do: no cloud controller manager reads this section")
			continue
		case !known:
			c.note(path, "the chart %s has no such section: remove it", c.chart.name)
			continue
		}
		settings, err := mapOf(path, groups[name])
		if err != nil {
			return err
		}
		fmt.Fprintf(&file, "[%s]\n", section)
		for _, setting := range sortedKeys(settings) {
			content, err := scalar(path+"."+setting, settings[setting])
			if err != nil {
				return err
			}
			fmt.Fprintf(&file, "%s = %s\n", setting, quote(content))
		}
	}
	c.set("cloudConfig.content", file.String())
	return nil
}

// cloudConfigContents is the whole file. The other chart then ignores the sections, which are converted before it.
func cloudConfigContents(c *conversion, key string, value any) error {
	content, err := valueAs[string](key, "a text", value)
	if err == nil {
		c.set("cloudConfig.content", content)
	}
	return err
}

func finishOpenStack(c *conversion) error {
	config, _ := c.values["cloudConfig"].(map[string]any)
	content, _ := config["content"].(string)
	if config["existingSecret"] != nil {
		if content != "" {
			delete(config, "content")
			c.note("cloudConfig", "ignored, as by the other chart: secret.create is false, and the Secret has the file")
		}
		c.note("secret.name", "if its cloud.conf names files below %s, add a volume %s and its mount", certsFolder,
			certsVolume)
		return nil
	}
	if args, _ := c.values["args"].(map[string]any); content == "" && args["cloud-config"] == nil {
		c.note("cloudConfig", "it is empty: set cloudConfig.content or cloudConfig.existingSecret in the result")
	}
	// The other manager sets up routes only with a router.
	c.routes.enabled = c.routes.enabled && strings.Contains(content, "router-id")
	if strings.Contains(content, certsFolder) {
		c.append("extraVolumes", map[string]any{"name": certsVolume, "hostPath": map[string]any{"path": certsFolder}})
		c.append("extraVolumeMounts", map[string]any{"name": certsVolume, "mountPath": certsFolder, "readOnly": true})
	}
	return nil
}

// volumes copies volumes or their mounts without the two that the other chart has by default. ccm needs neither of
// them, unless cloud.conf names a certificate: finishOpenStack adds that one.
func volumes(path string) rule {
	return func(c *conversion, key string, value any) error {
		items, err := listOf(key, value)
		for _, item := range items {
			volume, _ := item.(map[string]any)
			if name := volume["name"]; name != "flexvolume-dir" && name != certsVolume {
				c.append(path, item)
			}
		}
		return err
	}
}

// isFalse reports whether a value is set to false.
func isFalse(value any) bool {
	isSet, ok := value.(bool)
	return ok && !isSet
}
