// Package clusterid reads the ID of a cluster that is in the names of objects which all of its Services share. It is in
// the ConfigMap ingress-uid, which ingress-gce uses too.
package clusterid

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// The ConfigMap with the ID. Its names can never change.
const (
	configMap   = "ingress-uid"
	keyProvider = "provider-uid"
	keyUID      = "uid"
)

// maxAge is how long an ID that was read counts: people may edit the ConfigMap.
const maxAge = 10 * time.Minute

// Reader reads the ID, and creates the ConfigMap once if there is none. It is safe for concurrent use.
type Reader struct {
	value *snapshot.Value[string]

	mu       sync.Mutex
	client   kubernetes.Interface
	readOnly bool
}

// New returns a Reader without a client. It makes no call.
func New(c clock.PassiveClock) *Reader {
	r := &Reader{}
	r.value = snapshot.NewValue(snapshot.ValueOptions[string]{Clock: c, MaxAge: maxAge, Read: r.read})
	return r
}

// SetClient sets the client. With readOnly, no ConfigMap is created.
func (r *Reader) SetClient(client kubernetes.Interface, readOnly bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client, r.readOnly = client, readOnly
}

// Get returns the ID.
func (r *Reader) Get(ctx context.Context) (string, error) { return r.value.Get(ctx) }

func (r *Reader) read(ctx context.Context) (string, error) {
	r.mu.Lock()
	client, readOnly := r.client, r.readOnly
	r.mu.Unlock()
	if client == nil {
		return "", failure(errors.New("the manager is not connected to its cluster yet"))
	}
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	found, err := maps.Get(ctx, configMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if readOnly {
			return "", failure(errors.New("it does not exist, and a dry run does not create it"))
		}
		id, idErr := newID()
		if idErr != nil {
			return "", idErr
		}
		found, err = maps.Create(ctx, &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: configMap},
			Data:       map[string]string{keyProvider: id, keyUID: id},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // ingress-gce has created it at the same time.
			found, err = maps.Get(ctx, configMap, metav1.GetOptions{})
		}
	}
	if err != nil {
		return "", failure(err)
	}
	id := cmp.Or(found.Data[keyProvider], found.Data[keyUID])
	if id == "" {
		return "", failure(fmt.Errorf("it has neither the key %s nor %s", keyProvider, keyUID))
	}
	return id, nil
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
