package client

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// The methods of the property collector.
const (
	methodRetrieve = "RetrievePropertiesEx"
	methodContinue = "ContinueRetrievePropertiesEx"
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

// collectSpec selects all virtual machines below a folder, and the objects that contain them.
func collectSpec(root api.Ref) string {
	var b strings.Builder
	b.WriteString("<specSet>" + propertySet(api.TypeMachine, machinePaths()...))
	for _, kind := range containerTypes() {
		b.WriteString(propertySet(kind, pathName, pathParent))
	}
	b.WriteString("<objectSet>" + refElement("obj", root) + "<skip>false</skip>")
	for _, t := range traversals() {
		b.WriteString(t.encode())
	}
	return b.String() + "</objectSet></specSet><options></options>"
}

// machinesSpec selects virtual machines by reference.
func machinesSpec(refs []api.Ref) string {
	var b strings.Builder
	b.WriteString("<specSet>" + propertySet(api.TypeMachine, machinePaths()...))
	for _, ref := range refs {
		b.WriteString("<objectSet>" + refElement("obj", ref) + "<skip>false</skip></objectSet>")
	}
	return b.String() + "</specSet><options></options>"
}

// Collect implements api.VCenter.
func (c *Client) Collect(ctx context.Context) (api.Inventory, error) {
	const service = api.ServiceInventory
	return read(ctx, c, service, methodRetrieve, func(ctx context.Context, s *session) (api.Inventory, error) {
		inventory := api.Inventory{VCenter: s.content.About.InstanceUUID, Entities: map[api.Ref]api.Entity{}}
		err := c.retrieve(ctx, s, collectSpec(s.content.RootFolder.ref()), func(o object) error {
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
	})
}

// ReadMachines implements api.VCenter.
func (c *Client) ReadMachines(ctx context.Context, refs []api.Ref) ([]api.Machine, error) {
	const service = api.ServiceInventory
	return read(ctx, c, service, methodRetrieve, func(ctx context.Context, s *session) ([]api.Machine, error) {
		var machines []api.Machine
		err := c.retrieve(ctx, s, machinesSpec(refs), func(o object) error {
			m, err := o.machine()
			machines = append(machines, m)
			return err
		})
		return machines, err
	})
}

// FindByUUID implements api.VCenter.
func (c *Client) FindByUUID(ctx context.Context, uuid string) ([]api.Ref, error) {
	const method = "FindAllByUuid"
	return read(ctx, c, api.ServiceInventory, method, func(ctx context.Context, s *session) ([]api.Ref, error) {
		var out struct {
			Found []soapRef `xml:"returnval"`
		}
		err := c.soap(ctx, s, method, operation(method, s.content.SearchIndex.ref(), element("uuid", "", uuid),
			"<vmSearch>true</vmSearch><instanceUuid>false</instanceUuid>"), &out)
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
}

// retrieve makes a property collection with all its pages, and passes each object to add.
func (c *Client) retrieve(ctx context.Context, s *session, spec string, add func(object) error) error {
	collector := s.content.PropertyCollector.ref()
	method, parameters := methodRetrieve, spec
	for {
		var p page
		if err := c.soap(ctx, s, method, operation(method, collector, parameters), &p); err != nil {
			if method == methodContinue && faultKind(err) == faultNotFound {
				// The collection has ended with its session; no object is missing.
				return &faultError{kind: faultNotAuthenticated, text: "the property collection has ended"}
			}
			return err
		}
		for _, o := range p.Result.Objects {
			if err := errors.Join(o.lostSession(), add(o)); err != nil {
				return err
			}
		}
		if p.Result.Token == "" {
			return nil
		}
		method, parameters = methodContinue, element("token", "", p.Result.Token)
	}
}

// soapRef is a reference in a response.
type soapRef struct {
	Type  string `xml:"type,attr"`
	Value string `xml:",chardata"`
}

func (r soapRef) ref() api.Ref { return api.Ref{Type: r.Type, Value: strings.TrimSpace(r.Value)} }

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
