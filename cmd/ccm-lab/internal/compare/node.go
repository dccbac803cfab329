package compare

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// waitFor waits for a condition. A timeout returns no error: the checks that follow show it.
func (t *Trial) waitFor(ctx context.Context, timeout time.Duration, condition wait.ConditionWithContextFunc) error {
	waitCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Requests have the outer context, because client-go fails them early if a deadline is near.
	err := wait.PollUntilContextCancel(waitCtx, poll, true, func(context.Context) (bool, error) { return condition(ctx) })
	t.duration = time.Since(t.started)
	if err != nil && waitCtx.Err() == nil {
		return err
	}
	return ctx.Err()
}

// join launches a machine and registers its node, which is deleted at the end.
func (t *Trial) join(ctx context.Context, name string, podCIDRs ...string) (string, error) {
	node, err := t.cluster.Cloud.World.Launch(world.Machine{Name: "node-" + name, PodCIDRs: podCIDRs})
	if err != nil {
		return "", err
	}
	terminated := false
	t.terminate = func() error {
		if terminated {
			return nil
		}
		terminated = true
		return t.cluster.Cloud.World.Terminate(node.Name)
	}
	t.addCleanup(func(ctx context.Context) error {
		if err := t.terminate(); err != nil {
			return err
		}
		return t.live.DeleteNode(ctx, node.Name)
	})
	if err := t.manifest(manifestOf(node)); err != nil {
		return "", err
	}
	return node.Name, lab.RegisterNode(ctx, t.cluster.Plane.Client, node)
}

// manifestOf returns the node that a kubelet registers as a manifest, for the evidence.
func manifestOf(node *v1.Node) *v1.Node {
	node = node.DeepCopy()
	node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	return node
}

// label sets a label of a node, and unlabel removes it.
func (t *Trial) label(ctx context.Context, node, key, value string) error {
	return t.patchLabel(ctx, node, key, &value)
}

func (t *Trial) unlabel(ctx context.Context, node, key string) error {
	return t.patchLabel(ctx, node, key, nil)
}

func (t *Trial) patchLabel(ctx context.Context, node, key string, value *string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]*string{key: value}}})
	if err != nil {
		return err
	}
	_, err = t.cluster.Plane.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
