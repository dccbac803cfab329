package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// CheckFloatingIP returns an error if no floating IP can be allocated in the network, because no subnet matches.
func (w Writer) CheckFloatingIP(ctx context.Context, want model.FloatingIP) error {
	_, err := observe.FloatingSubnets(ctx, w.API, want)
	return err
}

// AllocateFloatingIP allocates a public address in the first subnet that has one, and attaches it to a port unless that
// is "".
func (w Writer) AllocateFloatingIP(ctx context.Context, want model.FloatingIP, port string) (api.FloatingIP, error) {
	var created api.FloatingIP
	err := w.withAddress(port, func(address string) (err error) {
		created, err = w.allocateFloatingIP(ctx, want, port, address)
		return err
	})
	return created, w.finish(err, func() { w.store.FloatingIPs.Put(created.ID, created) })
}

// withAddress makes a request that attaches a floating IP to a port, and if that is refused again with the address of
// its load balancer: Neutron needs it if the port, which a user has created, has several.
func (a *Applier) withAddress(port string, request func(address string) error) error {
	err := request("")
	if port == "" || oserr.Status(err) != http.StatusBadRequest {
		return err
	}
	address := a.store.AddressAt(port)
	if address == "" {
		return err
	}
	return request(address)
}

func (a *Applier) allocateFloatingIP(ctx context.Context, want model.FloatingIP, port, address string) (api.FloatingIP,
	error) {
	if want.NetworkID == "" {
		network, err := observe.FindExternal(ctx, a.API)
		if err != nil {
			return api.FloatingIP{}, err
		}
		if network == "" {
			return api.FloatingIP{}, &cloudapi.Error{Class: cloudapi.Invalid,
				Operation: "choosing a network for the floating IP",
				Err:       fmt.Errorf("there is no external network: name one in %s", annotation.KeyFloatingNetworkID)}
		}
		want.NetworkID = network
	}
	subnets := []string{want.SubnetID}
	if want.Address == "" {
		var err error
		if subnets, err = observe.FloatingSubnets(ctx, a.API, want); err != nil {
			return api.FloatingIP{}, err
		}
	}
	var errs []error
	for _, subnet := range subnets {
		created, err := a.API.CreateFloatingIP(ctx, floatingips.CreateOpts{
			FloatingNetworkID: want.NetworkID, SubnetID: subnet, FloatingIP: want.Address, PortID: port,
			FixedIP: address, Description: want.Description,
		})
		if err == nil {
			return created, nil
		}
		errs = append(errs, err)
		if cloudapi.Is(err, cloudapi.Denied) {
			break // a permission does not depend on the subnet
		}
	}
	err := errors.Join(errs...)
	if kind := oserr.Kind(err); kind == "NetworkNotFound" || kind == "ExternalGatewayForFloatingIPNotFound" ||
		kind == "BadRequest" {
		// Neutron returns the same error for a network that does not exist, one that is not external, and one
		// without a router.
		err = &cloudapi.Error{Class: cloudapi.Invalid, Operation: "making a floating IP",
			Err: fmt.Errorf("%w; name in %s an external network that a router connects with the load balancer's subnet", err,
				annotation.KeyFloatingNetworkID)}
	}
	return api.FloatingIP{}, err
}

// kindAlreadyAssociated is the type of Neutron's error about a port that has a floating IP of the external network.
const kindAlreadyAssociated = "FloatingIPPortAlreadyAssociated"

// ReadFloatingIPs reads what is attached to which port.
func (w Writer) ReadFloatingIPs(ctx context.Context) error {
	if err := w.store.FloatingIPs.Reread(ctx); err != nil {
		return w.finish(err, nil)
	}
	return nil
}

// readFloatingIP reads a floating IP: another client may have changed it since the plan. The list has it without a
// further permission. It is false if there is none.
func (w Writer) readFloatingIP(ctx context.Context, id string) (api.FloatingIP, bool, error) {
	if err := w.ReadFloatingIPs(ctx); err != nil {
		return api.FloatingIP{}, false, err
	}
	f, exists := w.store.FloatingIPs.Get(id)
	return f, exists, nil
}

// CheckFloatingIPFree reads a floating IP before it is attached to a port: Neutron would take it from one to which
// another client attached it since the plan.
func (w Writer) CheckFloatingIPFree(ctx context.Context, f api.FloatingIP, port string) error {
	current, exists, err := w.readFloatingIP(ctx, f.ID)
	if err != nil || !exists {
		return err
	}
	if slices.Contains([]string{"", port, f.PortID}, current.PortID) {
		if err := w.reserved.check(w.Key.Service(), "floating IP", f.ID); err != nil {
			return w.finish(err, nil)
		}
		return nil
	}
	return w.finish(&cloudapi.Error{Class: cloudapi.Conflict, Operation: "floating IP " + f.FloatingIP,
		Err: fmt.Errorf("the floating IP %s has this address and is in use at port %s: detach it there, or choose another",
			f.ID, current.PortID)}, nil)
}

// AttachFloatingIP attaches a floating IP to a port. Only if Neutron answers that the port has one of that external
// network, which it does after all other checks, those that are attached are detached first: a refusal takes no address
// away, however often it is tried again.
func (w Writer) AttachFloatingIP(ctx context.Context, id, port string, attached []api.FloatingIP) (api.FloatingIP,
	error) {
	updated, err := w.attach(ctx, id, port)
	other := !slices.Contains([]string{"", kindAlreadyAssociated}, oserr.Kind(err))
	if oserr.Status(err) != http.StatusConflict || other || len(attached) == 0 {
		return updated, err
	}
	if f, known := w.store.FloatingIPs.Get(id); known {
		attached = slices.DeleteFunc(slices.Clone(attached),
			func(a api.FloatingIP) bool { return a.FloatingNetworkID != f.FloatingNetworkID })
	}
	for i, f := range attached {
		w.reserved.add(w.Key.Service(), f.ID)
		if err := w.detach(ctx, f); err != nil {
			return updated, errors.Join(err, w.attachAgain(ctx, attached[:i+1], port))
		}
	}
	if updated, err = w.attach(ctx, id, port); err != nil {
		return updated, errors.Join(err, w.attachAgain(ctx, attached, port))
	}
	for _, f := range attached {
		w.reserved.remove(f.ID)
	}
	return updated, nil
}

// attach attaches a floating IP to a port. The reply can be lost.
func (w Writer) attach(ctx context.Context, id, port string) (api.FloatingIP, error) {
	updated, err := w.setPort(ctx, id, port)
	if cloudapi.Is(err, cloudapi.Unavailable) {
		if f, exists, unread := w.readFloatingIP(ctx, id); unread == nil && exists && f.PortID == port {
			return f, nil
		}
	}
	return updated, err
}

// attachAgain attaches floating IPs that were detached, or may have been: the reply can be lost. One that another
// client has attached elsewhere since stays there.
func (w Writer) attachAgain(ctx context.Context, detached []api.FloatingIP, port string) error {
	var errs []error
	for _, f := range detached {
		current, exists, err := w.readFloatingIP(ctx, f.ID)
		if err == nil && (!exists || !slices.Contains([]string{"", port}, current.PortID)) {
			continue
		}
		_, err = w.setPort(ctx, f.ID, port)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// DetachFloatingIP detaches a floating IP, unless another client has done so since the plan.
func (w Writer) DetachFloatingIP(ctx context.Context, f api.FloatingIP) error {
	w.reserved.remove(f.ID)
	return w.detach(ctx, f)
}

func (w Writer) detach(ctx context.Context, f api.FloatingIP) error {
	if f.PortID == "" {
		return nil
	}
	current, exists, err := w.readFloatingIP(ctx, f.ID)
	if err != nil || !exists || current.PortID != f.PortID {
		return err
	}
	_, err = w.setPort(ctx, f.ID, "")
	return err
}

// setPort attaches a floating IP to a port, or detaches it if that is "".
func (w Writer) setPort(ctx context.Context, id, port string) (api.FloatingIP, error) {
	var updated api.FloatingIP
	err := w.withAddress(port, func(address string) (err error) {
		updated, err = w.API.UpdateFloatingIP(ctx, id, floatingips.UpdateOpts{PortID: &port, FixedIP: address})
		return err
	})
	return updated, w.finish(err, func() {
		w.store.FloatingIPs.Put(updated.ID, updated)
		if port != "" {
			w.reserved.remove(id)
		}
	})
}

// DeleteFloatingIP deletes a floating IP, unless another client has attached it elsewhere since the plan.
func (w Writer) DeleteFloatingIP(ctx context.Context, f api.FloatingIP) error {
	current, exists, err := w.readFloatingIP(ctx, f.ID)
	if err != nil || exists && !slices.Contains([]string{"", f.PortID}, current.PortID) {
		return err
	}
	err = cloudapi.IgnoreNotFound(w.API.DeleteFloatingIP(ctx, f.ID))
	return w.finish(err, func() { w.store.FloatingIPs.Delete(f.ID) })
}

// HasFloatingIP reports whether a floating IP is in the snapshot.
func (w Writer) HasFloatingIP(id string) bool {
	_, ok := w.store.FloatingIPs.Get(id)
	return ok
}

// TagFloatingIP adds and removes tags one by one, so that concurrent changes of other clients are kept.
func (w Writer) TagFloatingIP(ctx context.Context, f api.FloatingIP, want []string) error {
	if slices.Equal(f.Tags, want) {
		return nil // no request shows whether Neutron grants tags
	}
	var err error
	for _, tag := range want {
		if err == nil && !slices.Contains(f.Tags, tag) {
			err = w.API.AddTag(ctx, api.FloatingIPs, f.ID, tag)
		}
	}
	for _, tag := range f.Tags {
		if err == nil && !slices.Contains(want, tag) {
			err = cloudapi.IgnoreNotFound(w.API.RemoveTag(ctx, api.FloatingIPs, f.ID, tag))
		}
	}
	switch {
	case oserr.Status(err) == http.StatusNotFound && !cloudapi.Is(err, cloudapi.NotFound):
		// Neutron does not have the path: the extension is disabled.
		w.noTags.Store(true)
		return nil
	case cloudapi.Is(err, cloudapi.Denied):
		w.deniedTags.add() // the next plan warns about it
		return nil
	}
	if err == nil {
		w.deniedTags.reset()
	}
	return w.finish(err, func() {
		if current, ok := w.store.FloatingIPs.Get(f.ID); ok {
			current.Tags = want
			w.store.FloatingIPs.Put(f.ID, current)
		}
	})
}

// VIPPort returns the port of a load balancer's address. It is "" for an IPv6 address, for which there is no floating
// IP. The family may only be known after the creation.
func (w Writer) VIPPort(id string) (string, error) {
	lb, ok := w.store.LoadBalancer(id)
	if !ok || lb.VipPortID == "" {
		return "", &cloudapi.Error{Class: cloudapi.Conflict, Operation: "load balancer " + id,
			Err: errors.New("it has no port yet")}
	}
	if model.FamilyOf(lb.VipAddress) == v1.IPv6Protocol {
		return "", nil
	}
	return lb.VipPortID, nil
}
