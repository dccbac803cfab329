package browser

import (
	"context"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// A screen reader reads a name for every control, and the verdict with each cell of the grid.
func TestControlsHaveNames(t *testing.T) {
	for _, fragment := range []string{"", "#cell=service.tcp-port/fake"} {
		b := open(t, desktop, "light", fragment)
		var nodes []*accessibility.Node
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			tree, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
			nodes = tree.Nodes
			return err
		}))
		controls := 0
		for _, n := range nodes {
			if n.Ignored || !slices.Contains([]string{`"button"`, `"combobox"`, `"searchbox"`, `"link"`, `"checkbox"`,
				`"grid"`, `"dialog"`}, string(n.Role.Value)) {
				continue
			}
			controls++
			if n.Name == nil || string(n.Name.Value) == `""` {
				t.Errorf("%s without a name: node %d", n.Role.Value, n.BackendDOMNodeID)
			}
		}
		if controls < 8 {
			t.Errorf("%d controls", controls)
		}
	}
}
