package sim

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// Trouble is what a person can make of the whole cloud, beyond the faults of the Front, which are about single calls.
type Trouble struct {
	// Denied are the actions that are refused to everyone, as IAM writes them, with wildcards: "ec2:Describe*".
	Denied []string
	// Empty makes reads find nothing, as a client sees it that asks in the wrong account or region. Changes
	// still find what they name.
	Empty bool
	// Garbled cuts answers off in the middle, as a broken proxy does. What was asked is done.
	Garbled bool
}

// SetTrouble replaces the trouble; the zero one ends it.
func (c *Cloud) SetTrouble(trouble Trouble) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = Trouble{Denied: slices.Clone(trouble.Denied), Empty: trouble.Empty, Garbled: trouble.Garbled}
}

func (c *Cloud) troubled() Trouble {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// denies says whether an action is refused by hand.
func (t Trouble) denies(action string) bool {
	return slices.ContainsFunc(t.Denied, func(pattern string) bool { return iam.Match(strings.ToLower(pattern), strings.ToLower(action)) })
}

// garble halves a document.
func (t Trouble) garble(document []byte) []byte {
	if t.Garbled {
		return document[:len(document)/2]
	}
	return document
}

// SetHealth makes a machine fail its load balancers' health checks, or pass them again.
func (c *Cloud) SetHealth(nodeName string, healthy bool) error {
	return c.onMachine(nodeName, func(t *tx, _ *instance) error { t.sick[nodeName] = !healthy; return nil })
}
