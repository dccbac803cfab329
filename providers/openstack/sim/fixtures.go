package sim

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/keystone"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/octavia"
)

// Names of the fixtures.
const (
	userName        = "ccm"
	appCredName     = "ccm-credential"
	otherProject    = "other"
	otherUser       = "other"
	adminProject    = "admin"
	adminUser       = "admin"
	trusteeUser     = "trustee"
	publicNetwork   = "public"
	privateNetwork  = "private"
	roleMember      = "member"
	roleLoadBalance = "load-balancer_member"
)

// Account holds credentials for a project.
type Account struct {
	UserID, Username, Password   string
	ProjectID, ProjectName       string
	DomainID, DomainName, Region string
	// An application credential of the user for the project.
	ApplicationCredentialID, ApplicationCredentialName, ApplicationCredentialSecret string
	// TrustID is a trust by which the trustee acts as the user, and the trustee's credentials.
	TrustID, TrusteeID, TrusteeUsername, TrusteePassword string
}

// createFixtures builds Keystone's projects and users, and in the cluster's project a private network behind a
// router to the public one, flavors, and the security groups.
func (t *tx) createFixtures() error {
	k8s, other := t.keystone.NewProject(t.Options.Cluster), t.keystone.NewProject(otherProject)
	admin := t.keystone.NewProject(adminProject)
	ccm := t.keystone.NewUser(userName, k8s, roleMember, roleLoadBalance, "reader")
	ccm.Password = t.Options.Password
	t.keystone.NewUser(otherUser, other, roleMember, roleLoadBalance, "reader")
	t.keystone.NewUser(adminUser, admin, "admin", roleMember, "reader")
	trustee := t.keystone.NewUser(trusteeUser, nil)
	t.keystone.NewAppCred(appCredName, ccm, k8s, t.Options.AccessRules)
	trust := &keystone.Trust{Object: t.NewObject(t.NewHex()), Trustor: ccm.ID, Trustee: trustee.ID, Project: k8s.ID}
	t.keystone.Trusts[trust.ID] = trust
	for i, name := range []string{"m1.tiny", nova.DefaultFlavor, "m1.medium", "m1.large"} {
		f := &nova.Flavor{Object: t.NewObject(t.NewID()), Name: name, VCPUs: 1 << i, RAM: 512 << (2 * i),
			Disk: 10 << i}
		t.Flavors[f.ID] = f
	}
	public := t.NewNetwork(admin.ID, publicNetwork, true)
	publicSubnet := t.NewSubnet(public, "public-subnet", t.Options.Public)
	private := t.NewNetwork(k8s.ID, privateNetwork, false)
	privateSubnets := []*neutron.Subnet{t.NewSubnet(private, "private-subnet", t.Options.Private)}
	if t.Options.IPv6 {
		privateSubnets = append(privateSubnets,
			t.NewSubnet(private, "private-subnet-v6", netip.MustParsePrefix("2001:db8:a::/64")))
	}
	r, err := t.NewRouter(k8s.ID, "router1", publicSubnet)
	if err != nil {
		return err
	}
	for _, s := range privateSubnets {
		if err := t.AddInterface(r, s); err != nil {
			return err
		}
	}
	t.DefaultGroup(k8s.ID)
	t.DefaultGroup(other.ID)
	for _, name := range []string{"small", "large"} {
		f := &octavia.LBFlavor{Object: t.NewObject(t.NewID()), Name: name, Enabled: true, Profile: t.NewID()}
		t.LBFlavors[f.ID] = f
	}
	t.Cluster = core.Cluster{Project: k8s.ID, Router: r.ID, Network: private.ID, User: ccm.ID}
	return nil
}
