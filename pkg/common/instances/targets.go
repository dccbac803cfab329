package instances

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
)

// InstanceIDForNode returns the ID of the instance that carries the node name;
// cloudprovider.InstanceNotFound if there is none.
func (i *Instances) InstanceIDForNode(ctx context.Context, nodeName string) (string, error) {
	in, found, err := i.lookup(ctx, ref{name: nodeName}, i.options.SnapshotAge, true)
	if err != nil {
		return "", err
	}
	if !found {
		return "", cloudprovider.InstanceNotFound
	}
	return in.ID, nil
}

// NodeNames returns the node names of the instances. One that does not exist is absent from the result.
func (i *Instances) NodeNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	for _, id := range ids {
		in, found, err := i.lookup(ctx, ref{id: id}, i.options.SnapshotAge, true)
		if err != nil {
			return nil, err
		}
		if found {
			names[id] = in.NodeName
		}
	}
	return names, nil
}
