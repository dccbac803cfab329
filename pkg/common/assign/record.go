package assign

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// ConditionOwner is the condition of a Service whose message is the record of the cloud that has its load balancer.
	// It is part of the status, for the reasons of loadbalancer.ConditionHistory: it is not copied or removed with
	// manifests, and cannot be written with the role edit.
	ConditionOwner = "unified-ccm.io/LoadBalancerOwner"
	ownerReason    = "Recorded"
)

// Record is the record of the cloud that has the load balancer of a Service.
type Record struct {
	// UID is that of the Service. A record of another one is ignored.
	UID types.UID `json:"uid"`
	// Owner is the name of the cloud.
	Owner string `json:"owner"`
	// From is the cloud that the load balancer is moved from, until its objects are deleted there.
	From string `json:"from,omitempty"`
	// Ready is since when the load balancer of Owner has an address; nil before. What From has is deleted some time
	// after.
	Ready *metav1.Time `json:"ready,omitempty"`
	// Moves counts the approved moves. It is part of the ID of a held move, so that no approval is used twice.
	Moves int `json:"moves,omitempty"`
}

// StoredRecord returns the record in the status of a Service, and false for none.
func StoredRecord(service *v1.Service) (Record, bool) {
	var r Record
	condition := meta.FindStatusCondition(service.Status.Conditions, ConditionOwner)
	if condition == nil {
		return r, false
	}
	err := json.Unmarshal([]byte(condition.Message), &r)
	return r, err == nil && r.Owner != "" && r.UID == service.UID
}

// condition returns the condition with the record. The time is that of the record, so that equal ones are equal.
func (r Record) condition(now metav1.Time) (metav1.Condition, error) {
	text, err := json.Marshal(r)
	return metav1.Condition{
		Type: ConditionOwner, Status: metav1.ConditionTrue, Reason: ownerReason, Message: string(text),
		LastTransitionTime: now,
	}, err
}

// equal reports whether two records are equal.
func (r Record) equal(other Record) bool {
	return r.UID == other.UID && r.Owner == other.Owner && r.From == other.From && r.Moves == other.Moves &&
		r.Ready.Equal(other.Ready)
}

// Role is what a cloud is for the load balancer of a Service.
type Role int

// The roles.
const (
	// None has nothing to do with it.
	None Role = iota
	// Owning is the role of the cloud that has it.
	Owning
	// Leaving is the role of the cloud that had it, and keeps it until the owner's has an address.
	Leaving
)

// RoleOf returns the role of a cloud.
func (r Record) RoleOf(cloud string) Role {
	switch cloud {
	case r.Owner:
		return Owning
	case r.From:
		return Leaving
	}
	return None
}
