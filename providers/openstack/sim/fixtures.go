package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// DefaultPassword is the manager's user's, if the options name none.
const DefaultPassword = "simulated"

// Names of what every cloud has.
const (
	userName        = "ccm"
	appCredName     = "ccm-credential"
	otherProject    = "other"
	otherUser       = "other"
	adminUser       = "admin"
	publicNetwork   = "public"
	privateNetwork  = "private"
	defaultFlavor   = "m1.small"
	roleMember      = "member"
	roleLoadBalance = "load-balancer_member"
)

// Account holds credentials for a project.
type Account struct {
	UserID, Username, Password   string
	ProjectID, ProjectName       string
	DomainID, DomainName, Region string
	// An application credential of the user's for the project.
	ApplicationCredentialID, ApplicationCredentialName, ApplicationCredentialSecret string
	// TrustID is a trust by which the trustee acts as the user, and the trustee's credentials.
	TrustID, TrusteeID, TrusteeUsername, TrusteePassword string
}

// createFixtures builds Keystone's projects and users, and in the cluster's project a private network behind a
// router to the public one, flavors, and the security groups.
func (t *tx) createFixtures() error {
	k8s, other, admin := t.newProject(t.o.Cluster), t.newProject(otherProject), t.newProject("admin")
	ccm := t.newUser(userName, k8s, roleMember, roleLoadBalance, "reader")
	ccm.password = t.o.Password
	t.newUser(otherUser, other, roleMember, roleLoadBalance, "reader")
	t.newUser(adminUser, admin, "admin", roleMember, "reader")
	trustee := t.newUser("trustee", nil)
	a := &appCred{object: object{ID: t.newHex(), seq: t.next()}, name: appCredName, secret: t.newHex(), user: ccm.ID,
		project: k8s.ID}
	t.appCreds[a.ID] = a
	x := &trust{object: object{ID: t.newHex(), seq: t.next()}, trustor: ccm.ID, trustee: trustee.ID, project: k8s.ID}
	t.trusts[x.ID] = x
	for i, name := range []string{"m1.tiny", defaultFlavor, "m1.medium", "m1.large"} {
		f := &flavor{object: object{ID: t.newID(), seq: t.next()}, Name: name, vCPUs: 1 << i, ramMB: 512 << (2 * i),
			disk: 10 << i}
		t.flavors[f.ID] = f
	}
	public := t.newNetwork(admin.ID, publicNetwork, true)
	outside := t.newSubnet(public, "public-subnet", t.o.Public)
	private := t.newNetwork(k8s.ID, privateNetwork, false)
	inside := []*subnet{t.newSubnet(private, "private-subnet", t.o.Private)}
	if t.o.IPv6 {
		inside = append(inside, t.newSubnet(private, "private-subnet-v6", netip.MustParsePrefix("2001:db8:a::/64")))
	}
	r, err := t.newRouter(k8s.ID, "router1", outside)
	if err != nil {
		return err
	}
	for _, s := range inside {
		if err := t.addInterface(r, s); err != nil {
			return err
		}
	}
	t.defaultGroup(k8s.ID)
	t.defaultGroup(other.ID)
	for _, name := range []string{"small", "large"} {
		f := &lbFlavor{object: object{ID: t.newID(), seq: t.next()}, Name: name, Enabled: true, Profile: t.newID()}
		t.lbFlavors[f.ID] = f
	}
	t.clusterProject, t.clusterRouter, t.clusterNetwork = k8s.ID, r.ID, private.ID
	return nil
}

func (t *tx) newProject(name string) *project {
	p := &project{object: object{ID: t.newHex(), seq: t.next()}, name: name}
	t.projects[p.ID] = p
	return p
}

func (t *tx) newUser(name string, p *project, roles ...string) *user {
	u := &user{object: object{ID: t.newHex(), seq: t.next()}, name: name, password: t.newHex()[:16],
		roles: map[string][]string{}}
	if p != nil {
		u.roles[p.ID] = roles
	}
	t.users[u.ID] = u
	return u
}

func (t *tx) userNamed(name string) *user {
	return t.userOf(&reference{Name: name, Domain: &reference{ID: domainID}})
}

// launch starts a server in the cluster's project. The name of a machine, if set, is that of its server.
func (t *tx) launch(m world.Machine) (*server, error) {
	if m.Name != "" && t.byNodeName(m.Name) != nil {
		return nil, fmt.Errorf("machine %q exists", m.Name)
	}
	zone := cmp.Or(m.Zone, t.o.Zones[t.launched%len(t.o.Zones)])
	if !slices.Contains(t.o.Zones, zone) {
		return nil, fmt.Errorf("availability zone %q is unknown: zones are %v", zone, t.o.Zones)
	}
	var kind *flavor
	for _, f := range t.flavors {
		if f.Name == cmp.Or(m.Type, defaultFlavor) && !f.deleted {
			kind = f
		}
	}
	if kind == nil {
		return nil, fmt.Errorf("no flavor is called %q", m.Type)
	}
	p, err := t.newPort(t.clusterProject, "", t.networks[t.clusterNetwork], nil)
	if err != nil {
		return nil, err
	}
	t.launched++
	s := &server{object: object{ID: t.newID(), seq: t.next()},
		Name:    cmp.Or(m.Name, fmt.Sprintf("%s-node-%d", t.o.Cluster, t.launched)),
		Project: t.clusterProject, Status: statusBuild, Zone: zone, User: t.userNamed(userName).ID, Host: t.newHex(),
		Flavor:   kind.ID,
		metadata: map[string]string{}, created: t.now, updated: t.now, ready: t.now.Add(t.o.BootTime),
		podCIDRs: slices.Clone(m.PodCIDRs)}
	p.DeviceID, p.DeviceOwner, p.Groups = s.ID, ownerCompute+zone, []string{t.defaultGroup(t.clusterProject).ID}
	t.servers[s.ID] = s
	t.advance()
	if !t.o.PublicNodes {
		return s, nil
	}
	f, err := t.allocate(s.Project, t.external(), "", "")
	if err != nil {
		return nil, err
	}
	t.attach(f, p, "")
	return s, nil
}

// external returns the network of floating IPs.
func (t *tx) external() *network {
	for _, n := range bySeq(t.networks) {
		if n.External {
			return n
		}
	}
	return nil
}

// byNodeName finds a server of the cluster's project by its name.
func (t *tx) byNodeName(name string) *server {
	for _, s := range t.servers {
		if s.Name == name && s.Project == t.clusterProject {
			return s
		}
	}
	return nil
}

func (t *tx) machine(name string) (*server, error) {
	if s := t.byNodeName(name); s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("no machine is called %q", name)
}

// nodeOf returns the name of the server with an address in the cluster's project; any other address is returned as it
// is.
func (t *tx) nodeOf(address string) (name string, ok bool) {
	for _, p := range t.ports {
		if p.Project != t.clusterProject || !slices.ContainsFunc(p.FixedIPs,
			func(f fixedIP) bool { return f.Address == address }) {
			continue
		}
		if s := t.servers[p.DeviceID]; s != nil {
			return s.Name, true
		}
	}
	return address, false
}
