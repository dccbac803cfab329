package vsphere_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// join initializes nodes, with the labels of a node that joins.
func join(t *testing.T, c *vsphere.Cloud, nodes []*v1.Node) {
	t.Helper()
	v2, _ := c.InstancesV2()
	for _, node := range nodes {
		m, err := v2.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		node.Spec.ProviderID = m.ProviderID
		for key, value := range m.AdditionalLabels {
			metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
		}
	}
}

// restart returns a provider that has read nothing yet, in a cluster with these nodes.
func restart(t *testing.T, nodes []*v1.Node, worlds ...*sim.Cloud) *vsphere.Cloud {
	t.Helper()
	c, err := newCloud("", worlds...)
	if err != nil {
		t.Fatal(err)
	}
	setNodes(t, c, nodes)
	return c
}

// setNodes sets the nodes of the cluster.
func setNodes(t *testing.T, c *vsphere.Cloud, nodes []*v1.Node) {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, node := range nodes {
		if err := indexer.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	c.Nodes().Set(corelisters.NewNodeLister(indexer), nil)
}

// The account loses its permission while the manager does not run: the vCenter shows neither the machine nor that
// something is missing. Only the identifier of the object, which the Node has as a label, leads to it.
func TestRestartForgetsNoHiddenMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newWorld(t, "first"), newWorld(t, "second")
		nodes := append(launch(t, first, "node", 4), launch(t, second, "other", 2)...)
		before, err := newCloud("", first, second)
		if err != nil {
			t.Fatal(err)
		}
		join(t, before, nodes)
		hidden, deleted, unlabelled, stale := nodes[0], nodes[1], nodes[2], nodes[3]
		delete(unlabelled.Labels, names.MachineLabel)
		// An object of another vCenter proves nothing here.
		stale.Labels[names.MachineLabel] = nodes[5].Labels[names.MachineLabel]
		if err := first.Hide(hidden.Name); err != nil {
			t.Fatal(err)
		}
		for _, node := range []*v1.Node{deleted, unlabelled, stale} {
			if err := first.Terminate(node.Name); err != nil {
				t.Fatal(err)
			}
		}
		c := restart(t, nodes, first, second)
		v2, _ := c.InstancesV2()
		for range 2 {
			_, err = v2.InstanceExists(t.Context(), hidden)
			if !cloudapi.Is(err, cloudapi.Unavailable) || !strings.Contains(err.Error(), "System.Read") {
				t.Errorf("a machine that the account cannot see: error %v", err)
			}
			exist(t, v2, deleted, false)
			exist(t, v2, unlabelled, false)
			exist(t, v2, stale, false)
			exist(t, v2, nodes[4], true)
			time.Sleep(5 * time.Minute)
		}
	})
}

// A kubelet that registers its Node with the provider ID of another one, and with a label that names an object that
// does not exist, proves nothing about a machine that the account cannot see.
func TestLabelOfOtherNodeProvesNoDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		nodes := launch(t, w, "node", 2)
		before, err := newCloud("", w)
		if err != nil {
			t.Fatal(err)
		}
		join(t, before, nodes)
		hidden, forged := nodes[0], nodes[1]
		vcenter, _ := names.ParseMachineLabel(hidden.Labels[names.MachineLabel])
		forged.Spec.ProviderID = hidden.Spec.ProviderID
		forged.Labels[names.MachineLabel] = names.FormatMachineLabel(vcenter, "vm-99999")
		if err := w.Hide(hidden.Name); err != nil {
			t.Fatal(err)
		}
		for _, order := range [][]*v1.Node{{hidden, forged}, {forged, hidden}} {
			for i, node := range order {
				node.Name = []string{"a", "b"}[i] // the lister has no order
			}
			for range 5 {
				v2, _ := restart(t, order, w).InstancesV2()
				if exists, err := v2.InstanceExists(t.Context(), hidden); err == nil {
					t.Errorf("the hidden machine exists: %t", exists)
				}
			}
		}
	})
}
