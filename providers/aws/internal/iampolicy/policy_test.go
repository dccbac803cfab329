package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// policyFile is the published policy.
const policyFile = "../../../../deploy/aws/iam-policy.json"

func TestPolicyFileIsUpToDate(t *testing.T) {
	want, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(policyFile)
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("deploy/aws/iam-policy.json is not the policy of package api (%v): run hack/update-iam.sh", err)
	}
}

func TestScopesHaveCalls(t *testing.T) {
	actions := Actions()
	for action := range scopes() {
		if !slices.Contains(actions, action) {
			t.Errorf("%s has a scope, and package api does not list it", action)
		}
	}
}

// TestChangesAreScoped proves that what does not carry the cluster's tag cannot be changed.
func TestChangesAreScoped(t *testing.T) {
	document, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := iam.Parse(bytes.ReplaceAll(document, []byte(Placeholder), []byte("prod")))
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string][]string{"aws:ResourceTag/kubernetes.io/cluster/prod": {"owned"}}
	for _, action := range policy.Actions() {
		_, name, _ := strings.Cut(action, ":")
		if strings.HasPrefix(name, "Describe") {
			continue
		}
		for _, resource := range []string{
			"arn:aws:ec2:r:1:route-table/rtb-1", "arn:aws:ec2:r:1:instance/i-1", "arn:aws:ec2:r:1:security-group/sg-1",
			"arn:aws:elasticloadbalancing:r:1:loadbalancer/web", "arn:aws:elasticloadbalancing:r:1:loadbalancer/net/web/1",
			"arn:aws:elasticloadbalancing:r:1:targetgroup/web/1", "arn:aws:elasticloadbalancing:r:1:listener/net/web/1/2",
		} {
			for _, foreign := range []map[string][]string{nil, {"aws:ResourceTag/kubernetes.io/cluster/test": {"owned"}}} {
				if d := policy.Decide(iam.Request{Action: action, Resource: resource, Context: foreign}); d.Allowed {
					t.Errorf("%s is allowed on %s with tags %v by statement %s", action, resource, foreign, d.Sid)
				}
			}
		}
	}
	for _, r := range []iam.Request{
		{Action: "ec2:DeleteRoute", Resource: "arn:aws:ec2:r:1:route-table/rtb-1", Context: ours},
		{Action: "elasticloadbalancing:RegisterTargets", Resource: "arn:aws-cn:elasticloadbalancing:r:1:targetgroup/web/1", Context: ours},
		{Action: "ec2:CreateTags", Resource: "arn:aws:ec2:r:1:security-group/*", Context: map[string][]string{
			"ec2:CreateAction": {"CreateSecurityGroup"}, "aws:RequestTag/kubernetes.io/cluster/prod": {"owned"}}},
	} {
		if !policy.Decide(r).Allowed {
			t.Errorf("%s is not allowed on %s", r.Action, r.Resource)
		}
	}
}
