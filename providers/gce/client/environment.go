package client

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/compute/metadata"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// Environment implements api.API.
func (c *Client) Environment(ctx context.Context) (api.Environment, error) {
	return c.environment.Get(ctx)
}

// KnownEnvironment returns the environment if it has been read. It makes no call.
func (c *Client) KnownEnvironment() (api.Environment, bool) { return c.environment.Peek() }

// readEnvironment fills what the configuration lacks from the metadata server of the machine.
func (c *Client) readEnvironment(ctx context.Context) (api.Environment, error) {
	project, err := c.orMetadata(ctx, "project-id", c.config.ProjectID, "project/project-id")
	if err != nil {
		return api.Environment{}, err
	}
	zone, err := c.orMetadata(ctx, "local-zone", c.config.LocalZone, "instance/zone")
	if err != nil {
		return api.Environment{}, err
	}
	network, err := c.orMetadata(ctx, "network-name", c.config.NetworkName, "instance/network-interfaces/0/network")
	if err != nil {
		return api.Environment{}, err
	}
	zone = api.Last(zone)
	e := api.Environment{Project: project, NetworkProject: cmp.Or(c.config.NetworkProjectID, project), Zone: zone,
		Region: names.RegionOf(zone)}
	if e.Project, err = c.projectName(ctx, e.Project); err != nil {
		return api.Environment{}, err
	}
	if e.NetworkProject, err = c.projectName(ctx, e.NetworkProject); err != nil {
		return api.Environment{}, err
	}
	e.Network = network
	if !strings.Contains(network, "/global/networks/") {
		// A name, or the form of the metadata server: projects/NUMBER/networks/NAME.
		e.Network = c.Link(e, api.NetworksGet, api.Target{Name: api.Last(network)})
	}
	return e, nil
}

// orMetadata returns a value of the configuration, or that of the metadata server.
func (c *Client) orMetadata(ctx context.Context, key, value, path string) (string, error) {
	if value != "" {
		return value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	value, err := metadata.GetWithContext(ctx, path)
	if err != nil || value == "" {
		return "", &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "metadata " + path,
			Err: fmt.Errorf("the metadata server does not answer: on a machine outside of Compute Engine, set %s in section "+
				"[global]: %w", key, err)}
	}
	return strings.TrimSpace(value), nil
}

// projectName returns the name of a project that is given by its number, because provider IDs have the name. Without
// the permission for it, the number stays.
func (c *Client) projectName(ctx context.Context, project string) (string, error) {
	if strings.Trim(project, "0123456789") != "" {
		return project, nil
	}
	var out api.Resource
	err := c.get(ctx, api.Environment{Project: project}, api.ProjectsGet, api.Target{}, &out)
	if cloudapi.Is(err, cloudapi.Denied) {
		return project, nil
	}
	return cmp.Or(out.Name, project), err
}
