package annotation

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// setInternal accepts every value: existing Services rely on it.
func (o *Options) setInternal(value string) error {
	o.Internal = value != "false"
	if o.Internal && value != "true" {
		o.warnf(KeyInternal, "%q makes the load balancer internal, as every text but false does; write true or false", value)
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
	o.TLSPorts = items
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
	for _, entry := range duplicates {
		o.warnf(key, "%s is given twice, and the last one takes effect; give it once", intent.Quote(entry))
	}
}

func (o *Options) warnf(key, format string, args ...any) {
	o.Warnings = append(o.Warnings, key+": "+fmt.Sprintf(format, args...))
}
