package plan

import (
	"encoding/json"
	"io"
)

// DocumentVersion is the version of Document. It changes when a field is removed or changes its meaning; new
// fields may be added without a new version.
const DocumentVersion = "1"

// Document is the output of RenderJSON, for scripts. Lists are never null.
type Document struct {
	Version string `json:"version"`
	// Provider is the name of the cloud: with several, each has a document.
	Provider string         `json:"provider"`
	Plans    []DocumentPlan `json:"plans"`
	// Failures has the reason of each plan that could not be made: the document is then incomplete.
	Failures []string `json:"failures"`
	// Summary has the totals of all plans.
	Summary DocumentSummary `json:"summary"`
}

// DocumentPlan is one plan: its subject ("Service default/web"), and its changes in an order in which they
// can be made.
type DocumentPlan struct {
	Subject string           `json:"subject"`
	Changes []DocumentChange `json:"changes"`
	// Held are further changes that are not applied, HeldID the ID with which an annotation approves them.
	Held     []DocumentChange `json:"held,omitempty"`
	HeldID   string           `json:"heldID,omitempty"`
	Warnings []string         `json:"warnings"`
}

// DocumentChange is one change.
type DocumentChange struct {
	Ref
	// Fields are the differences; before is empty in a creation, after is empty in a deletion.
	Fields []Field `json:"fields"`
	Reason string  `json:"reason,omitempty"`
	// After are the changes of this plan that must be done first.
	After []Ref `json:"after"`
	// Membership is set if the change only affects which nodes receive traffic.
	Membership bool `json:"membership"`
	// Disrupts is the effect on clients, and Because the edited fields of the Service that are its cause.
	Disrupts Disruption `json:"disrupts,omitempty"`
	Because  []string   `json:"because,omitempty"`
	// Held is the reason why the change is not applied.
	Held string `json:"held,omitempty"`
}

// DocumentSummary counts changes by action, and the plans that have any.
type DocumentSummary struct {
	Create   int `json:"create"`
	Update   int `json:"update"`
	Delete   int `json:"delete"`
	Held     int `json:"held"`
	Subjects int `json:"subjects"`
	Changed  int `json:"changed"`
	// Failed counts the plans that could not be made.
	Failed int `json:"failed"`
}

// RenderJSON writes the plans of a provider, and the reasons of those that could not be made, as one Document. Plans
// that cannot be ordered are an error.
func RenderJSON(w io.Writer, provider string, failures []string, plans ...Plan) error {
	d := Document{Version: DocumentVersion, Provider: provider, Plans: make([]DocumentPlan, 0, len(plans)),
		Failures: append([]string{}, failures...), Summary: DocumentSummary{Failed: len(failures)}}
	for _, p := range plans {
		sorted, err := p.Sorted()
		if err != nil {
			return err
		}
		n := p.Count()
		d.Summary.Create += n[Create]
		d.Summary.Update += n[Update]
		d.Summary.Delete += n[Delete]
		d.Summary.Held += len(p.Held)
		d.Summary.Subjects++
		if !p.Empty() {
			d.Summary.Changed++
		}
		d.Plans = append(d.Plans, documentPlan(sorted))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

func documentPlan(p Plan) DocumentPlan {
	d := DocumentPlan{Subject: p.Subject, HeldID: p.HeldID, Changes: make([]DocumentChange, len(p.Changes)),
		Warnings: append([]string{}, p.Warnings...)}
	for i, c := range p.Changes {
		d.Changes[i] = documentChange(c)
	}
	for _, h := range p.Held {
		change := documentChange(h.Change)
		change.Held = h.Reason
		d.Held = append(d.Held, change)
	}
	return d
}

func documentChange(c Change) DocumentChange {
	return DocumentChange{
		Ref:        c.Ref,
		Fields:     append([]Field{}, c.Fields...),
		Reason:     c.Reason,
		After:      append([]Ref{}, c.After...),
		Membership: c.Membership,
		Disrupts:   c.Disrupts,
		Because:    c.Because,
	}
}
