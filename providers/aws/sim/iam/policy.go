package iam

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Policy is an identity-based policy: the caller is not part of it.
type Policy struct{ statements []statement }

// Version is the only supported version of the policy language.
const Version = "2012-10-17"

type statement struct {
	sid       string
	deny      bool
	actions   []string
	resources []string
	// notActions and notResources invert the match of actions and resources.
	notActions, notResources bool
	conditions               []condition
}

// Request is one action on one resource.
type Request struct {
	// Action is an action of IAM, such as ec2:CreateTags.
	Action string
	// Resource is an ARN, or * for actions that are about no resource in particular.
	Resource string
	// Context are the condition keys that the request has, by name, such as aws:ResourceTag/team. Names of keys
	// are compared without regard to case. Keys with several values have all of them.
	Context map[string][]string
}

// Decision is the result of a policy for a request.
type Decision struct {
	Allowed bool
	// Explicit reports that a statement denied, rather than that none allowed; Sid is the ID of the deciding
	// statement, if any.
	Explicit bool
	Sid      string
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *list) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*l = list{text}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

type document struct {
	Version   string
	ID        string `json:"Id"`
	Statement []struct {
		Sid         string
		Effect      string
		Action      list
		NotAction   list
		Resource    list
		NotResource list
		Condition   map[string]map[string]list
	}
}

// Parse reads a policy document. An unsupported element or operator is an error: a partly evaluated
// policy would allow or deny the wrong requests.
func Parse(text []byte) (Policy, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var d document
	if err := decoder.Decode(&d); err != nil {
		return Policy{}, fmt.Errorf("policy document: %w", err)
	}
	if d.Version != Version {
		return Policy{}, fmt.Errorf("policy document: version %q, want %q", d.Version, Version)
	}
	var p Policy
	var problems []error
	for n, s := range d.Statement {
		name := cmp.Or(s.Sid, fmt.Sprintf("number %d", n+1))
		out := statement{sid: s.Sid, deny: s.Effect == "Deny", actions: s.Action, resources: s.Resource}
		if s.Effect != "Allow" && s.Effect != "Deny" {
			problems = append(problems, fmt.Errorf("statement %s: effect %q is neither Allow nor Deny", name, s.Effect))
		}
		if (len(s.Action) == 0) == (len(s.NotAction) == 0) || (len(s.Resource) == 0) == (len(s.NotResource) == 0) {
			problems = append(problems, fmt.Errorf("statement %s: needs Action or NotAction, and Resource or NotResource", name))
		}
		if len(s.NotAction) > 0 {
			out.actions, out.notActions = s.NotAction, true
		}
		if len(s.NotResource) > 0 {
			out.resources, out.notResources = s.NotResource, true
		}
		conditions, err := parseConditions(s.Condition)
		if err != nil {
			problems = append(problems, fmt.Errorf("statement %s: %w", name, err))
		}
		out.conditions = conditions
		p.statements = append(p.statements, out)
	}
	return p, errors.Join(problems...)
}

// Decide allows a request that at least one statement allows and none denies.
func (p Policy) Decide(r Request) Decision {
	var d Decision
	for _, s := range p.statements {
		if !s.matches(r) {
			continue
		}
		if s.deny {
			return Decision{Explicit: true, Sid: s.sid}
		}
		if !d.Allowed {
			d = Decision{Allowed: true, Sid: s.sid}
		}
	}
	return d
}

// Element is one action or one resource of a statement.
type Element struct{ Sid, Pattern string }

// Elements returns the actions and resources of all statements that allow, sorted.
func (p Policy) Elements() []Element {
	var out []Element
	for _, s := range p.statements {
		if s.deny || s.notActions || s.notResources {
			continue
		}
		for _, pattern := range slices.Concat(s.actions, s.resources) {
			out = append(out, Element{s.sid, pattern})
		}
	}
	slices.SortFunc(out, compareElements)
	return slices.Compact(out)
}

// compareElements orders elements by statement and pattern.
func compareElements(a, b Element) int {
	return cmp.Or(strings.Compare(a.Sid, b.Sid), strings.Compare(a.Pattern, b.Pattern))
}

// Required returns the elements that the policy needs to allow a request: without any one of them it would deny it. It
// returns none if several statements allow the request.
func (p Policy) Required(r Request) []Element {
	if !p.Decide(r).Allowed {
		return nil
	}
	var allowing []statement
	for _, s := range p.statements {
		if !s.deny && s.matches(r) {
			allowing = append(allowing, s)
		}
	}
	if s := allowing[0]; len(allowing) == 1 && !s.notActions && !s.notResources {
		return slices.Concat(s.soleMatch(s.actions, r.MatchesAction), s.soleMatch(s.resources, r.matchesResource))
	}
	return nil
}

// soleMatch returns the pattern that matches, none if several match.
func (s statement) soleMatch(patterns []string, matches func(string) bool) []Element {
	var out []Element
	for _, pattern := range patterns {
		if matches(pattern) {
			out = append(out, Element{s.sid, pattern})
		}
	}
	if len(out) > 1 {
		return nil
	}
	return out
}

// Actions returns the patterns of actions that statements allow, sorted, each once.
func (p Policy) Actions() []string {
	var out []string
	for _, s := range p.statements {
		if !s.deny && !s.notActions {
			out = append(out, s.actions...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MatchesAction reports whether a pattern matches the action, in any case.
func (r Request) MatchesAction(pattern string) bool {
	return Match(strings.ToLower(pattern), strings.ToLower(r.Action))
}

func (r Request) matchesResource(pattern string) bool { return Match(pattern, r.Resource) }

func (s statement) matches(r Request) bool {
	action := slices.ContainsFunc(s.actions, r.MatchesAction)
	resource := slices.ContainsFunc(s.resources, r.matchesResource)
	if action == s.notActions || resource == s.notResources {
		return false
	}
	return !slices.ContainsFunc(s.conditions, func(c condition) bool { return !c.holds(r.Context) })
}
