package sdktest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	compute "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// Parameters maxResults (default 500, 0 to 500) and pageToken.
func TestListsHavePages(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		for i := range 501 {
			c.launch(fmt.Sprintf("n-%03d", i), zone)
		}
		first := must[*compute.InstanceList](t)(c.Instances.List(project, zone).Do())
		if len(first.Items) != 500 || first.NextPageToken == "" {
			t.Errorf("first page has %d instances", len(first.Items))
		}
		second := must[*compute.InstanceList](t)(c.Instances.List(project, zone).PageToken(first.NextPageToken).Do())
		if len(second.Items) != 1 || second.Items[0].Name != "n-500" || second.NextPageToken != "" {
			t.Errorf("second page is %+v", second.Items)
		}
		small := must[*compute.InstanceList](t)(c.Instances.List(project, zone).MaxResults(2).Do())
		if len(small.Items) != 2 || small.Items[1].Name != "n-001" {
			t.Errorf("small page is %+v", small.Items)
		}
		c.lenient = true
		_, err := c.Instances.List(project, zone).MaxResults(501).Do()
		c.wantError(err, http.StatusBadRequest, "invalid")
		_, err = c.Instances.List(project, zone).PageToken("x").Do()
		c.wantError(err, http.StatusBadRequest, "invalid")
	})
}

// Parameter filter: regular expressions with eq and ne match the entire field; AIP-160 has the other operators; they
// cannot be mixed.
func TestFiltersSelect(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		for _, name := range []string{"node-1", "node-2", "other"} {
			c.launch(name, zone)
		}
		for filter, want := range map[string]string{
			`name eq node-.*`:                         "node-1 node-2",
			`name eq node`:                            "",
			`name ne .*1`:                             "node-2 other",
			`name eq 'node-1'`:                        "node-1",
			`name eq "node-1"`:                        "node-1",
			`name eq (node-1|other)`:                  "node-1 other",
			`(name eq node-.*) (name ne ".*1")`:       "node-2",
			`(status eq RUNNING) (name eq other)`:     "other",
			`name = node-1`:                           "node-1",
			`name="node-1"`:                           "node-1",
			`name != node-1`:                          "node-2 other",
			`name=node-*`:                             "node-1 node-2",
			`(name = node-1) OR (name = other)`:       "node-1 other",
			`name = node-1 AND canIpForward = true`:   "node-1",
			`(name = node-1) (status = "TERMINATED")`: "",
			`tags.items:nodes`:                        "node-1 node-2 other",
			`labels.owner:*`:                          "",
			`networkInterfaces.name = nic0`:           "node-1 node-2 other",
			`name > node-1`:                           "node-2 other",
			`NOT name = other`:                        "node-1 node-2",
		} {
			list, err := c.Instances.List(project, zone).Filter(filter).Do()
			if err != nil {
				t.Errorf("filter %q: %v", filter, err)
				continue
			}
			var names []string
			for _, i := range list.Items {
				names = append(names, i.Name)
			}
			if have := strings.Join(names, " "); have != want {
				t.Errorf("filter %q selects %q, want %q", filter, have, want)
			}
		}
		for _, filter := range []string{`(name eq a) (name = b)`, `name`, `name eq (`, `name eq`, `(name eq a) OR (name eq b)`} {
			_, err := c.Instances.List(project, zone).Filter(filter).Do()
			c.wantError(err, http.StatusBadRequest, "invalid")
		}
	})
}

// Parameter orderBy: name, or creationTimestamp desc.
func TestListsAreSorted(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		c.launch("b", zone)
		c.launch("a", zone)
		if list := must[*compute.InstanceList](t)(c.Instances.List(project, zone).Do()); list.Items[0].Name != "a" {
			t.Errorf("first is %s, want a", list.Items[0].Name)
		}
		must[*compute.InstanceList](t)(c.Instances.List(project, zone).OrderBy("creationTimestamp desc").Do())
		_, err := c.Instances.List(project, zone).OrderBy("status").Do()
		c.wantError(err, http.StatusBadRequest, "invalid")
	})
}

func TestAggregatedListHasAllScopes(t *testing.T) {
	run(t, sim.Options{OtherRegions: []string{"us-east1"}}, func(t *testing.T, c *cloud) {
		c.launch("a", zone)
		c.launch("b", "us-east1-a")
		list := must[*compute.InstanceAggregatedList](t)(c.Instances.AggregatedList(project).Do())
		if len(list.Items) != 5 || len(list.Items["zones/"+zone].Instances) != 1 ||
			list.Items["zones/europe-west1-c"].Warning.Code != "NO_RESULTS_ON_PAGE" {
			t.Errorf("list is %+v", list.Items)
		}
		c.buildExternal("web")
		rules := must[*compute.ForwardingRuleAggregatedList](t)(c.ForwardingRules.AggregatedList(project).Do())
		if len(rules.Items["regions/"+region].ForwardingRules) != 1 {
			t.Errorf("rules are %+v", rules.Items)
		}
		for _, err := range []error{
			second(c.TargetPools.AggregatedList(project).Do()), second(c.Addresses.AggregatedList(project).Do()),
			second(c.InstanceGroups.AggregatedList(project).Do()), second(c.BackendServices.AggregatedList(project).Do()),
			second(c.HealthChecks.AggregatedList(project).Do()), second(c.Subnetworks.AggregatedList(project).Do()),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Parameter returnPartialSuccess: without it a list fails with one of its scopes.
func TestDisruptedZoneIsUnreachable(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		c.launch("bad", zone)
		c.launch("good", "europe-west1-c")
		c.DisruptZones(zone)
		_, err := c.Instances.Get(project, zone, "bad").Do()
		c.wantError(err, http.StatusServiceUnavailable, "backendError")
		_, err = c.Instances.List(project, zone).Do()
		c.wantError(err, http.StatusServiceUnavailable, "backendError")
		_, err = c.Instances.AggregatedList(project).Do()
		c.wantError(err, http.StatusServiceUnavailable, "backendError")
		list := must[*compute.InstanceAggregatedList](t)(c.Instances.AggregatedList(project).ReturnPartialSuccess(true).Do())
		if len(list.Unreachables) != 1 || list.Items["zones/"+zone].Warning.Code != "UNREACHABLE" ||
			len(list.Items["zones/europe-west1-c"].Instances) != 1 {
			t.Errorf("list is %+v, unreachable %v", list.Items, list.Unreachables)
		}
		if z := must[*compute.Zone](t)(c.Service.Zones.Get(project, zone).Do()); z.Status != "DOWN" {
			t.Errorf("zone is %s, want DOWN", z.Status)
		}
		c.DisruptZones()
		must[*compute.Instance](t)(c.Instances.Get(project, zone, "bad").Do())
	})
}

func TestFieldsAreSelected(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		c.launch("a", zone)
		for _, fields := range []string{"items(name,networkInterfaces/networkIP),nextPageToken",
			"items/name,items/networkInterfaces(networkIP)"} {
			list := must[*compute.InstanceList](t)(c.Instances.List(project, zone).Fields(googleapi.Field(fields)).Do())
			i := list.Items[0]
			if i.Name != "a" || i.Id != 0 || i.NetworkInterfaces[0].NetworkIP == "" || i.NetworkInterfaces[0].Name != "" {
				t.Errorf("fields %s: instance is %+v", fields, i)
			}
		}
		agg := must[*compute.InstanceAggregatedList](t)(c.Instances.AggregatedList(project).Fields("items/*/instances(name,zone)").Do())
		if i := agg.Items["zones/"+zone].Instances[0]; i.Name != "a" || i.Zone == "" || i.Status != "" {
			t.Errorf("instance is %+v", i)
		}
		p := must[*compute.Project](t)(c.Projects.Get(project).Fields("id,selfLink").Do())
		if p.Id == 0 || p.Name != "" {
			t.Errorf("project is %+v", p)
		}
	})
}
