package client

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// The methods of the property collector.
const (
	methodRetrieve = "RetrievePropertiesEx"
	methodContinue = "ContinueRetrievePropertiesEx"
	methodCancel   = "CancelRetrievePropertiesEx"

	// cancelTimeout bounds the end of an abandoned collection.
	cancelTimeout = 5 * time.Second
)

// The paths of the properties of virtual machines.
const (
	pathName        = "name"
	pathParent      = "parent"
	pathVApp        = "parentVApp"
	pathPool        = "resourcePool"
	pathHost        = "runtime.host"
	pathPower       = "runtime.powerState"
	pathConnection  = "runtime.connectionState"
	pathUUID        = "summary.config.uuid"
	pathTemplate    = "summary.config.template"
	pathCPUs        = "summary.config.numCpu"
	pathMemory      = "summary.config.memorySizeMB"
	pathGuestID     = "summary.config.guestId"
	pathHostName    = "guest.hostName"
	pathNICs        = "guest.net"
	pathMetadata    = `config.extraConfig["guestinfo.metadata"]`
	pathMetadataEnc = `config.extraConfig["guestinfo.metadata.encoding"]`
)

func machinePaths() []string {
	return []string{
		pathName, pathParent, pathVApp, pathPool, pathHost, pathPower, pathConnection, pathUUID, pathTemplate, pathCPUs,
		pathMemory, pathGuestID, pathHostName, pathNICs, pathMetadata, pathMetadataEnc,
	}
}

// containerTypes returns the types of objects that contain virtual machines, hosts or resource pools.
func containerTypes() []string {
	return []string{api.TypeFolder, api.TypeDatacenter, "ComputeResource", "HostSystem", "ResourcePool"}
}

// traversals returns the steps from the root folder to every virtual machine, host and resource pool: the type of an
// object, the property with its children, and the steps that follow. VirtualApp is a ResourcePool, and
// ClusterComputeResource a ComputeResource.
func traversals() []traversal {
	return []traversal{
		{"folder", api.TypeFolder, "childEntity",
			[]string{"folder", "machines", "hosts", "clusterHosts", "pool", "vApps"}},
		{"machines", api.TypeDatacenter, "vmFolder", []string{"folder"}},
		{"hosts", api.TypeDatacenter, "hostFolder", []string{"folder"}},
		{"clusterHosts", "ComputeResource", "host", nil},
		{"pool", "ComputeResource", "resourcePool", []string{"pools", "vApps"}},
		// A vApp in another one is in no folder: only the resource pools lead to it.
		{"pools", "ResourcePool", "resourcePool", []string{"pools", "vApps"}},
		{"vApps", "VirtualApp", "vm", nil},
	}
}

// ancestry returns the steps from a virtual machine to the objects above it: its host, its resource pool, its folder or
// vApp, and everything above one of these.
func ancestry() []traversal {
	above := []string{"parent"}
	return []traversal{
		{"host", api.TypeMachine, pathHost, above}, {"pool", api.TypeMachine, pathPool, above},
		{"folder", api.TypeMachine, pathParent, above}, {"vApp", api.TypeMachine, pathVApp, above},
		{"parent", "ManagedEntity", pathParent, above},
	}
}

type traversal struct {
	name, kind, path string
	next             []string
}

func (t traversal) encode() string {
	var next strings.Builder
	for _, name := range t.next {
		next.WriteString("<selectSet>" + element("name", "", name) + "</selectSet>")
	}
	return `<selectSet xsi:type="TraversalSpec">` + element("name", "", t.name) + element("type", "", t.kind) +
		element("path", "", t.path) + "<skip>false</skip>" + next.String() + "</selectSet>"
}

func propertySet(kind string, paths ...string) string {
	var b strings.Builder
	b.WriteString("<propSet>" + element("type", "", kind))
	for _, path := range paths {
		b.WriteString(element("pathSet", "", path))
	}
	return b.String() + "</propSet>"
}

// containerSets select the properties of the objects that contain virtual machines.
func containerSets() string {
	sets := ""
	for _, kind := range containerTypes() {
		sets += propertySet(kind, pathName, pathParent)
	}
	return sets
}

// objectSet selects an object and those that traversals lead to.
func objectSet(ref api.Ref, traversals []traversal) string {
	var b strings.Builder
	b.WriteString("<objectSet>" + refElement("obj", ref) + "<skip>false</skip>")
	for _, t := range traversals {
		b.WriteString(t.encode())
	}
	return b.String() + "</objectSet>"
}

// specification is the parameter of a property collection.
func specification(sets string, objectSets []string) string {
	return "<specSet>" + sets + strings.Join(objectSets, "") + "</specSet><options></options>"
}

// existing is a specification that omits objects that do not exist.
func existing(sets string, objectSets []string) string {
	const report = "<reportMissingObjectsInResults>true</reportMissingObjectsInResults>"
	return specification(sets, append(objectSets, report))
}

// forEach returns the object sets of references.
func forEach(refs []api.Ref, traversals []traversal) []string {
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = objectSet(ref, traversals)
	}
	return out
}

// Identity implements api.VCenter.
func (c *Client) Identity(ctx context.Context) (string, error) {
	const method = "RetrieveServiceContent"
	return read(ctx, c, api.ServiceInventory, method, func(_ context.Context, s *session) (string, error) {
		return s.content.About.InstanceUUID, nil
	})
}

// Collect implements api.VCenter.
func (c *Client) Collect(ctx context.Context, below []api.Ref) (api.Inventory, error) {
	ctx = context.WithValue(ctx, patientKey{}, true)
	return c.collect(ctx, func(s *session) string {
		if len(below) == 0 {
			below = []api.Ref{s.content.RootFolder.ref()}
		}
		sets := propertySet(api.TypeMachine, machinePaths()...) + containerSets()
		return specification(sets, forEach(below, traversals()))
	})
}

// Datacenters implements api.VCenter.
func (c *Client) Datacenters(ctx context.Context) (api.Inventory, error) {
	return c.collect(ctx, func(s *session) string {
		sets := propertySet(api.TypeFolder, pathName, pathParent) + propertySet(api.TypeDatacenter, pathName, pathParent)
		return specification(sets, []string{objectSet(s.content.RootFolder.ref(),
			[]traversal{{"folder", api.TypeFolder, "childEntity", []string{"folder"}}})})
	})
}

// Read implements api.VCenter.
func (c *Client) Read(ctx context.Context, refs []api.Ref, above bool) (api.Inventory, error) {
	return c.collect(ctx, func(*session) string {
		sets := propertySet(api.TypeMachine, machinePaths()...)
		if above {
			return existing(sets+containerSets(), forEach(refs, ancestry()))
		}
		return existing(sets, forEach(refs, nil))
	})
}

// Ancestors implements api.VCenter.
func (c *Client) Ancestors(ctx context.Context, refs []api.Ref) (map[api.Ref]api.Entity, error) {
	inventory, err := c.collect(ctx, func(*session) string {
		return existing(containerSets(), forEach(refs, []traversal{{"parent", "ManagedEntity", pathParent,
			[]string{"parent"}}}))
	})
	return inventory.Entities, err
}

// collect makes a property collection of the inventory. Its calls wait one by one: a collection with many pages takes
// longer than any of them.
func (c *Client) collect(ctx context.Context, spec func(*session) string) (api.Inventory, error) {
	var inventory api.Inventory
	err := c.retrieve(ctx, spec, func(s *session) {
		inventory = api.Inventory{VCenter: s.content.About.InstanceUUID, Entities: map[api.Ref]api.Entity{}}
	}, func(o object) error {
		ref := o.Ref.ref()
		if ref.Type == api.TypeMachine {
			m, err := o.machine()
			inventory.Machines = append(inventory.Machines, m)
			return err
		}
		p := o.properties()
		inventory.Entities[ref] = api.Entity{Ref: ref, Name: p[pathName].Text, Parent: p[pathParent].reference()}
		return nil
	})
	if faultKind(err) == faultNotFound {
		// An object was deleted during the collection. The error must not read as the absence of a machine.
		err = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: methodRetrieve, Err: err}
	}
	return inventory, err
}

// ReadMachines implements api.VCenter.
func (c *Client) ReadMachines(ctx context.Context, refs []api.Ref) ([]api.Machine, error) {
	var machines []api.Machine
	err := c.retrieve(ctx, func(*session) string {
		return specification(propertySet(api.TypeMachine, machinePaths()...), forEach(refs, nil))
	}, func(*session) { machines = nil }, func(o object) error {
		m, err := o.machine()
		machines = append(machines, m)
		return err
	})
	return machines, err
}

// FindByUUID implements api.VCenter.
func (c *Client) FindByUUID(ctx context.Context, uuid string) ([]api.Ref, error) {
	return c.search(ctx, "FindAllByUuid", element("uuid", "", uuid), "<vmSearch>true</vmSearch>",
		"<instanceUuid>false</instanceUuid>")
}

// FindByName implements api.VCenter.
func (c *Client) FindByName(ctx context.Context, name string) ([]api.Ref, error) {
	return c.search(ctx, "FindAllByDnsName", element("dnsName", "", name), "<vmSearch>true</vmSearch>")
}

// FindByAddress implements api.VCenter.
func (c *Client) FindByAddress(ctx context.Context, address string) ([]api.Ref, error) {
	return c.search(ctx, "FindAllByIp", element("ip", "", address), "<vmSearch>true</vmSearch>")
}

// search makes a call of the search index.
func (c *Client) search(ctx context.Context, method string, parameters ...string) ([]api.Ref, error) {
	return read(ctx, c, api.ServiceInventory, method, func(ctx context.Context, s *session) ([]api.Ref, error) {
		var out struct {
			Found []soapRef `xml:"returnval"`
		}
		err := c.soap(ctx, s, method, operation(method, s.content.SearchIndex.ref(), parameters...), &out)
		var refs []api.Ref
		for _, r := range out.Found {
			refs = append(refs, r.ref())
		}
		return refs, err
	})
}

// page is one response of a property collection.
type page struct {
	Result struct {
		Token   string   `xml:"token"`
		Objects []object `xml:"objects"`
	} `xml:"returnval"`

	session *session
}

// errCollectionEnded means that a session has ended during a property collection, which has to start again.
var errCollectionEnded = errors.New("the session ended during the property collection")

// retrieve makes a property collection with all its pages, and passes each object to add. It calls begin before the
// first object, and again if it has to start again.
func (c *Client) retrieve(ctx context.Context, spec func(*session) string, begin func(*session),
	add func(object) error,
) error {
	const starts = 2
	var err error
	for range starts {
		if err = c.retrievePages(ctx, spec, begin, add); !errors.Is(err, errCollectionEnded) {
			return err
		}
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: methodContinue, Err: err}
}

func (c *Client) retrievePages(ctx context.Context, spec func(*session) string, begin func(*session),
	add func(object) error,
) error {
	p, err := read(ctx, c, api.ServiceInventory, methodRetrieve, func(ctx context.Context, s *session) (page, error) {
		return c.retrievePage(ctx, s, methodRetrieve, spec(s))
	})
	if err != nil {
		return err
	}
	begin(p.session)
	for {
		for _, o := range p.Result.Objects {
			if err := add(o); err != nil {
				c.cancelCollection(ctx, p)
				return err
			}
		}
		if p.Result.Token == "" {
			return nil
		}
		last := p
		p, err = read(ctx, c, api.ServiceInventory, methodContinue, func(ctx context.Context, s *session) (page, error) {
			if s != last.session {
				return page{}, errCollectionEnded // A token is valid in its session.
			}
			next, err := c.retrievePage(ctx, s, methodContinue, element("token", "", last.Result.Token))
			if faultKind(err) == faultNotFound {
				// The collection has ended with its session; no object is missing.
				err = &faultError{kind: faultNotAuthenticated, text: "the property collection has ended"}
			}
			return next, err
		})
		if err != nil {
			if !errors.Is(err, errCollectionEnded) {
				c.cancelCollection(ctx, last)
			}
			return err
		}
	}
}

// retrievePage makes one call of a property collection.
func (c *Client) retrievePage(ctx context.Context, s *session, method, parameters string) (page, error) {
	p := page{session: s}
	err := c.soap(ctx, s, method, operation(method, s.content.PropertyCollector.ref(), parameters), &p)
	for _, o := range p.Result.Objects {
		err = errors.Join(err, o.lostSession())
	}
	return p, err
}

// cancelCollection ends a collection that nobody waits for: a vCenter keeps its further pages, and the collections of
// a session are limited. It does so after the end of ctx too, and fails if the session or the collection has ended.
func (c *Client) cancelCollection(ctx context.Context, last page) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	var out struct{}
	_ = c.soap(ctx, last.session, methodCancel, operation(methodCancel, last.session.content.PropertyCollector.ref(),
		element("token", "", last.Result.Token)), &out)
}

// object is an object with the requested properties, and the reasons why others are missing.
type object struct {
	Ref     soapRef `xml:"obj"`
	PropSet []struct {
		Name  string `xml:"name"`
		Value value  `xml:"val"`
	} `xml:"propSet"`
	Missing []struct {
		Path  string `xml:"path"`
		Fault struct {
			Fault typedElement `xml:"fault"`
		} `xml:"fault"`
	} `xml:"missingSet"`
}

// value is the value of a property. One of its fields is set.
type value struct {
	Attributes []xml.Attr `xml:",any,attr"`
	Text       string     `xml:",chardata"`
	NICs       []struct {
		Network   string   `xml:"network"`
		Addresses []string `xml:"ipAddress"`
		Device    int      `xml:"deviceConfigId"`
	} `xml:"GuestNicInfo"`
	// Option is the value of an OptionValue.
	Option string `xml:"value"`
}

// reference returns the reference in a value; its zero value without one.
func (v value) reference() api.Ref {
	for _, a := range v.Attributes {
		if a.Name.Local == "type" && a.Name.Space == "" {
			return api.Ref{Type: a.Value, Value: strings.TrimSpace(v.Text)}
		}
	}
	return api.Ref{}
}

// lostSession returns an error if a session that has ended is the reason why a property is missing.
func (o object) lostSession() error {
	for _, m := range o.Missing {
		if kind := m.Fault.Fault.kind(); kind == faultNotAuthenticated {
			return &faultError{kind: kind, text: "the property " + m.Path + " cannot be read"}
		}
	}
	return nil
}

func (o object) properties() map[string]value {
	p := make(map[string]value, len(o.PropSet))
	for _, property := range o.PropSet {
		p[property.Name] = property.Value
	}
	return p
}

// machine converts an object into a virtual machine.
func (o object) machine() (api.Machine, error) {
	p := o.properties()
	m := api.Machine{
		Ref: o.Ref.ref(), Name: p[pathName].Text, UUID: strings.ToLower(strings.TrimSpace(p[pathUUID].Text)),
		Template: p[pathTemplate].Text == "true",
		Parent:   p[pathParent].reference(), ParentVApp: p[pathVApp].reference(),
		Host: p[pathHost].reference(), Pool: p[pathPool].reference(),
		PowerState: p[pathPower].Text, ConnectionState: p[pathConnection].Text,
		GuestID: p[pathGuestID].Text, HostName: strings.TrimSpace(p[pathHostName].Text),
		Metadata: p[pathMetadata].Option, MetadataEncoding: p[pathMetadataEnc].Option,
	}
	var errs []error
	for path, field := range map[string]*int{pathCPUs: &m.CPUs, pathMemory: &m.MemoryMB} {
		if text := p[path].Text; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s of %s: %w", path, m.Ref.Value, err))
			}
			*field = n
		}
	}
	for _, n := range p[pathNICs].NICs {
		m.NICs = append(m.NICs, api.NIC{Network: n.Network, Addresses: n.Addresses, Device: n.Device})
	}
	if err := errors.Join(errs...); err != nil {
		return m, &cloudapi.Error{Class: cloudapi.Unknown, Operation: methodRetrieve, Err: err}
	}
	return m, nil
}
