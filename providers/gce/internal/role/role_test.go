package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRolesAreCurrent(t *testing.T) {
	t.Parallel()
	for name, network := range map[string]bool{"role-project.yaml": false, "role-network.yaml": true} {
		written, err := os.ReadFile(filepath.Join("../../../../deploy/gce", name))
		if err != nil || string(written) != Document(network) {
			t.Errorf("%s is not current (%v): run hack/update-gce-roles.sh", name, err)
		}
	}
}

func TestRolesOfProjects(t *testing.T) {
	t.Parallel()
	project, network := Document(false), Document(true)
	for permission, inNetwork := range map[string]bool{
		"compute.firewalls.create": true, "compute.routes.delete": true, "compute.subnetworks.use": true,
		"compute.regionBackendServices.update": false, "compute.instances.use": false, "compute.zones.list": false,
	} {
		line := "- " + permission + "\n"
		if strings.Contains(network, line) != inNetwork || strings.Contains(project, line) == inNetwork {
			t.Errorf("%s is in the wrong role", permission)
		}
	}
}
