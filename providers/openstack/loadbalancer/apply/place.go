package apply

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// placeCheck returns the problem of one setting of a place, or of several that depend on each other.
type placeCheck func(context.Context, model.LoadBalancer, api.LoadBalancer) (model.PlaceProblem, error)

// CheckPlace returns why Octavia would refuse the place of a load balancer that replaces another one. It checks only
// the settings in which they differ, and none that this client may not read.
func (w Writer) CheckPlace(ctx context.Context, place model.LoadBalancer, have api.LoadBalancer) (model.PlaceProblem,
	error) {
	checks := []placeCheck{w.checkFlavor, w.checkZone, w.checkPort}
	if place.PortID == "" {
		checks = append(checks, w.checkSubnet, w.checkNetwork)
	}
	for _, check := range checks {
		problem, err := check(ctx, place, have)
		if err != nil && !isUnreadable(err) {
			return model.PlaceProblem{}, err
		}
		if err == nil && problem.Key != "" {
			return problem, nil
		}
	}
	return model.PlaceProblem{}, nil
}

// isUnreadable reports whether a service denies a read, or does not support it.
func isUnreadable(err error) bool {
	unsupported := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusNotImplemented}
	return cloudapi.Is(err, cloudapi.Denied) || slices.Contains(unsupported, oserr.Status(err))
}

// missing returns the problem that an object does not exist, if err shows that, and otherwise err.
func missing(err error, key, kind, id string) (model.PlaceProblem, error) {
	if !cloudapi.Is(err, cloudapi.NotFound) {
		return model.PlaceProblem{}, err
	}
	return model.PlaceProblem{Key: key, Value: id, Fix: "this project has no such " + kind + ": name one that exists"}, nil
}

func (w Writer) checkFlavor(ctx context.Context, place model.LoadBalancer, have api.LoadBalancer) (model.PlaceProblem,
	error) {
	id := place.FlavorID
	if id == "" || id == have.FlavorID {
		return model.PlaceProblem{}, nil
	}
	flavor, err := w.API.GetLoadBalancerFlavor(ctx, id)
	if err != nil || flavor.Enabled {
		return missing(err, annotation.KeyFlavorID, "flavor of Octavia", id)
	}
	return model.PlaceProblem{Key: annotation.KeyFlavorID, Value: id, Fix: "the flavor is disabled: name another one"}, nil
}

func (w Writer) checkZone(ctx context.Context, place model.LoadBalancer, have api.LoadBalancer) (model.PlaceProblem,
	error) {
	if place.Zone == "" || place.Zone == have.AvailabilityZone {
		return model.PlaceProblem{}, nil
	}
	zones, err := w.API.ListLoadBalancerZones(ctx)
	enabled := func(z api.LoadBalancerZone) bool { return z.Name == place.Zone && z.Enabled }
	if err != nil || slices.ContainsFunc(zones, enabled) {
		return model.PlaceProblem{}, err
	}
	return model.PlaceProblem{Key: annotation.KeyAvailabilityZone, Value: place.Zone,
		Fix: "Octavia has no such availability zone, or it is disabled: name another one"}, nil
}

// checkPort checks the port for the address, as Octavia does: a device must not use it. A port that stays must outlive
// the load balancer: Octavia and the OVN provider delete those that they have created, each with a prefix of its own.
func (w Writer) checkPort(ctx context.Context, place model.LoadBalancer, have api.LoadBalancer) (model.PlaceProblem,
	error) {
	id := place.PortID
	if id == "" {
		return model.PlaceProblem{}, nil
	}
	moves := id != have.VipPortID
	port, err := w.API.GetPort(ctx, id)
	if err != nil {
		return missing(err, annotation.KeyPortID, "port", id)
	}
	hasAddress := func(f api.FixedIP) bool { return place.Address == "" || model.SameIP(f.Address, place.Address) }
	switch {
	case !moves && (port.DeviceOwner == api.OctaviaPortOwner || strings.HasSuffix(port.Name, "-"+have.ID)):
		return model.PlaceProblem{Key: annotation.KeyPortID, Value: id, Fix: "Octavia has created the port for the load " +
			"balancer, and deletes it with that: remove the annotation, or name a port that you have created"}, nil
	case moves && port.DeviceID != "":
		return model.PlaceProblem{Key: annotation.KeyPortID, Value: id,
			Fix: fmt.Sprintf("%s %s uses the port: name one that is free", port.DeviceOwner, port.DeviceID)}, nil
	case len(port.FixedIPs) == 0:
		return model.PlaceProblem{Key: annotation.KeyPortID, Value: id, Fix: "the port has no address: name another one"}, nil
	case !slices.ContainsFunc(port.FixedIPs, hasAddress):
		return model.PlaceProblem{Key: intent.KeyStaticAddresses, Value: place.Address,
			Fix: fmt.Sprintf("the port %s does not have this address: name one of its own, or none", id)}, nil
	}
	return model.PlaceProblem{}, nil
}

// checkSubnet checks the subnet of the address, and the address in it.
func (w Writer) checkSubnet(ctx context.Context, place model.LoadBalancer, have api.LoadBalancer) (model.PlaceProblem,
	error) {
	id, network := place.SubnetID, have.VipNetworkID
	switch id {
	case "":
		return model.PlaceProblem{}, nil
	case have.VipSubnetID:
		// The subnet is in the network of the load balancer, which exists.
		if place.NetworkID != "" && place.NetworkID != network {
			return model.PlaceProblem{Key: annotation.KeyNetworkID, Value: place.NetworkID, Fix: fmt.Sprintf("the subnet %s is "+
				"in the network %s: name that network, or none", id, network)}, nil
		}
	default:
		subnet, err := w.API.GetSubnet(ctx, id)
		if err != nil {
			return missing(err, annotation.KeySubnetID, "subnet", id)
		}
		network = subnet.NetworkID
		if place.NetworkID != "" && place.NetworkID != network {
			return model.PlaceProblem{Key: annotation.KeySubnetID, Value: id, Fix: fmt.Sprintf("the subnet is in the network "+
				"%s, and not in %s: name one of that network, or no network", network, place.NetworkID)}, nil
		}
		if place.Address != "" && model.IsOutside(subnet, place.Address) {
			return outsideOf(place, "subnet "+id), nil
		}
	}
	return w.checkFree(ctx, place.Address, network, have)
}

// checkNetwork checks the network of the address without a subnet, and the address in it.
func (w Writer) checkNetwork(ctx context.Context, place model.LoadBalancer, have api.LoadBalancer) (model.PlaceProblem,
	error) {
	id := place.NetworkID
	keepsAddress := place.Address == "" || model.SameIP(place.Address, have.VipAddress)
	if id == "" || place.SubnetID != "" || id == have.VipNetworkID && keepsAddress {
		return model.PlaceProblem{}, nil
	}
	networks, err := w.API.ListNetworks(ctx, []string{id})
	if err != nil {
		return model.PlaceProblem{}, err
	}
	if len(networks) == 0 {
		return missing(&cloudapi.Error{Class: cloudapi.NotFound}, annotation.KeyNetworkID, "network", id)
	}
	if place.Address == "" {
		return model.PlaceProblem{}, nil
	}
	subnets, err := w.API.ListSubnets(ctx, id)
	if err != nil {
		return model.PlaceProblem{}, err
	}
	has := func(s api.Subnet) bool { return !model.IsOutside(s, place.Address) }
	// Octavia also has the subnets that this project may not see.
	if len(subnets) >= len(networks[0].Subnets) && !slices.ContainsFunc(subnets, has) {
		return outsideOf(place, "network "+id), nil
	}
	return w.checkFree(ctx, place.Address, id, have)
}

// checkFree checks that no other port of a network has an address.
func (w Writer) checkFree(ctx context.Context, address, network string, have api.LoadBalancer) (model.PlaceProblem,
	error) {
	if address == "" || network == have.VipNetworkID && model.SameIP(address, have.VipAddress) {
		return model.PlaceProblem{}, nil
	}
	ports, err := w.API.ListPorts(ctx, api.PortFilter{NetworkID: network, Addresses: []string{address}})
	other := slices.IndexFunc(ports, func(p api.Port) bool { return p.ID != have.VipPortID })
	if err != nil || other < 0 {
		return model.PlaceProblem{}, err
	}
	return model.PlaceProblem{Key: intent.KeyStaticAddresses, Value: address,
		Fix: fmt.Sprintf("the port %s has this address: choose another, or delete the port", ports[other].ID)}, nil
}

// outsideOf returns the problem that an address is not in the place of the load balancer.
func outsideOf(place model.LoadBalancer, where string) model.PlaceProblem {
	return model.PlaceProblem{Key: intent.KeyStaticAddresses, Value: place.Address,
		Fix: "the address is not in the " + where + ": choose one that is"}
}
