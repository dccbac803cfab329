// Package clusterid reads the ID of a cluster that is in the names of objects which all of its Services share. It is in
// the ConfigMap ingress-uid, which ingress-gce uses too.
package clusterid

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// The ConfigMap with the ID. Its names can never change.
const (
	configMap   = "ingress-uid"
	keyProvider = "provider-uid"
	keyUID      = "uid"
)

// KubeRules are the permissions in the cluster that a Reader needs.
func KubeRules() []provider.KubeRule {
	resources := []string{"configmaps"}
	return []provider.KubeRule{
		{Namespace: metav1.NamespaceSystem, Resources: resources, Names: []string{configMap}, Verbs: []string{"get"}},
		{Namespace: metav1.NamespaceSystem, Resources: resources, Verbs: []string{"create"}},
	}
}

// maxAge is how long an ID that was read counts: people may edit the ConfigMap.
const maxAge = 10 * time.Minute

// Unassigned stands for the ID of a cluster that has none yet in plans, which change nothing. No cluster has it: IDs
// are random.
const Unassigned = "0000000000000000"

// Reader reads the ID. It is safe for concurrent use.
type Reader struct {
	value   *snapshot.Value[string]
	runtime atomic.Pointer[provider.Runtime]
}

// New returns a Reader without a runtime. It makes no call.
func New(c clock.PassiveClock) *Reader {
	r := &Reader{}
	r.value = snapshot.NewValue(snapshot.ValueOptions[string]{Clock: c, MaxAge: maxAge, Read: r.read})
	return r
}

// SetRuntime gives access to the cluster.
func (r *Reader) SetRuntime(runtime provider.Runtime) { r.runtime.Store(&runtime) }

// Get returns the ID. The first caller in a cluster without one creates it, but not in a dry run: the ID is Unassigned
// then, as it is without a cluster. Errors are of class cloudapi.Unavailable.
func (r *Reader) Get(ctx context.Context) (string, error) { return r.value.Get(ctx) }

func (r *Reader) read(ctx context.Context) (string, error) {
	runtime := r.runtime.Load()
	switch {
	case runtime == nil, runtime.ConfigMap == nil && !runtime.DryRun:
		return "", failure(errors.New("the manager is not connected to its cluster yet"))
	case runtime.ConfigMap == nil:
		return Unassigned, nil
	}
	initial, err := newID()
	if err != nil {
		return "", failure(err)
	}
	data, err := runtime.ConfigMap(ctx, types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: configMap},
		map[string]string{keyProvider: initial, keyUID: initial})
	switch {
	case runtime.DryRun && apierrors.IsNotFound(err):
		return Unassigned, nil
	case err != nil:
		return "", failure(err)
	}
	for _, key := range []string{keyProvider, keyUID} {
		if id, exists := data[key]; exists { // Legacy clusters have an empty one, and names without it.
			return id, nil
		}
	}
	return "", failure(fmt.Errorf("it has neither the key %s nor %s", keyProvider, keyUID))
}

// newID returns 16 hexadecimal digits.
func newID() (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(random[:]), nil
}

// failure returns an error with what the manager needs.
func failure(err error) error {
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "ConfigMap " + metav1.NamespaceSystem + "/" + configMap,
		Err: fmt.Errorf("the manager reads the ID of the cluster from it and creates it once, for which its account needs "+
			"the permissions get and create: %w", err)}
}
