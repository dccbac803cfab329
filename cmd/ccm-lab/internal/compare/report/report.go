// Package report is the result of one comparison run as data: what every column (a manager on a cloud) did in every
// scenario, with the evidence, and what every operation cost. The runner fills it; the terminal table, Markdown, JSON
// and the page are written from it alone.
package report

// Schema names the format. It changes only when a reader of the previous one would misread a report.
const Schema = "unified-ccm.io/comparison/v1"

// Report is one run. Rows are capabilities and operations, columns are managers; cells refer to columns by name.
type Report struct {
	Schema     string `json:"schema"`
	Version    string `json:"version"`    // of the program that compared
	Kubernetes string `json:"kubernetes"` // version of the API server
	// Date is the day of the run, such as 2026-11-25; empty in what another run repeats.
	Date string `json:"date,omitempty"`
	// Missing names what an interrupted run did not reach; empty for a complete one.
	Missing      []string     `json:"missing,omitempty"`
	Columns      []Column     `json:"columns"`
	Capabilities []Capability `json:"capabilities"`
	Operations   []Operation  `json:"operations"`
}

// Column is one manager on one cloud.
type Column struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Provider string `json:"provider"`
	// Kind is the kind of load balancers, of a cloud with several.
	Kind string `json:"kind,omitempty"`
	// Others are the other clouds of a cluster with several, with commas.
	Others  string `json:"others,omitempty"`
	Program string `json:"program"` // "ccm", or the name of another manager's binary
	Cloud   string `json:"cloud"`   // "simulator" or "services"
	// Observed is the day of the run that the column was taken from; empty for a column of this run.
	Observed string `json:"observed,omitempty"`
	// Error is why the column has no results, such as a simulator that did not start.
	Error string `json:"error,omitempty"`
}

// Verdict is an observation, never a declaration.
type Verdict string

// The closed set of verdicts, from best to worst; a baseline compares by this order.
const (
	Works            Verdict = "works"
	WorksDifferently Verdict = "works-differently" // by other means, or with a limit that Summary names
	NotApplicable    Verdict = "not-applicable"    // the cloud has nothing of the kind, and says so
	CreatedWithout   Verdict = "created-without"   // the load balancer lacks it, and a Warning Event names the reason
	Refuses          Verdict = "refuses"           // no object is created, and an Event names the reason
	Ignored          Verdict = "ignored"           // no effect and no message
	Failed           Verdict = "failed"            // the scenario broke: no verdict about the capability
)

// Capability is one row: one behaviour, shown by one scenario.
type Capability struct {
	ID     string `json:"id"`    // stable, such as "service.mixed-protocols"
	Group  string `json:"group"` // such as "Service", "Annotations", "Nodes", "Routes", "Lifecycle"
	Title  string `json:"title"`
	Detail string `json:"detail"` // one sentence: what was done, and what counts as working
	// Values is set if readers compare the summaries of the cells, such as a default timeout.
	Values bool `json:"values,omitempty"`
	// Periodic is set if the scenario waits for what a manager does periodically: the number of reads depends on time.
	Periodic bool            `json:"periodic,omitempty"`
	Cells    map[string]Cell `json:"cells"` // by the column's name
}

// Cell is what one column did in one scenario.
type Cell struct {
	Verdict Verdict `json:"verdict"`
	// Declared is what the provider's descriptor says, where it says anything; a contradiction fails the run.
	Declared Verdict `json:"declared,omitempty"`
	Summary  string  `json:"summary"` // one sentence for a reader who compares
	Calls    int     `json:"calls"`   // to the cloud, during the scenario
	Changes  int     `json:"changes"` // those of Calls that change something
	Seconds  float64 `json:"seconds"`
	// Leaked names cloud objects that were left when everything had been deleted; any fails the run.
	Leaked   []string  `json:"leaked,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Evidence is what a reader needs to check a verdict by hand.
type Evidence struct {
	Manifest string   `json:"manifest"` // YAML as applied
	Plan     string   `json:"plan,omitempty"`
	Checks   []Check  `json:"checks"`
	Events   []Event  `json:"events,omitempty"`
	Status   string   `json:"status,omitempty"` // of the Service or Node, YAML
	Before   []Object `json:"before,omitempty"` // cloud objects
	After    []Object `json:"after,omitempty"`
	Calls    []Call   `json:"calls,omitempty"`
}

// Check is one statement that was compared with what was observed.
type Check struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
}

// Event is a Kubernetes Event of the scenario.
type Event struct {
	Seconds float64 `json:"seconds"` // since the scenario started
	Type    string  `json:"type"`
	Reason  string  `json:"reason"`
	Object  string  `json:"object"`
	Message string  `json:"message"`
}

// Object is one object in the cloud, as its API shows it.
type Object struct {
	Kind   string            `json:"kind"`
	Name   string            `json:"name"`
	ID     string            `json:"id"`
	Fields map[string]string `json:"fields,omitempty"`
}

// Call is one request to the cloud.
type Call struct {
	Seconds   float64 `json:"seconds"` // since the scenario started
	Took      float64 `json:"took"`    // seconds
	Operation string  `json:"operation"`
	Change    bool    `json:"change"`
	Error     string  `json:"error,omitempty"`
}

// Operation is one row of costs, measured as the bench does.
type Operation struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// SharedReads is set if many Services or nodes are synced at the same time. Reads that are in flight are shared, so
	// that their number depends on timing.
	SharedReads bool            `json:"sharedReads,omitempty"`
	Costs       map[string]Cost `json:"costs"` // by the column's name
}

// Cost is what one operation took in one column.
type Cost struct {
	Calls   int     `json:"calls"`
	Changes int     `json:"changes"`
	Seconds float64 `json:"seconds"`
	// AgainCalls and AgainChanges are the cost of the same state after a restart.
	AgainCalls   int `json:"againCalls"`
	AgainChanges int `json:"againChanges"`
	// Left names what remained after an interruption in the middle and a clean deletion.
	Left []string `json:"left,omitempty"`
	// Missing is why there are no figures.
	Missing string `json:"missing,omitempty"`
}
