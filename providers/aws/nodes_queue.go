package aws

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// nodeTask is one node to work on. goneID is set for a node that was deleted: the ID of its instance.
type nodeTask struct{ node, goneID string }

// nodeWork is a task with its node; nil for one that was deleted.
type nodeWork struct {
	nodeTask
	object *v1.Node
}

// nodeQueueOptions say what a nodeQueue does. All but Gone and Rate are required.
type nodeQueueOptions struct {
	// Name of the queue in metrics and logs.
	Name string
	// Wants says whether there is something to do for a node. It does no I/O.
	Wants func(*v1.Node) bool
	// Gone returns the ID of the instance of a node that was deleted, if there is something to do
	// for it. Without it nothing ever is.
	Gone func(*v1.Node) (instanceID string, ok bool)
	// Do works on a batch, and returns the errors of the tasks that shall be tried again.
	Do func(context.Context, []nodeWork) map[nodeTask]error
	// MaxBatch is the most tasks of one Do, Workers how many run side by side.
	MaxBatch, Workers int
	// MaxRetries is how often a task is tried again; 0 is for ever.
	MaxRetries int
	// MaxBackoff is the longest time between two tries.
	MaxBackoff time.Duration
	// Failed, where set, is told of each try for a node that failed, and whether it was the last.
	Failed func(last bool)
	// Rate, where set, limits the tasks that are begun.
	Rate *rate.Limiter
}

// firstBackoff is the time before the first retry; it doubles with each.
const firstBackoff = 5 * time.Millisecond

// nodeQueue works on nodes in batches: a worker that is free takes all that wait, so that a lone
// node is worked on at once and a crowd in few calls.
type nodeQueue struct {
	options nodeQueueOptions
	queue   workqueue.TypedRateLimitingInterface[nodeTask]
	lister  corelisters.NodeLister
	synced  cache.InformerSynced
	// taking is held by the worker that takes tasks.
	taking sync.Mutex
}

// newNodeQueue watches the nodes from now on. Run must follow.
func newNodeQueue(o nodeQueueOptions, nodes coreinformers.NodeInformer) (*nodeQueue, error) {
	q := &nodeQueue{
		options: o, lister: nodes.Lister(), synced: nodes.Informer().HasSynced,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[nodeTask](firstBackoff, o.MaxBackoff),
			workqueue.TypedRateLimitingQueueConfig[nodeTask]{Name: o.Name}),
	}
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    q.changed,
		UpdateFunc: func(_, after any) { q.changed(after) },
		DeleteFunc: q.deleted,
	})
	return q, err
}

func (q *nodeQueue) changed(object any) {
	if node, ok := object.(*v1.Node); ok && q.options.Wants(node) {
		q.add(nodeTask{node: node.Name})
	}
}

// deleted takes a node, or what an informer that missed the deletion knows of it.
func (q *nodeQueue) deleted(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	node, ok := object.(*v1.Node)
	if !ok || q.options.Gone == nil {
		return
	}
	if id, ok := q.options.Gone(node); ok {
		q.add(nodeTask{node: node.Name, goneID: id})
	}
}

func (q *nodeQueue) add(task nodeTask) {
	if q.options.Rate == nil {
		q.queue.Add(task)
		return
	}
	q.queue.AddAfter(task, q.options.Rate.Reserve().Delay())
}

// run works until ctx ends.
func (q *nodeQueue) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, q.queue.ShutDown)
	defer stop()
	if !cache.WaitForCacheSync(ctx.Done(), q.synced) {
		return
	}
	var workers sync.WaitGroup
	for range q.options.Workers {
		workers.Go(func() {
			for {
				tasks := q.take()
				if len(tasks) == 0 {
					return
				}
				q.work(ctx, tasks)
			}
		})
	}
	workers.Wait()
}

// take waits for a task, and takes with it all others that wait. It returns none when the queue ends.
func (q *nodeQueue) take() []nodeTask {
	q.taking.Lock()
	defer q.taking.Unlock()
	task, ended := q.queue.Get()
	if ended {
		return nil
	}
	tasks := []nodeTask{task}
	for len(tasks) < q.options.MaxBatch && q.queue.Len() > 0 {
		if task, ended = q.queue.Get(); ended {
			break
		}
		tasks = append(tasks, task)
	}
	return tasks
}

func (q *nodeQueue) work(ctx context.Context, tasks []nodeTask) {
	var batch []nodeWork
	errs := map[nodeTask]error{}
	for _, task := range tasks {
		if task.goneID != "" {
			batch = append(batch, nodeWork{nodeTask: task})
			continue
		}
		switch node, err := q.lister.Get(task.node); {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs[task] = err
		case q.options.Wants(node):
			batch = append(batch, nodeWork{task, node})
		}
	}
	if len(batch) > 0 {
		for task, err := range q.options.Do(ctx, batch) {
			errs[task] = err
		}
	}
	logger := klog.FromContext(ctx)
	for _, task := range tasks {
		err := errs[task]
		switch {
		case err == nil || ctx.Err() != nil:
			q.queue.Forget(task)
		case q.options.MaxRetries > 0 && q.queue.NumRequeues(task) >= q.options.MaxRetries:
			q.failed(true)
			logger.Error(err, "Giving up on a node until it changes", "queue", q.options.Name, "node", task.node, "tries", q.options.MaxRetries+1)
			q.queue.Forget(task)
		default:
			q.failed(false)
			logger.V(2).Info("A node is tried again", "queue", q.options.Name, "node", task.node, "err", err)
			q.queue.AddRateLimited(task)
		}
		q.queue.Done(task)
	}
}

func (q *nodeQueue) failed(last bool) {
	if q.options.Failed != nil {
		q.options.Failed(last)
	}
}
