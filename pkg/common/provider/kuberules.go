package provider

import "fmt"

// KubeRule is a permission in the cluster that one provider needs beside those that all need. The roles of the chart
// and of the manifests have exactly the rules of their provider.
type KubeRule struct {
	// Namespace restricts the rule to the objects of a namespace; empty for all.
	Namespace string `json:"namespace,omitempty"`
	// APIGroup is the group of the resources; empty for the core group.
	APIGroup  string   `json:"apiGroup"`
	Resources []string `json:"resources"`
	// Names restrict the rule to objects. They cannot restrict create, list and watch.
	Names []string `json:"names,omitempty"`
	Verbs []string `json:"verbs"`
}

// validate returns an error for a rule that allows more than it says, or nothing.
func (r KubeRule) validate() error {
	if len(r.Resources) == 0 || len(r.Verbs) == 0 {
		return fmt.Errorf("rule %+v: name its resources and verbs", r)
	}
	for _, list := range [][]string{{r.APIGroup}, r.Resources, r.Verbs} {
		for _, word := range list {
			if word == "*" {
				return fmt.Errorf("rule %+v: name each group, resource and verb instead of *", r)
			}
		}
	}
	return nil
}
