package controllers

import (
	"context"
	"crypto/md5" //nolint:gosec // not for security: the hash is in labels that exist
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodequeue"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// tagging adds the configured tags to the instances of Nodes. A label of the Node holds a hash of the tags, so that
// nothing is read or written while they stay the same.
type tagging struct{ nodeController }

// tagsHash returns the value of the label. It can never change, or an upgrade would tag every instance again.
func tagsHash(tags map[string]string) string {
	var pairs []string
	for key, value := range tags {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	sum := md5.Sum([]byte(strings.Join(pairs, ","))) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// queue returns the queue of the controller.
func (t *tagging) queue() (*nodequeue.Queue, error) {
	return nodequeue.New(nodequeue.Options{
		Name: taggingController, NeedsSync: t.needsSync, Deleted: t.instanceID, Sync: t.sync,
		MaxBatch: taggingBatch, Workers: t.Flags.workers, MaxRetries: taggingRetries, MaxBackoff: taggingBackoff,
		Rate: t.Flags.limiter(), OnError: t.Legacy.ObserveTagError,
	}, t.controller.Nodes)
}

// needsSync reports whether the Node's instance has to be tagged.
func (t *tagging) needsSync(node *v1.Node) bool {
	_, ok := t.instanceID(node)
	return ok && node.Labels[names.TaggedLabel] != tagsHash(t.Flags.tags)
}

// sync tags the instances of Nodes that exist and untags those of deleted Nodes.
func (t *tagging) sync(ctx context.Context, batch []nodequeue.Work) map[nodequeue.Task]error {
	if t.controller.DryRun {
		klog.FromContext(ctx).Info("Dry run: not changing tags of instances", "nodes", len(batch), "tags", t.Flags.tags)
		return nil
	}
	ec2Client, err := t.EC2(ctx)
	if err != nil {
		return nodequeue.FailAll(batch, err)
	}
	toTag, toUntag := map[string]nodequeue.Work{}, map[string]nodequeue.Work{}
	for _, w := range batch {
		if w.Object == nil {
			toUntag[w.InstanceID] = w
		} else if id, ok := t.instanceID(w.Object); ok {
			toTag[id] = w
		}
	}
	errs := t.tag(ctx, ec2Client, toTag)
	maps.Copy(errs, t.untag(ctx, ec2Client, toUntag))
	return errs
}

// tag tags instances and labels their Nodes.
func (t *tagging) tag(ctx context.Context, ec2Client api.EC2, work map[string]nodequeue.Work) map[nodequeue.Task]error {
	tagErrs := t.callInBulk(ctx, work, func(ids []string) error {
		_, err := ec2Client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: api.EC2Tags(t.Flags.tags)})
		return awserr.Wrap("CreateTags", err)
	})
	errs := map[nodequeue.Task]error{}
	var tagged []nodequeue.Work
	for id, w := range work {
		err := tagErrs[id]
		switch {
		case err == nil:
			tagged = append(tagged, w)
		case cloudapi.Is(err, cloudapi.NotFound) && t.Clock.Since(w.Object.CreationTimestamp.Time) >= visibleAfter:
			klog.FromContext(ctx).Info("Instance does not exist; not tagged", "instance", id, "node", w.Node)
		default:
			errs[w.Task] = err
		}
	}
	labelErrs := make([]error, len(tagged))
	workqueue.ParallelizeUntil(ctx, labelWriters, len(tagged),
		func(n int) { labelErrs[n] = t.label(ctx, tagged[n].Node) })
	for n, err := range labelErrs {
		if err = errors.Join(err, ctx.Err()); err != nil {
			errs[tagged[n].Task] = err
		} else if node := tagged[n].Object; node.Labels[names.TaggedLabel] == "" {
			t.Legacy.ObserveTagDelay(t.Clock.Since(node.CreationTimestamp.Time))
		}
	}
	return errs
}

// label sets the label of a Node to the hash of the tags of its instance.
func (t *tagging) label(ctx context.Context, node string) error {
	labels := map[string]string{names.TaggedLabel: tagsHash(t.Flags.tags)}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return err
	}
	nodes := t.controller.Client.CoreV1().Nodes()
	_, err = nodes.Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// untag removes the tags from the instances of deleted Nodes, unless a Node of the instance exists again.
func (t *tagging) untag(ctx context.Context, ec2Client api.EC2,
	work map[string]nodequeue.Work) map[nodequeue.Task]error {
	if len(work) == 0 {
		return nil
	}
	for _, object := range t.controller.Nodes.Informer().GetStore().List() {
		if node, ok := object.(*v1.Node); ok {
			if id, ok := t.instanceID(node); ok {
				delete(work, id)
			}
		}
	}
	errs := map[nodequeue.Task]error{}
	for id, err := range t.callInBulk(ctx, work, func(ids []string) error {
		_, err := ec2Client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: ids, Tags: api.EC2Tags(t.Flags.tags)})
		return awserr.Wrap("DeleteTags", err)
	}) {
		if !cloudapi.Is(err, cloudapi.NotFound) {
			errs[work[id].Task] = err
		}
	}
	return errs
}

// callInBulk makes a call with all instances, and returns the errors by instance. EC2 rejects a whole call for a single
// instance. callInBulk retries without those that do not exist, and finds one that the policy denies (it lacks the
// cluster's tag) or that is invalid by halving.
func (t *tagging) callInBulk(
	ctx context.Context, work map[string]nodequeue.Work, call func(ids []string) error,
) map[string]error {
	errs := map[string]error{}
	calls := 0
	var try func(ids []string)
	try = func(ids []string) {
		if len(ids) == 0 {
			return
		}
		err := call(ids)
		calls++
		if err == nil {
			return
		}
		if cloudapi.Is(err, cloudapi.NotFound) && len(ids) > 1 {
			if existing := t.existing(ctx, ids); len(existing) > 0 && len(existing) < len(ids) {
				for _, id := range ids {
					if !slices.Contains(existing, id) {
						errs[id] = err
					}
				}
				try(existing)
				return
			}
		}
		if cloudapi.Is(err, cloudapi.NotFound, cloudapi.Denied, cloudapi.Invalid) && len(ids) > 1 && calls < maxTaggingCalls {
			try(ids[:len(ids)/2])
			try(ids[len(ids)/2:])
			return
		}
		for _, id := range ids {
			errs[id] = err
		}
	}
	try(slices.Sorted(maps.Keys(work)))
	return errs
}

// existing returns the IDs of the instances that exist and can be read.
func (t *tagging) existing(ctx context.Context, ids []string) []string {
	found, err := t.Instances.Described(ctx, ids, true)
	if _, err := awserr.SplitUnread(err); err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(found))
}
