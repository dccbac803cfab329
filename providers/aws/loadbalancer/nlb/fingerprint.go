package nlb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Fingerprints are two tags on a load balancer: hashes of what was applied to it, and of its
// targets. They are written some time after a load balancer was seen to be as asked. A manager that
// starts and finds the hashes of what is asked takes the load balancer's word, and reads neither
// its listeners and attributes nor its targets. What somebody changes by hand meanwhile is found by
// the audit, which never looks at fingerprints.

// fingerprintVersion changes with what hashes cover, so that older ones are not taken for equal.
const fingerprintVersion = "1"

// fingerprintDigits are enough to tell apart what one load balancer is ever asked to be.
const fingerprintDigits = 16

// expectation is what was last asked for a Service.
type expectation struct {
	key     lbcommon.Key
	want    Desired
	applied string
	targets string
}

// Expect notes what a Service asks for. It decides how much Observe has to read, and about nothing else.
func (s *Store) Expect(key lbcommon.Key, want Desired) {
	e := expectation{key: key, want: want, applied: appliedHash(want), targets: targetsHash(want)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.expected[serviceName(key)]; before.applied != e.applied || before.targets != e.targets {
		s.askedAt = s.options.Clock.Now()
	}
	s.expected[serviceName(key)] = e
}

// LastAsked is when a Service last asked for something that it had not asked for before.
func (c *Cloud) LastAsked() time.Time {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return c.store.askedAt
}

// appliedHash covers everything of a load balancer but its targets and what is compared on every
// look anyway: security groups and their rules.
func appliedHash(want Desired) string {
	want.Key, want.Warnings, want.NodeGroups = lbcommon.Key{}, nil, nil
	want.Managed, want.ByCIDR = vpc.ManagedGroup{}, vpc.ByCIDR{}
	want.Listeners = slices.Clone(want.Listeners)
	for i := range want.Listeners {
		want.Listeners[i].Group.Targets = nil
	}
	text, err := json.Marshal(want)
	if err != nil {
		return "" // never equal
	}
	return fingerprint(string(text))
}

// targetsHash covers which nodes are targets. It is the same for all load balancers with the same
// nodes, so that one call tags many. It is empty, and never equal, while a node that is stopped may
// or may not be a target.
func targetsHash(want Desired) string {
	set := map[string]bool{}
	for _, l := range want.Listeners {
		for _, t := range l.Group.Targets {
			if t.Keep {
				return ""
			}
			set[t.ID] = true
		}
	}
	return fingerprint(strings.Join(slices.Sorted(maps.Keys(set)), ","))
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(fingerprintVersion + "\n" + text))
	return hex.EncodeToString(sum[:])[:fingerprintDigits]
}

// matches says whether tags bear the fingerprints of what is asked.
func (e expectation) matches(tags map[string]string) bool {
	return e.applied != "" && e.targets != "" && tags[names.AppliedTag] == e.applied && tags[names.TargetsTag] == e.targets
}

// trust fills in what a load balancer's fingerprints prove, if it has those of what is asked and
// nothing is known of its details yet.
func (s *Store) trust(key lbcommon.Key, arn string) {
	s.mu.Lock()
	e, ok := s.expected[serviceName(key)]
	s.mu.Unlock()
	_, read := s.listeners.Get(arn)
	tags, _ := s.tags.Get(arn)
	if !ok || read || !e.matches(tags) {
		return
	}
	groups := map[string]string{}
	for _, arn := range s.groupsOf(key, arn) {
		g, _ := s.groups.Get(arn)
		groups[g.Name] = arn
	}
	r := s.state.Begin()
	listeners := []Listener{}
	for _, w := range e.want.Listeners {
		group, ok := groups[w.Group.Name]
		if !ok {
			return // lists contradict the fingerprint
		}
		listeners = append(listeners, trusted(w, group))
		health := Health{}
		for _, t := range w.Group.Targets {
			health[t.Target] = types.TargetHealthStateEnumInitial
		}
		s.targets.Merge(r, group, health)
		s.groupAttributes.Merge(r, group, maps.Clone(w.Group.Attributes))
	}
	s.listeners.Merge(r, arn, listeners)
	s.attributes.Merge(r, arn, maps.Clone(e.want.Attributes))
}

// trusted is a listener as it was applied. Its ARN is not known; whoever changes it reads it first.
func trusted(w WantedListener, group string) Listener {
	l := Listener{Port: w.Port, Protocol: w.Protocol, Policy: w.Policy, Certificates: w.Certificates, CertificatesRead: true, Forwards: []Forward{{Group: group}}}
	if w.IdleTimeout > 0 {
		l.Attributes = map[string]string{attributeIdleTimeout: strconv.Itoa(int(w.IdleTimeout))}
	}
	return l
}

// Fingerprint writes the fingerprints of all load balancers that are as asked and don't bear them
// yet. Load balancers with equal tags share a call. It returns the first errors of each call, joined.
func (c *Cloud) Fingerprint(ctx context.Context) error {
	var errs []error
	for _, change := range c.unmarked(ctx) {
		_, err := c.options.API.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: change.arns, Tags: toTags(change.set)})
		if err = awserr.Wrap("AddTags", err); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, arn := range change.arns {
			c.store.updateTags(arn, change.set, nil)
		}
	}
	return errors.Join(errs...)
}

// unmarked returns the tags that are missing, grouped into calls.
func (c *Cloud) unmarked(ctx context.Context) []tagChange {
	s := c.store
	s.mu.Lock()
	expected := slices.SortedFunc(maps.Values(s.expected), func(a, b expectation) int {
		return strings.Compare(serviceName(a.key), serviceName(b.key))
	})
	s.mu.Unlock()
	var calls []tagChange
	for _, e := range expected {
		have, err := s.view(ctx, e.key)
		if err != nil || have.Balancer == nil || have.Balancer.Tags == nil || have.Attributes == nil || e.targets == "" || s.state.IsUncertain(serviceName(e.key)) {
			continue
		}
		if todo, _, err := c.Diff(e.key, &e.want, have); err != nil || len(todo) > 0 {
			continue
		}
		set := map[string]string{}
		for key, value := range map[string]string{names.AppliedTag: e.applied, names.TargetsTag: e.targets} {
			if have.Balancer.Tags[key] != value {
				set[key] = value
			}
		}
		if len(set) == 0 {
			continue
		}
		i := slices.IndexFunc(calls, func(t tagChange) bool { return len(t.arns) < tagsAtOnce && maps.Equal(t.set, set) })
		if i < 0 {
			calls = append(calls, tagChange{set: set})
			i = len(calls) - 1
		}
		calls[i].arns = append(calls[i].arns, have.Balancer.ARN)
	}
	return calls
}
