package nova

import (
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// Operations returns the operations of Nova.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(serverOperations(), flavorOperations())
}

func serverOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListServers", "servers", func(t *Tx) (any, error) { return t.listServers(t.serverStub) }),
		core.Read("ListServersDetailed", "servers/detail", func(t *Tx) (any, error) { return t.listServers(t.serverView) }),
		core.Read("ShowServer", "servers/{id}", onServer(func(t *Tx, s *Server) (any, error) {
			return map[string]any{"server": t.serverView(s)}, nil
		})),
		core.Remove("DeleteServer", "servers/{id}", func(t *Tx) error {
			s, err := t.server()
			if err == nil {
				t.Terminate(s)
			}
			return err
		}),
		core.Write("RunServerAction", http.MethodPost, "servers/{id}/action", http.StatusAccepted,
			onServer((*Tx).serverAction)),
		core.Read("ListServerMetadata", "servers/{id}/metadata", onServer(func(_ *Tx, s *Server) (any, error) {
			return map[string]any{"metadata": s.Metadata}, nil
		})),
		core.Write("UpdateServerMetadata", http.MethodPost, "servers/{id}/metadata", http.StatusOK,
			onServer(func(t *Tx, s *Server) (any, error) { return t.setMetadata(s, false) })),
		core.Change("ReplaceServerMetadata", "servers/{id}/metadata",
			onServer(func(t *Tx, s *Server) (any, error) { return t.setMetadata(s, true) })),
		core.Remove("DeleteServerMetadataItem", "servers/{id}/metadata/{key}", func(t *Tx) error {
			s, err := t.server()
			if err != nil {
				return err
			}
			if _, ok := s.Metadata[t.Call.Params["key"]]; !ok {
				return core.Refuse(http.StatusNotFound, "itemNotFound", "Metadata item was not found")
			}
			delete(s.Metadata, t.Call.Params["key"])
			return nil
		}),
		core.Read("ListPortInterfaces", "servers/{id}/os-interface", onServer((*Tx).listInterfaces)),
	}
}

func flavorOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListFlavors", "flavors", func(t *Tx) (any, error) { return t.listFlavors(false) }),
		core.Read("ListFlavorsDetailed", "flavors/detail", func(t *Tx) (any, error) { return t.listFlavors(true) }),
		core.Read("ShowFlavor", "flavors/{id}", func(t *Tx) (any, error) {
			f, err := t.flavor()
			if err != nil {
				return nil, err
			}
			return map[string]any{"flavor": t.flavorView(f, true)}, nil
		}),
		core.Read("ListFlavorExtraSpecs", "flavors/{id}/os-extra_specs", func(t *Tx) (any, error) {
			if _, err := t.flavor(); err != nil {
				return nil, err
			}
			return map[string]any{"extra_specs": map[string]string{}}, nil
		}),
		core.Read("ListAvailabilityZones", "os-availability-zone", func(t *Tx) (any, error) {
			out := []any{}
			for _, zone := range t.Options.Zones {
				out = append(out, map[string]any{"zoneName": zone, "zoneState": map[string]bool{"available": true}, "hosts": nil})
			}
			return map[string]any{"availabilityZoneInfo": out}, nil
		}),
	}
}

// ImageOperations returns the operations of Glance, which has no image.
func ImageOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListImages", "images", func(*Tx) (any, error) {
			return map[string]any{"images": []any{}, "schema": "/v2/schemas/images", "first": "/v2/images"}, nil
		}),
		core.Read("ShowImage", "images/{id}", func(t *Tx) (any, error) {
			return nil, core.Refuse(http.StatusNotFound, "", "No image found with ID %s", t.Call.Params["id"])
		}),
	}
}
