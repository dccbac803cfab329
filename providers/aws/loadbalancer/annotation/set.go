package annotation

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// setInternal accepts every value: existing Services rely on it.
func (o *Options) setInternal(value string) error {
	o.Internal = value != "false"
	if o.Internal && value != "true" {
		o.warnf(KeyInternal, "%s makes the load balancer internal, as every text but false does; write true or false",
			intent.Quote(value))
	}
	return nil
}

func (o *Options) setTags(value string) error {
	tags, duplicates, truncated, err := parsePairs(value)
	if err != nil {
		return err
	}
	o.warnDuplicates(KeyTags, duplicates)
	if truncated {
		o.warnf(KeyTags, "a value is cut at its second equal sign; to keep all of it, write %s instead", intent.KeyTags)
	}
	o.Tags = tags
	return nil
}

func (o *Options) setNodeLabels(value string) error {
	labels, duplicates, _, err := parsePairs(value)
	if err != nil {
		return err
	}
	o.warnDuplicates(KeyNodeLabels, duplicates)
	o.NodeLabels = labels
	return nil
}

// setTLSPorts leaves TLSPorts nil for all ports.
func (o *Options) setTLSPorts(value string) error {
	if value == "*" {
		return nil
	}
	items, duplicates := split(value)
	if len(items) == 0 {
		return errEmptyList
	}
	o.warnDuplicates(KeyTLSPorts, duplicates)
	o.TLSPorts = foldPorts(items)
	return nil
}

func (o *Options) setGroupAttributes(value string) error {
	attributes, duplicates, err := parseGroupAttributes(value)
	if err != nil {
		return err
	}
	o.warnDuplicates(KeyGroupAttributes, duplicates)
	o.GroupAttributes = attributes
	return nil
}

// warnDuplicates warns about duplicate entries of a list: existing Services have such lists.
func (o *Options) warnDuplicates(key string, duplicates []string) {
	var texts []string
	for _, entry := range duplicates {
		texts = append(texts, intent.Quote(entry)+" is given twice, and the last one takes effect; give it once")
	}
	o.warnEach(key, texts)
}

func (o *Options) warnf(key, format string, args ...any) {
	o.Warnings = append(o.Warnings, key+": "+fmt.Sprintf(format, args...))
}

// warnEach adds the first texts of many warnings about a key, and how many more there are.
func (o *Options) warnEach(key string, texts []string) {
	for _, text := range intent.Limit(texts) {
		o.warnf(key, "%s", text)
	}
}

// setBackendProtocol accepts every value where it has no effect: existing Services rely on it. Read refuses others.
func (o *Options) setBackendProtocol(value string) (err error) {
	o.BackendProtocol, err = parseWord("http", "https", "ssl", "tcp")(value)
	o.ignore(KeyBackendProtocol, err)
	return nil
}

// setHealthCheckPath accepts every value for probes without a path. Read refuses others.
func (o *Options) setHealthCheckPath(value string) (err error) {
	o.HealthCheck.Path, err = parsePath(value)
	o.ignore(KeyHealthCheckPath, err)
	return nil
}

// setSecurityGroups accepts every value on a network load balancer, where it mostly has no effect.
func (o *Options) setSecurityGroups(value string) error {
	groups, err := parseSecurityGroups(value)
	if o.Type == Network && err != nil {
		groups, _ = split(value)
		o.SecurityGroupsErr, err = err, nil
	}
	o.SecurityGroups = groups
	return err
}

func (o *Options) ignore(key string, err error) {
	if err == nil {
		return
	}
	if o.Ignored == nil {
		o.Ignored = map[string]error{}
	}
	o.Ignored[key] = err
}
