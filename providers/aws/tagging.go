package aws

import (
	"context"
	"crypto/md5" //nolint:gosec // not for security: the hash is in labels that exist
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// taggingController is its name in --controllers, as ever.
	taggingController = "tagging"
	// taggingBatch is how many instances one call tags. EC2 takes 1,000 and advises fewer.
	taggingBatch = 100
	// taggingCalls bounds the search for the one instance that a call is refused for: 15 calls find
	// one of 100, while a policy that allows nothing is not asked about each.
	taggingCalls = 20
	// taggingRetries and taggingBackoff let a task live for about five minutes.
	taggingRetries = 18
	taggingBackoff = time.Minute
	// freshNode is how long after a node's creation its instance may still be unknown to parts of EC2.
	freshNode = 5 * time.Minute
	// labelWriters is how many nodes are labelled side by side.
	labelWriters = 16
)

// tagging keeps the configured tags on the instances of nodes. A node's label holds a hash of the
// tags that its instance was given, so that nothing is asked or written while they stay the same.
type tagging struct {
	// ec2 connects to EC2 when there is something to do.
	ec2   func(context.Context) (api.EC2, error)
	ids   instances.Scheme
	tags  map[string]string
	clock clock.PassiveClock
	lent  provider.ControllerContext
	// legacy are the metrics of earlier managers; nil records nothing.
	legacy *legacyMetrics
}

// tagsHash is what the label says of tags. It can never change, or each upgrade would tag every instance anew.
func tagsHash(tags map[string]string) string {
	var list []string
	for key, value := range tags {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	sum := md5.Sum([]byte(strings.Join(list, ","))) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// queue returns the queue that does the work.
func (t *tagging) queue(f *flags) (*nodeQueue, error) {
	return newNodeQueue(nodeQueueOptions{
		Name: taggingController, Wants: t.wants, Gone: t.instanceOf, Do: t.do,
		MaxBatch: taggingBatch, Workers: f.workers, MaxRetries: taggingRetries, MaxBackoff: taggingBackoff, Rate: f.limiter(), Failed: t.legacy.tagFailed,
	}, t.lent.Nodes)
}

// wants says whether the node's instance has to be tagged.
func (t *tagging) wants(node *v1.Node) bool {
	_, ok := t.instanceOf(node)
	return ok && node.Labels[names.TaggedLabel] != tagsHash(t.tags)
}

// instanceOf returns the EC2 instance behind a node of ours; Fargate nodes have none.
func (t *tagging) instanceOf(node *v1.Node) (string, bool) {
	if t.lent.Owns(node) != provider.Mine {
		return "", false
	}
	id, err := t.ids.Parse(node.Spec.ProviderID)
	return id, err == nil && machineID.MatchString(id)
}

// do tags the instances of the nodes that exist and removes the tags of those that were deleted.
func (t *tagging) do(ctx context.Context, batch []nodeWork) map[nodeTask]error {
	if t.lent.DryRun {
		klog.FromContext(ctx).Info("Dry run: would change tags of instances", "nodes", len(batch), "tags", t.tags)
		return nil
	}
	client, err := t.ec2(ctx)
	if err != nil {
		return failed(batch, err)
	}
	tag, untag := map[string]nodeWork{}, map[string]nodeWork{}
	for _, w := range batch {
		if w.object == nil {
			untag[w.goneID] = w
		} else if id, ok := t.instanceOf(w.object); ok {
			tag[id] = w
		}
	}
	errs := t.tag(ctx, client, tag)
	maps.Copy(errs, t.untag(ctx, client, untag))
	return errs
}

// tag tags instances and labels their nodes.
func (t *tagging) tag(ctx context.Context, client api.EC2, work map[string]nodeWork) map[nodeTask]error {
	refused := together(work, func(ids []string) error {
		_, err := client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: t.list()})
		return awserr.Wrap("CreateTags", err)
	})
	errs := map[nodeTask]error{}
	var label []nodeWork
	for id, w := range work {
		err := refused[id]
		switch {
		case err == nil:
			label = append(label, w)
		case cloudapi.Is(err, cloudapi.NotFound) && t.clock.Since(w.object.CreationTimestamp.Time) >= freshNode:
			klog.FromContext(ctx).Info("No tags for an instance that does not exist", "instance", id, "node", w.node)
		default:
			errs[w.nodeTask] = err
		}
	}
	written := make([]error, len(label))
	workqueue.ParallelizeUntil(ctx, labelWriters, len(label), func(n int) { written[n] = t.label(ctx, label[n].node) })
	for n, err := range written {
		if err = errors.Join(err, ctx.Err()); err != nil {
			errs[label[n].nodeTask] = err
		} else if node := label[n].object; node.Labels[names.TaggedLabel] == "" {
			t.legacy.tagged(t.clock.Since(node.CreationTimestamp.Time))
		}
	}
	return errs
}

// label notes at the node what its instance was given.
func (t *tagging) label(ctx context.Context, node string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{names.TaggedLabel: tagsHash(t.tags)}}})
	if err != nil {
		return err
	}
	_, err = t.lent.Client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// untag removes the tags from instances whose nodes were deleted, unless a node has come back.
func (t *tagging) untag(ctx context.Context, client api.EC2, work map[string]nodeWork) map[nodeTask]error {
	if len(work) == 0 {
		return nil
	}
	for _, object := range t.lent.Nodes.Informer().GetStore().List() {
		if node, ok := object.(*v1.Node); ok {
			if id, ok := t.instanceOf(node); ok {
				delete(work, id)
			}
		}
	}
	errs := map[nodeTask]error{}
	for id, err := range together(work, func(ids []string) error {
		_, err := client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ids, Tags: t.list()})
		return awserr.Wrap("DeleteTags", err)
	}) {
		if !cloudapi.Is(err, cloudapi.NotFound) {
			errs[work[id].nodeTask] = err
		}
	}
	return errs
}

// list is the tags in EC2's terms, sorted.
func (t *tagging) list() []ec2types.Tag {
	var list []ec2types.Tag
	for _, key := range slices.Sorted(maps.Keys(t.tags)) {
		value := t.tags[key]
		list = append(list, ec2types.Tag{Key: &key, Value: &value})
	}
	return list
}

// together calls with all instances, and returns the errors by instance. EC2 refuses a whole call
// for one instance: it names one that does not exist, which is then left out; one that the policy
// does not allow (it lacks the cluster's tag) or that is invalid is found by halving.
func together(work map[string]nodeWork, call func(ids []string) error) map[string]error {
	errs := map[string]error{}
	calls := 0
	var try func(ids []string)
	try = func(ids []string) {
		if len(ids) == 0 {
			return
		}
		err := call(ids)
		calls++
		var rest []string
		switch {
		case err == nil:
			return
		case cloudapi.Is(err, cloudapi.NotFound):
			rest = withoutMentioned(ids, err)
		case cloudapi.Is(err, cloudapi.Denied, cloudapi.Invalid) && len(ids) > 1 && calls < taggingCalls:
			try(ids[:len(ids)/2])
			try(ids[len(ids)/2:])
			return
		}
		again := len(rest) > 0 && len(rest) < len(ids)
		for _, id := range ids {
			if !again || !slices.Contains(rest, id) {
				errs[id] = err
			}
		}
		if again {
			try(rest)
		}
	}
	try(slices.Sorted(maps.Keys(work)))
	return errs
}

// failed is one error of all tasks.
func failed(batch []nodeWork, err error) map[nodeTask]error {
	errs := make(map[nodeTask]error, len(batch))
	for _, w := range batch {
		errs[w.nodeTask] = err
	}
	return errs
}
