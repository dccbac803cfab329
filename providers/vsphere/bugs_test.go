package vsphere_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// provide returns the provider for a configuration file, with one transport for all of its servers.
func provide(t testing.TB, file, text string, environment []string, rt http.RoundTripper) *vsphere.Cloud {
	t.Helper()
	cfg, _, err := config.ReadWith(file, []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	c, err := vsphere.NewCloud(cfg, vsphere.WithConfigFile(file),
		vsphere.WithTransport(func(string) http.RoundTripper { return rt }))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// writeFiles writes files in a new directory and returns it.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// cloneTicket returns a ticket for the session of another client.
func cloneTicket(t testing.TB, w *sim.Cloud) string {
	t.Helper()
	u, err := soap.ParseURL("https://" + sim.User + ":x@vc.test/sdk")
	if err != nil {
		t.Fatal(err)
	}
	transport := soap.NewClient(u, true)
	transport.Client.Transport = w.Front().Transport()
	c, err := vim25.NewClient(t.Context(), transport)
	if err != nil {
		t.Fatal(err)
	}
	m := session.NewManager(c)
	if err := m.Login(t.Context(), url.UserPassword(sim.User, sim.Password)); err != nil {
		t.Fatal(err)
	}
	ticket, err := m.AcquireCloneTicket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

const sharedSession = "[VirtualCenter \"vc.test\"]\n[Global]\nsecrets-directory = %s\n" +
	"[Labels]\nregion = " + sim.CategoryRegion + "\nzone = " + sim.CategoryZone + "\n"

func TestSessionManagerSharesOneSessionWithBothAPIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		var requests atomic.Int32
		secrets := writeFiles(t, map[string]string{
			"vc.test.vc-session-manager-url": "https://manager.test/session", "vc.test.vc-session-manager-token": "bearer",
		})
		c := provide(t, "vsphere.conf", fmt.Sprintf(sharedSession, secrets), nil,
			roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != "manager.test" {
					return w.Front().Transport().RoundTrip(r)
				}
				requests.Add(1)
				status, body := http.StatusOK, fmt.Sprintf(`{"token": %q}`, cloneTicket(t, w))
				if r.Header.Get("Authorization") != "Bearer bearer" {
					status, body = http.StatusUnauthorized, ""
				}
				return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			}))
		nodes := launch(t, w, "node", 3)
		initialize(t, c, nodes)
		w.EndSessions()
		time.Sleep(15 * time.Minute)
		initialize(t, c, nodes)
		if n := requests.Load(); n != 2 {
			t.Errorf("%d requests to the session manager, want one for each session", n)
		}
		for _, call := range w.Front().Log().Calls() {
			if call.Service == "rest" && strings.HasSuffix(call.Name, " session") {
				t.Errorf("%s: the REST API has a session of its own", call.Name)
			}
		}
	})
}

func TestSessionManagerThatRefusesEndsInAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets := writeFiles(t, map[string]string{
			"vc.test.vc-session-manager-url": "https://manager.test/session", "vc.test.vc-session-manager-token": "wrong",
		})
		w := newWorld(t, "")
		c := provide(t, "vsphere.conf", fmt.Sprintf(sharedSession, secrets), nil,
			roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != "manager.test" {
					return w.Front().Transport().RoundTrip(r)
				}
				return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r}, nil
			}))
		err := c.Check(t.Context())
		if !cloudapi.Is(err, cloudapi.Denied) || !strings.Contains(err.Error(), "manager.test") {
			t.Errorf("error %v", err)
		}
	})
}

func TestZonesComeFromEveryKindOfAncestor(t *testing.T) {
	for name, object := range map[string]func(*sim.Cloud) types.ManagedObjectReference{
		"resource pool":                 func(w *sim.Cloud) types.ManagedObjectReference { return w.PoolOf("node-0") },
		"machine":                       func(w *sim.Cloud) types.ManagedObjectReference { return w.RefOf("node-0") },
		"folder of machines":            func(w *sim.Cloud) types.ManagedObjectReference { return w.FolderOf("node-0") },
		"folder above the datacenter":   func(w *sim.Cloud) types.ManagedObjectReference { return w.Root() },
		"vApp, which replaces a folder": func(w *sim.Cloud) types.ManagedObjectReference { return w.MoveToVApp("node-0") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, v2, nodes := one(t, 1)
				if err := w.Detach(w.ClusterOf("node-0")); err != nil {
					t.Fatal(err)
				}
				if err := w.Detach(w.Datacenter()); err != nil {
					t.Fatal(err)
				}
				at := object(w)
				for category, tag := range map[string]string{sim.CategoryZone: "here", sim.CategoryRegion: "there"} {
					if err := w.Attach(category, tag, at); err != nil {
						t.Fatal(err)
					}
				}
				m, err := v2.InstanceMetadata(t.Context(), nodes[0])
				if err != nil || m.Zone != "here" || m.Region != "there" {
					t.Errorf("%+v, %v", m, err)
				}
			})
		})
	}
}

func TestIncompleteChainContributesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, v2, nodes := one(t, 1)
		// The chain of the host has the zone of the cluster and no region, that of the machine has both.
		if err := w.Detach(w.Datacenter()); err != nil {
			t.Fatal(err)
		}
		for category, tag := range map[string]string{sim.CategoryZone: "own-zone", sim.CategoryRegion: "own-region"} {
			if err := w.Attach(category, tag, w.RefOf("node-0")); err != nil {
				t.Fatal(err)
			}
		}
		m, err := v2.InstanceMetadata(t.Context(), nodes[0])
		if err != nil || m.Zone != "own-zone" || m.Region != "own-region" {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestCollectionInPagesHasAllMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		nodes := launch(t, w, "node", 30)
		// A vCenter chooses the size of pages; vcsim obeys the client.
		c := provide(t, "vsphere.conf", fmt.Sprintf("[VirtualCenter \"vc.test\"]\nuser = %s\npassword = %q\n[Labels]\n"+
			"region = %s\nzone = %s\n", sim.User, sim.Password, sim.CategoryRegion, sim.CategoryZone), nil,
			roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Body != nil {
					content, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					content = bytes.ReplaceAll(content, []byte("<options></options>"),
						[]byte("<options><maxObjects>7</maxObjects></options>"))
					r = r.Clone(r.Context())
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
					r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
				}
				return w.Front().Transport().RoundTrip(r)
			}))
		initialize(t, c, nodes)
		pages := 0
		for _, call := range w.Front().Log().Calls() {
			if call.Name == "ContinueRetrievePropertiesEx" {
				pages++
			}
		}
		if pages < 4 {
			t.Errorf("%d further pages", pages)
		}
	})
}

func TestRotatedPasswordIsUsedInBothAPIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		text := func(password string) string {
			return fmt.Sprintf("[VirtualCenter \"vc.test\"]\nuser = %s\npassword = %q\n[Labels]\nregion = %s\nzone = %s\n",
				sim.User, password, sim.CategoryRegion, sim.CategoryZone)
		}
		file := filepath.Join(writeFiles(t, map[string]string{"vsphere.conf": text(sim.Password)}), "vsphere.conf")
		c := provide(t, file, text(sim.Password), nil, w.Front().Transport())
		nodes := launch(t, w, "node", 3)
		initialize(t, c, nodes[:1])
		w.SetPassword("rotated")
		if err := os.WriteFile(file, []byte(text("rotated")), 0o600); err != nil {
			t.Fatal(err)
		}
		// The session of SOAP lives on, with the user of the previous password; that of REST ends.
		w.EndRESTSessions()
		time.Sleep(15 * time.Minute)
		initialize(t, c, nodes[:2])
		w.EndSessions()
		w.EndRESTSessions()
		time.Sleep(15 * time.Minute)
		initialize(t, c, nodes)
		if err := c.Health()[0].Err; err != nil {
			t.Errorf("health: %v", err)
		}
	})
}

func TestSkipNodeDeletionKeepsNodesOfDeletedMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for value, kept := range map[string]bool{"": true, "true": true, "false": false} {
			w := newWorld(t, "")
			c := provide(t, "vsphere.conf", fmt.Sprintf("[VirtualCenter \"vc.test\"]\nuser = %s\npassword = %q\n", sim.User,
				sim.Password), []string{"SKIP_NODE_DELETION=" + value}, w.Front().Transport())
			node := launch(t, w, "node", 1)[0]
			v2, _ := c.InstancesV2()
			m, err := v2.InstanceMetadata(t.Context(), node)
			if err != nil {
				t.Fatal(err)
			}
			node.Spec.ProviderID = m.ProviderID
			if err := w.Terminate("node-0"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			unregistered := node.DeepCopy()
			unregistered.Spec.ProviderID = ""
			for name, node := range map[string]*v1.Node{"with": node, "without": unregistered} {
				exists, err := v2.InstanceExists(t.Context(), node)
				if kept && (err == nil || !strings.Contains(err.Error(), "SKIP_NODE_DELETION")) || !kept && (err != nil || exists) {
					t.Errorf("SKIP_NODE_DELETION=%s, %s a provider ID: %v, %v", value, name, exists, err)
				}
			}
		}
	})
}

func TestRestartForgetsNoInaccessibleMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, _, nodes := one(t, 2)
		initialize(t, c, nodes)
		if err := w.Update("node-0", func(vm *simulator.VirtualMachine) {
			vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateInaccessible
			vm.Guest, vm.Summary.Config.Uuid = &types.GuestInfo{}, ""
		}); err != nil {
			t.Fatal(err)
		}
		restarted, err := newCloud("", w)
		if err != nil {
			t.Fatal(err)
		}
		v2, _ := restarted.InstancesV2()
		if exists, err := v2.InstanceExists(t.Context(), nodes[0]); err == nil && !exists {
			t.Error("the inaccessible machine counts as deleted")
		}
		exist(t, v2, nodes[1], true)
	})
}

func TestNodeWithoutProviderIDAndMachineIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, v2, nodes := one(t, 1)
		if err := w.Terminate("node-0"); err != nil {
			t.Fatal(err)
		}
		if _, err := v2.InstanceMetadata(t.Context(), nodes[0]); !errors.Is(err, cloudprovider.InstanceNotFound) {
			t.Errorf("error %v", err)
		}
		exist(t, v2, nodes[0], false)
	})
}

func TestEqualGuestNamesInTwoVCentersAreAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newWorld(t, "first"), newWorld(t, "second")
		c, err := newCloud("", first, second)
		if err != nil {
			t.Fatal(err)
		}
		nodes := append(launch(t, first, "node", 1), launch(t, second, "node", 1)...)
		v2, _ := c.InstancesV2()
		ids := map[string]bool{}
		for _, node := range nodes {
			m, err := v2.InstanceMetadata(t.Context(), node)
			if err != nil {
				t.Fatal(err)
			}
			ids[m.ProviderID] = true
		}
		if len(ids) != 2 {
			t.Errorf("the nodes have provider IDs %v", ids)
		}
		other := &v1.Node{}
		other.Name = "node-0"
		if _, err := v2.InstanceMetadata(t.Context(), other); !cloudapi.Is(err, cloudapi.Invalid) {
			t.Errorf("without a system UUID: error %v", err)
		}
	})
}

func TestUncertainMachineDoesNotFailOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, v2, nodes := one(t, 4)
		initialize(t, c, nodes)
		id := strings.TrimPrefix(nodes[0].Spec.ProviderID, "vsphere://")
		if err := w.Update("node-1", func(vm *simulator.VirtualMachine) {
			vm.Config.Uuid, vm.Summary.Config.Uuid = id, id
		}); err != nil {
			t.Fatal(err)
		}
		if err := w.Hide("node-2"); err != nil {
			t.Fatal(err)
		}
		if err := w.Terminate("node-3"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		fresh := launch(t, w, "joining", 2)
		all := append(slices.Clone(nodes), fresh...)
		errs, exists := make([]error, len(all)), make([]bool, len(all))
		var wg sync.WaitGroup
		for i, node := range all {
			wg.Go(func() { exists[i], errs[i] = v2.InstanceExists(t.Context(), node) })
		}
		wg.Wait()
		// The UUID of node-0 is that of two machines, that of node-1 was changed, and node-2 cannot be read.
		for i, want := range []string{"error", "deleted", "error", "deleted", "exists", "exists"} {
			have := "deleted"
			if exists[i] {
				have = "exists"
			}
			if errs[i] != nil {
				have = "error"
			}
			if have != want {
				t.Errorf("%s: %s (%v), want %s", all[i].Name, have, errs[i], want)
			}
		}
	})
}
