package assign

import "k8s.io/client-go/tools/cache"

// handlerFuncs is a handler of additions.
func handlerFuncs(added func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: func(any) { added() }}
}
