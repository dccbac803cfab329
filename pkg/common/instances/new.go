package instances

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// New returns Instances over source. It makes no call.
func New(o Options, source Source, scheme Scheme) *Instances {
	o = o.withDefaults()
	shared().set.Register()
	i := &Instances{options: o, source: source, scheme: scheme, store: snapshot.NewStore(o.Clock)}
	i.known = snapshot.NewTable(i.store, snapshot.Kind[Instance]{
		ID:    func(in Instance) string { return in.ID },
		List:  i.list,
		Index: indexKeys,
	})
	i.instancesV2 = instancesV2{i}
	i.policy = &listPolicy{clock: o.Clock, store: i.store}
	i.get = batch.New(i.batchOptions("get"), i.getAll)
	i.find = batch.New(i.batchOptions("find"), i.findAll)
	return i
}

func (i *Instances) batchOptions(operation string) batch.Options {
	return batch.Options{
		Provider: i.options.Provider, Operation: operation, MaxSize: i.options.MaxBatch,
		// An API that rejects a request as invalid rejects one of its IDs.
		Split: func(err error) bool { return cloudapi.Is(err, cloudapi.Invalid) },
	}
}
