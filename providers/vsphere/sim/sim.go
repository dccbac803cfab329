// Package sim is a simulated vCenter: the simulator of govmomi (vcsim), which its authors wrote from the API of
// vSphere, behind the front of pkg/common/sim with faults, latency and a call log. Cloud is the world of the
// conformance suite. Machines are added to vcsim's inventory directly, with the guest information that VMware Tools
// would report, because vcsim has no guests.
package sim

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// The account of a simulated vCenter, and the categories of its tags.
const (
	User           = "ccm@vsphere.local"
	Password       = "simulated password"
	CategoryRegion = "k8s-region"
	CategoryZone   = "k8s-zone"
	// Region is the tag of the datacenter.
	Region = "region-1"
)

// allocationTime is the time until NSX-T has allocated an address.
const allocationTime = 2 * time.Second

// versionsPath is the path of the document of a vCenter's API versions, below the one of its API.
const versionsPath = "/vimServiceVersions.xml"

const (
	soapCookie = "vmware_soap_session"
	restHeader = "vmware-api-session-id"
)

// Options configure New.
type Options struct {
	// Name distinguishes vCenters: it is part of the UUIDs of machines.
	Name string
	// Latency is the latency of each call, ErrorRate the probability that one fails.
	Latency   time.Duration
	ErrorRate float64
	Seed      int64
	Clock     clock.Clock
	// Zones is the number of clusters, each with a tag; 0 means three.
	Zones int
	// LogLimit is the number of calls that the log keeps; 0 keeps all.
	LogLimit int
	// NSXT serves an NSX-T manager at the same address, for load balancers and routes.
	NSXT bool
	// Public are the addresses of public load balancers; the zero value has 254.
	Public netip.Prefix
	// Pages returns property collections in pages of pageSize objects, as a vCenter does. vcsim obeys the client.
	Pages bool
}

// Cloud is a simulated vCenter. It is safe for concurrent use.
type Cloud struct {
	options Options
	model   *simulator.Model
	mux     *http.ServeMux
	front   *sim.Front
	// nsx is nil without NSX-T.
	nsx *nsxt.Manager

	// inventory is locked by changes of virtual machines, and for reading by calls: the property collector of vcsim reads
	// objects without their own locks. It is locked before mu.
	inventory sync.RWMutex

	mu       sync.Mutex
	password string
	// launched counts machines.
	launched int
	machines map[string]*machine
	// restID is the session of the simulator's own calls. sessions are those of clients, with false if they have ended.
	restID   string
	sessions map[session]bool
}

// machine is a virtual machine with its node.
type machine struct {
	vm   *simulator.VirtualMachine
	zone string
	// address is the address of its guest.
	address string
}

// creation serializes createModel.
var creation sync.Mutex

// createModel fills a model. One at a time: each creation appends to simulator.EvalLicense, a variable of the package.
func createModel(model *simulator.Model) error {
	creation.Lock()
	defer creation.Unlock()
	return model.Create()
}

// New starts a vCenter with one datacenter and one cluster with one host for each zone.
func New(o Options) (*Cloud, error) {
	if o.Zones == 0 {
		o.Zones = 3
	}
	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.ClusterHost, model.Host = 1, o.Zones, 1, 0
	model.Machine, model.Portgroup, model.Datastore, model.Autostart = 0, 0, 0, false
	if err := createModel(model); err != nil {
		return nil, fmt.Errorf("create the simulated inventory: %w", err)
	}
	c := &Cloud{
		options: o, model: model, password: Password, machines: map[string]*machine{}, sessions: map[session]bool{},
	}
	if o.Pages {
		model.Map().Put(&pagingCollector{PropertyCollector: simulator.PropertyCollector{
			PropertyCollector: mo.PropertyCollector{Self: collectorRef()}}})
	}
	if o.NSXT {
		c.nsx = nsxt.New(nsxt.Options{Clock: o.Clock, AllocationTime: allocationTime, Public: o.Public})
	}
	c.serve()
	return c, c.tagZones()
}

// serve registers the handlers of vcsim without a listener.
func (c *Cloud) serve() {
	service, registry := c.model.Service, c.model.Map()
	// It is of an API version after the one that vcsim reports. Clients that read the version do not know it.
	registry.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.TenantManager = nil
	service.Listen = &url.URL{
		Scheme: "https", Host: "vcenter.invalid", Path: registry.Path, User: url.UserPassword(User, Password),
	}
	registry.SessionManager().ValidLogin = func(login *types.Login) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return login.UserName == User && login.Password == c.password
	}
	c.mux = http.NewServeMux()
	service.RegisterSDK(registry, registry.Path+"/vimService")
	c.mux.HandleFunc(registry.Path, service.ServeSDK)
	c.mux.HandleFunc(registry.Path+"/vimService", service.ServeSDK)
	// Clients choose the version of the API by it before they log in.
	c.mux.HandleFunc(registry.Path+versionsPath, service.ServiceVersions)
	patterns, handler := vapi.New(service.Listen, registry)
	for _, p := range patterns {
		c.mux.Handle(p, handler)
	}
	c.front = sim.NewFront(sim.FrontOptions{
		Handler: c, Describe: describe, Dialect: dialect(), Clock: c.options.Clock, Latency: c.options.Latency,
		Seed: c.options.Seed, ErrorRate: c.options.ErrorRate, LogLimit: c.options.LogLimit,
	})
}

// Front returns the front of the vCenter.
func (c *Cloud) Front() *sim.Front { return c.front }

// TLS returns the configuration to serve the vCenter with: a certificate of the package httptest.
func (c *Cloud) TLS() *tls.Config {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.StartTLS()
	defer server.Close()
	return &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12}
}

// Close removes the files of the simulator.
func (c *Cloud) Close() error {
	c.model.Remove()
	return nil
}

// describe returns the operation of a request. Its name is the method of SOAP, which is the first element of the body,
// or the resource and the action of REST.
func describe(r *http.Request) sim.Operation {
	if path, ok := strings.CutPrefix(r.URL.Path, nsxt.Prefix+"/"); ok {
		name := r.Method + " " + nsxt.Collection(path)
		return sim.Operation{Service: "nsxt", Name: name, Mutating: r.Method != http.MethodGet}
	}
	if strings.HasPrefix(r.URL.Path, "/rest/") {
		name := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/rest/com/vmware/cis/")
		name, _, _ = strings.Cut(name, "/id:")
		if action := r.URL.Query().Get("~action"); action != "" {
			name += " " + action
		}
		return sim.Operation{Service: "rest", Name: name}
	}
	if strings.HasSuffix(r.URL.Path, versionsPath) {
		return sim.Operation{Service: "vim", Name: r.Method + " " + strings.TrimPrefix(versionsPath, "/")}
	}
	return sim.Operation{Service: "vim", Name: soapMethod(r)}
}

func soapMethod(r *http.Request) string {
	body, err := r.GetBody()
	if err != nil {
		return "unknown"
	}
	defer func() { _ = body.Close() }()
	inBody := false
	for d := xml.NewDecoder(body); ; {
		token, err := d.Token()
		if err != nil {
			return "unknown"
		}
		start, ok := token.(xml.StartElement)
		switch {
		case ok && inBody:
			return start.Name.Local
		case ok && start.Name.Local == "Body":
			inBody = true
		}
	}
}

// dialect returns the format of the front's errors: they are errors of a vCenter's proxy.
func dialect() sim.Dialect {
	unavailable := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "503 Service Unavailable")
	}
	return sim.Dialect{Error: unavailable, Throttled: unavailable}
}

// rest makes a call of the REST API that does not appear in the log, and decodes the value of its response into out.
func (c *Cloud) rest(method, path string, body, out any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r := httptest.NewRequestWithContext(context.Background(), method, "/rest/com/vmware/cis/"+path,
		bytes.NewReader(content))
	r.SetBasicAuth(User, c.password)
	r.Header.Set(restHeader, c.restID)
	w := httptest.NewRecorder()
	c.mux.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, path, w.Code, w.Body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(w.Body.Bytes(), &struct {
		Value any `json:"value"`
	}{out})
}

// tagZones creates the categories, a tag for the datacenter, and one for each cluster.
func (c *Cloud) tagZones() error {
	if err := c.rest(http.MethodPost, "session", nil, &c.restID); err != nil {
		return err
	}
	for _, category := range []string{CategoryRegion, CategoryZone} {
		if err := c.rest(http.MethodPost, "tagging/category", map[string]any{"create_spec": map[string]any{
			"name": category, "cardinality": "SINGLE", "associable_types": []string{}}}, nil); err != nil {
			return err
		}
	}
	registry := c.model.Map()
	errs := []error{c.Attach(CategoryRegion, Region, registry.Any("Datacenter").Reference())}
	for i, cluster := range c.clusters() {
		errs = append(errs, c.Attach(CategoryZone, zoneName(i), cluster.Reference()))
	}
	return errors.Join(errs...)
}

func zoneName(cluster int) string { return fmt.Sprintf("zone-%d", cluster+1) }

// clusters returns the clusters in the order of their numbers.
func (c *Cloud) clusters() []mo.Entity {
	registry := c.model.Map()
	var out []mo.Entity
	for i := range c.options.Zones {
		name := fmt.Sprintf("DC0_C%d", i)
		for _, cluster := range registry.All("ClusterComputeResource") {
			if cluster.Entity().Name == name {
				out = append(out, cluster)
			}
		}
	}
	return out
}

// Attach attaches a tag of a category to an object, and creates the tag if necessary.
func (c *Cloud) Attach(category, tag string, object types.ManagedObjectReference) error {
	categoryID, err := c.findID("tagging/category", category, "")
	if err != nil {
		return err
	}
	tagID, err := c.findID("tagging/tag", tag, categoryID)
	if err != nil {
		if err := c.rest(http.MethodPost, "tagging/tag", map[string]any{"create_spec": map[string]any{
			"name": tag, "category_id": categoryID}}, &tagID); err != nil {
			return err
		}
	}
	return c.rest(http.MethodPost, "tagging/tag-association/id:"+tagID+"?~action=attach", map[string]any{
		"object_id": map[string]string{"type": object.Type, "id": object.Value}}, nil)
}

// findID returns the ID of the category or tag with a name.
func (c *Cloud) findID(path, name, categoryID string) (string, error) {
	var ids []string
	if err := c.rest(http.MethodGet, path, nil, &ids); err != nil {
		return "", err
	}
	for _, id := range ids {
		var object struct {
			Name       string `json:"name"`
			CategoryID string `json:"category_id"`
		}
		if err := c.rest(http.MethodGet, path+"/id:"+id, nil, &object); err != nil {
			return "", err
		}
		if object.Name == name && object.CategoryID == categoryID {
			return id, nil
		}
	}
	return "", fmt.Errorf("%s has no %q", path, name)
}

// Detach removes all tags from an object.
func (c *Cloud) Detach(object types.ManagedObjectReference) error {
	var ids []string
	ref := map[string]any{"object_id": map[string]string{"type": object.Type, "id": object.Value}}
	if err := c.rest(http.MethodPost, "tagging/tag-association?~action=list-attached-tags", ref, &ids); err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.rest(http.MethodPost, "tagging/tag-association/id:"+id+"?~action=detach", ref, nil); err != nil {
			return err
		}
	}
	return nil
}

// SetPassword changes the password of the account. Sessions stay.
func (c *Cloud) SetPassword(password string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.password = password
}

// EndSessions ends the sessions of the SOAP API, as a restart of the vCenter or its idle timeout does.
func (c *Cloud) EndSessions() { c.endSessions(soapCookie) }

// EndRESTSessions ends the sessions of the REST API.
func (c *Cloud) EndRESTSessions() { c.endSessions(restHeader) }

func (c *Cloud) endSessions(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.sessions {
		if s.kind == kind {
			c.sessions[s] = false
		}
	}
}

// session identifies a session of a client: kind is soapCookie or restHeader.
type session struct{ kind, id string }

// isKnown reports whether a client has used a session, ended or not.
func (c *Cloud) isKnown(s session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.sessions[s]
	return known
}

// useSession records the use of a session, and reports whether it is valid.
func (c *Cloud) useSession(s session) (valid bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if valid, known := c.sessions[s]; known {
		return valid
	}
	c.sessions[s] = true
	return true
}

// ServeHTTP implements http.Handler, behind the front. It removes a session that has ended from the request.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(soapCookie); err == nil && !c.useSession(session{soapCookie, cookie.Value}) {
		r.Header.Del("Cookie")
	}
	if c.nsx != nil && strings.HasPrefix(r.URL.Path, nsxt.Prefix+"/") {
		c.nsx.ServeHTTP(w, r)
		return
	}
	switch id := r.Header.Get(restHeader); {
	case id == "":
	case c.isKnown(session{soapCookie, id}):
		// A vCenter accepts a session of the SOAP API here too; vcsim does not.
		r.Header.Del(restHeader)
		if c.useSession(session{soapCookie, id}) {
			r.Header.Set(restHeader, c.restID)
		}
	case !c.useSession(session{restHeader, id}):
		r.Header.Del(restHeader)
	}
	if !strings.HasPrefix(describe(r).Name, "WaitFor") { // WaitForUpdates waits for a change of the inventory.
		c.inventory.RLock()
		defer c.inventory.RUnlock()
	}
	c.mux.ServeHTTP(w, r)
}
