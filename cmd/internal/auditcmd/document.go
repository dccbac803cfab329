package auditcmd

import (
	"encoding/json"
	"io"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
)

// DocumentVersion is the version of Document. It changes when a field is removed or changes its meaning; new fields may
// be added without a new version.
const DocumentVersion = "1"

// Document is the output for scripts. Lists are never null.
type Document struct {
	Version  string          `json:"version"`
	Provider string          `json:"provider"`
	Cluster  DocumentCluster `json:"cluster"`
	// Kinds are all kinds of the cloud. Of a kind that is not listed, objects may be missing.
	Kinds   []DocumentKind   `json:"kinds"`
	Objects []DocumentObject `json:"objects"`
	// Deletions are the outcomes of all orphans with --delete-orphans.
	Deletions []DocumentDeletion `json:"deletions"`
	// Summary has the number of objects in each state. Deleted objects are counted as they were before.
	Summary map[inventory.State]int `json:"summary"`
	// Failures are what could not be listed or compared.
	Failures []string `json:"failures"`
}

// DocumentCluster identifies this cluster.
type DocumentCluster struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// DocumentKind is a kind of objects.
type DocumentKind struct {
	Kind   string `json:"kind"`
	Listed bool   `json:"listed"`
	Error  string `json:"error,omitempty"`
}

// DocumentObject is an object in the cloud, or one that is missing.
type DocumentObject struct {
	Kind    string            `json:"kind"`
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	State   inventory.State   `json:"state"`
	Reason  string            `json:"reason,omitempty"`
	Refusal string            `json:"refusal,omitempty"`
	Service string            `json:"service,omitempty"`
	Parent  string            `json:"parent,omitempty"`
	Mark    inventory.Mark    `json:"mark"`
	Created *time.Time        `json:"created,omitempty"`
	Fields  []inventory.Field `json:"fields"`
}

// DocumentDeletion is the outcome of an orphan: deleted, refused, failed or not tried.
type DocumentDeletion struct {
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Service string          `json:"service,omitempty"`
	Outcome orphans.Outcome `json:"outcome"`
	Reason  string          `json:"reason,omitempty"`
}

func (c *command) printJSON(w io.Writer, deletions []orphans.Deletion) error {
	d := Document{
		Version: DocumentVersion, Provider: c.options.Provider,
		Cluster:   DocumentCluster{c.session.ClusterName, c.session.ClusterUID},
		Kinds:     make([]DocumentKind, 0, len(c.Inventory.Kinds)),
		Objects:   make([]DocumentObject, 0, len(c.Report.Entries)),
		Deletions: make([]DocumentDeletion, 0, len(deletions)),
		Summary:   map[inventory.State]int{},
		Failures:  append([]string{}, c.Failures...),
	}
	for _, k := range c.Inventory.Kinds {
		kind := DocumentKind{Kind: k.Name, Listed: k.Err == nil}
		if k.Err != nil {
			kind.Error = cloudapi.OneLine(k.Err)
		}
		d.Kinds = append(d.Kinds, kind)
	}
	for _, state := range inventory.States() {
		if state != inventory.Owned {
			d.Summary[state] = 0
		}
	}
	for state, n := range c.Report.Count() {
		d.Summary[state] = n
	}
	for _, e := range c.Report.Entries {
		d.Objects = append(d.Objects, documentObject(e))
	}
	for _, x := range deletions {
		d.Deletions = append(d.Deletions, DocumentDeletion{x.Kind, x.ID, x.Name, x.Service(),
			x.Outcome, x.Detail})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

func documentObject(e inventory.Entry) DocumentObject {
	object := DocumentObject{Kind: e.Kind, ID: e.ID, Name: e.Name, State: e.State, Reason: e.Reason, Refusal: e.Refusal,
		Service: e.Service(), Parent: e.Parent, Mark: e.Mark, Fields: append([]inventory.Field{}, e.Fields...)}
	if !e.Created.IsZero() {
		object.Created = &e.Created
	}
	return object
}
