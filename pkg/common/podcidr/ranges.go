package podcidr

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// ErrExhausted is the error about a Node for which no podCIDR is left.
var ErrExhausted = errors.New("all podCIDRs are in use")

const (
	// listPage is the number of Nodes of one request.
	listPage = 500
	// maxNamed limits the Nodes of a message.
	maxNamed = 5
	// listPeriod is the shortest time between two lists of all Nodes.
	listPeriod = time.Minute
)

// Ranges allocates podCIDRs. All Nodes of the cluster share one, whichever cloud they are of. No podCIDR is given to
// two Nodes, whatever is read and written meanwhile:
//
//   - A podCIDR is reserved before it is written, and the reservation ends only when the Node shows a podCIDR or does
//     not exist. A write with an unknown result is repeated with the same podCIDR.
//   - What any Node has counts as used, and so do the ranges of Services.
//   - The first reservation follows a consistent list of all Nodes, because informers may start with older ones.
//
// It is safe for concurrent use.
type Ranges struct {
	options Options
	pools   []*pool

	mu sync.Mutex
	// reserved are the podCIDRs that Nodes have or may get, and that the lister does not show yet.
	reserved map[types.UID][]netip.Prefix
	listedAt time.Time
	// large names Nodes with ranges of more than one Node, for messages.
	large []string
}

// Options configure New. All fields but Clock are required.
type Options struct {
	Config Config
	Client kubernetes.Interface
	// Nodes are all Nodes of the cluster.
	Nodes corelisters.NodeLister
	Clock clock.Clock
}

// New returns the allocator. It makes no call. The configuration may be invalid if the allocator is not used.
func New(o Options) *Ranges {
	o.Clock = clocks.OrReal(o.Clock)
	return &Ranges{options: o, reserved: map[types.UID][]netip.Prefix{}}
}

// start makes the pools, and reads what Nodes have.
func (r *Ranges) start(ctx context.Context) error {
	if !r.listedAt.IsZero() {
		return nil
	}
	r.pools = nil
	for _, cluster := range r.options.Config.Cluster {
		bits, _ := r.options.Config.mask(cluster)
		r.pools = append(r.pools, newPool(cluster, bits))
	}
	return r.list(ctx)
}

// Reserve returns the podCIDRs that Nodes without one have to get: one of each family, or an error that is
// ErrExhausted for a Node that gets none. The last error is that of the list of Nodes.
func (r *Ranges) Reserve(ctx context.Context,
	nodes []*v1.Node) (map[types.UID][]netip.Prefix, map[types.UID]error, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.start(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.markUsed(); err != nil {
		return nil, nil, err
	}
	found, errs := r.take(nodes)
	if len(errs) == 0 || r.options.Clock.Since(r.listedAt) < listPeriod {
		return found, errs, nil
	}
	// Reservations of Nodes that were deleted unseen end with a list. Without it, what is reserved is reserved.
	if r.list(ctx) != nil {
		return found, errs, nil
	}
	if err := r.markUsed(); err != nil {
		return nil, nil, err
	}
	found, errs = r.take(nodes)
	return found, errs, nil
}

// Settle replaces the reservation of a Node by what the API server shows that it has, which the lister may not show
// yet; by none if it does not exist.
func (r *Ranges) Settle(uid types.UID, has []netip.Prefix) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(has) == 0 {
		delete(r.reserved, uid)
		return
	}
	r.reserved[uid] = has
}

// list reads all Nodes consistently, and reserves what they have.
func (r *Ranges) list(ctx context.Context) error {
	reserved := map[types.UID][]netip.Prefix{}
	options := metav1.ListOptions{Limit: listPage}
	for {
		page, err := r.options.Client.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return fmt.Errorf("listing all nodes before the first podCIDR: %w", err)
		}
		for _, n := range page.Items {
			if ranges := OfNode(n.Spec.PodCIDR, n.Spec.PodCIDRs); len(ranges) > 0 {
				reserved[n.UID] = ranges
			} else if pending, ok := r.reserved[n.UID]; ok {
				reserved[n.UID] = pending
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	r.reserved, r.listedAt = reserved, r.options.Clock.Now()
	return nil
}

// markUsed marks what Nodes, Services and reservations have, and ends the reservations that the Nodes show.
func (r *Ranges) markUsed() error {
	nodes, err := r.options.Nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, p := range r.pools {
		clear(p.used)
	}
	r.mark(r.options.Config.Services)
	r.large = nil
	for _, n := range nodes {
		ranges := OfNode(n.Spec.PodCIDR, n.Spec.PodCIDRs)
		r.mark(ranges)
		r.recordLarge(n.Name, ranges)
		if len(ranges) > 0 {
			delete(r.reserved, n.UID)
		}
	}
	for _, ranges := range r.reserved {
		r.mark(ranges)
	}
	return nil
}

// recordLarge records a Node with more than the podCIDRs of one Node. A kubelet can register its own Node with any
// range.
func (r *Ranges) recordLarge(node string, ranges []netip.Prefix) {
	for _, p := range r.pools {
		for _, used := range ranges {
			if p.cluster.Overlaps(used) && used.Bits() < p.bits && len(r.large) < maxNamed {
				r.large = append(r.large, fmt.Sprintf("node %s has %s", node, used))
			}
		}
	}
}

func (r *Ranges) mark(ranges []netip.Prefix) {
	for _, p := range r.pools {
		for _, used := range ranges {
			p.mark(used)
		}
	}
}

// take reserves podCIDRs for Nodes.
func (r *Ranges) take(nodes []*v1.Node) (map[types.UID][]netip.Prefix, map[types.UID]error) {
	found, errs := map[types.UID][]netip.Prefix{}, map[types.UID]error{}
	for _, n := range nodes {
		held, ok := r.reserved[n.UID]
		if !ok {
			ranges, full := r.takeEach()
			if len(full) > 0 {
				errs[n.UID] = fmt.Errorf("%w: %s; give a larger range, or delete nodes that do not exist any more", ErrExhausted,
					strings.Join(append(full, r.large...), ", "))
				continue
			}
			held = ranges
			r.reserved[n.UID] = held
		}
		found[n.UID] = held
	}
	return found, errs
}

// takeEach takes a podCIDR of each family, or names the ranges that have none. Then those of the other family are used
// until they are marked again: all other Nodes of the batch get none either.
func (r *Ranges) takeEach() (ranges []netip.Prefix, full []string) {
	for _, p := range r.pools {
		if taken, ok := p.take(); ok {
			ranges = append(ranges, taken)
		} else {
			full = append(full, fmt.Sprintf("--%s %s has no /%d left", FlagCluster, p.cluster, p.bits))
		}
	}
	return ranges, full
}
