package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// policyFolder has the published policies.
const policyFolder = "../../../../deploy/aws/"

func TestPolicyFileIsUpToDate(t *testing.T) {
	for _, file := range Files() {
		want, err := Document(file)
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(policyFolder + file)
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("deploy/aws/%s is not the policy of package api (%v): run hack/update-iam.sh", file, err)
		}
	}
}

// TestPoliciesOfControllers verifies that the policy of load balancers and nodes changes neither routes nor instances.
func TestPoliciesOfControllers(t *testing.T) {
	for file, want := range map[string]string{
		basePolicy: "", routesPolicy: "ec2:CreateRoute ec2:DeleteRoute ec2:ModifyInstanceAttribute ec2:ReplaceRoute",
		taggingPolicy: "ec2:CreateTags ec2:DeleteTags",
	} {
		document, err := Document(file)
		if err != nil {
			t.Fatal(err)
		}
		policy := parse(t, document)
		allowed := map[string]bool{}
		for _, resource := range []string{"instance/i-1", "route-table/rtb-1"} {
			for _, action := range Actions() {
				request := iam.Request{Action: action, Resource: "arn:aws:ec2:r:1:" + resource, Context: map[string][]string{
					"aws:ResourceTag/kubernetes.io/cluster/prod": {"owned"}, "ec2:Attribute/SourceDestCheck": {"false"},
					"aws:TagKeys": {"team"}}}
				if _, name, _ := strings.Cut(action, ":"); !strings.HasPrefix(name, "Describe") && policy.Decide(request).Allowed {
					allowed[action] = true
				}
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(allowed)), " "); got != want {
			t.Errorf("%s allows %s, want %s", file, got, want)
		}
	}
}

// allPolicies returns one policy with the statements of all.
func allPolicies(t *testing.T) []byte {
	t.Helper()
	var all struct {
		Version   string
		Statement []statement
	}
	for _, file := range Files() {
		document, err := Document(file)
		if err != nil {
			t.Fatal(err)
		}
		statements := all.Statement
		all.Statement = nil
		if err := json.Unmarshal(document, &all); err != nil {
			t.Fatal(err)
		}
		all.Statement = slices.Concat(statements, all.Statement)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestScopesHaveCalls(t *testing.T) {
	actions := Actions()
	for action := range scopes() {
		if !slices.Contains(actions, action) {
			t.Errorf("%s has a scope, and package api does not list it", action)
		}
	}
}

// parse returns the policy of cluster prod.
func parse(t *testing.T, document []byte) iam.Policy {
	t.Helper()
	policy, err := iam.Parse(bytes.ReplaceAll(document, []byte(Placeholder), []byte("prod")))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// foreignRequests returns changes of resources that are not the cluster's, and creations that do not tag the resource
// for the cluster.
func foreignRequests(policy iam.Policy) []iam.Request {
	const ec2, elb, web = "arn:aws:ec2:r:1:", "arn:aws:elasticloadbalancing:r:1:", "kubernetes.io/service-name"
	resources := map[string][]map[string][]string{}
	var out []iam.Request
	for _, resource := range []string{
		ec2 + "route-table/rtb-1", ec2 + "instance/i-1", ec2 + "security-group/sg-1", elb + "loadbalancer/web",
		elb + "loadbalancer/net/web/1", elb + "targetgroup/web/1", elb + "listener/net/web/1/2",
	} {
		resources[resource] = []map[string][]string{nil, {"aws:ResourceTag/kubernetes.io/cluster/test": {"owned"}}}
		// Tags are set while the resource is created, not later.
		for _, action := range []string{"ec2:CreateTags", "elasticloadbalancing:AddTags"} {
			out = append(out, iam.Request{Action: action, Resource: resource,
				Context: map[string][]string{"aws:RequestTag/kubernetes.io/cluster/prod": {"owned"}}})
		}
	}
	for _, resource := range []string{elb + "targetgroup/k8s-web/1", elb + "listener/net/a0/1/2"} {
		resources[resource] = []map[string][]string{
			{"aws:ResourceTag/" + web: {"default/web"}}, {"aws:ResourceTag/elbv2.k8s.aws/cluster": {"test"}},
			{"elasticloadbalancing:CreateAction": {"CreateTargetGroup"}},
		}
	}
	instance := ec2 + "instance/i-1"
	resources[instance] = append(resources[instance], map[string][]string{"ec2:Attribute/SourceDestCheck": {"false"}})
	ours := "aws:ResourceTag/kubernetes.io/cluster/prod"
	for _, attribute := range []map[string][]string{{}, {"ec2:Attribute/UserData": {"x"}}, {"ec2:Attribute/SourceDestCheck": {"true"}}} {
		attribute[ours] = []string{"owned"}
		out = append(out, iam.Request{Action: "ec2:ModifyInstanceAttribute", Resource: instance, Context: attribute})
	}
	for _, action := range []string{"ec2:CreateTags", "ec2:DeleteTags"} {
		for _, resource := range []string{instance, ec2 + "security-group/sg-1"} {
			for _, key := range []string{"kubernetes.io/cluster/test", "elbv2.k8s.aws/cluster"} {
				out = append(out, iam.Request{Action: action, Resource: resource,
					Context: map[string][]string{ours: {"owned"}, "aws:TagKeys": {"team", key}}})
			}
		}
	}
	const role = "arn:aws:iam::1:role/aws-service-role/elasticloadbalancing.amazonaws.com/" +
		"AWSServiceRoleForElasticLoadBalancing"
	resources[role] = []map[string][]string{{"iam:AWSServiceName": {"spot.amazonaws.com"}}}
	created := map[string][]string{"ec2:CreateAction": {"CreateSecurityGroup"},
		"elasticloadbalancing:CreateAction": {"CreateLoadBalancer"}}
	for resource, contexts := range resources {
		for _, context := range append(contexts, created) {
			for _, action := range policy.Actions() {
				if _, name, _ := strings.Cut(action, ":"); !strings.HasPrefix(name, "Describe") {
					out = append(out, iam.Request{Action: action, Resource: resource, Context: context})
				}
			}
		}
	}
	return out
}

// TestChangesAreScoped verifies that the policy allows no change of a resource without the cluster's tag, and that each
// of its conditions is needed for that.
func TestChangesAreScoped(t *testing.T) {
	document := allPolicies(t)
	policy := parse(t, document)
	requests := foreignRequests(policy)
	for _, r := range requests {
		if d := policy.Decide(r); d.Allowed {
			t.Errorf("%s is allowed on %s with %v by statement %s", r.Action, r.Resource, r.Context, d.Sid)
		}
	}
	for name, text := range withoutConditions(t, document) {
		loose := parse(t, text)
		if !slices.ContainsFunc(requests, func(r iam.Request) bool { return loose.Decide(r).Allowed }) {
			t.Errorf("without the condition %s, the policy allows none of the foreign requests", name)
		}
	}
	ours := map[string][]string{"aws:ResourceTag/kubernetes.io/cluster/prod": {"owned"}}
	withKey := map[string][]string{"aws:ResourceTag/kubernetes.io/cluster/prod": {"owned"}, "aws:TagKeys": {"team"},
		"ec2:Attribute/SourceDestCheck": {"false"}}
	for _, r := range []iam.Request{
		{Action: "ec2:ModifyInstanceAttribute", Resource: "arn:aws:ec2:r:1:instance/i-1", Context: withKey},
		{Action: "ec2:CreateTags", Resource: "arn:aws:ec2:r:1:instance/i-1", Context: withKey},
		{Action: "ec2:DeleteTags", Resource: "arn:aws:ec2:r:1:security-group/sg-1", Context: withKey},
		{Action: "ec2:DeleteRoute", Resource: "arn:aws:ec2:r:1:route-table/rtb-1", Context: ours},
		{Action: "elasticloadbalancing:RegisterTargets", Resource: "arn:aws-cn:elasticloadbalancing:r:1:targetgroup/web/1",
			Context: ours},
		{Action: "ec2:CreateTags", Resource: "arn:aws:ec2:r:1:security-group/*", Context: map[string][]string{
			"ec2:CreateAction": {"CreateSecurityGroup"}, "aws:RequestTag/kubernetes.io/cluster/prod": {"owned"}}},
	} {
		if !policy.Decide(r).Allowed {
			t.Errorf("%s is not allowed on %s", r.Action, r.Resource)
		}
	}
}

// withoutConditions returns the policy without one condition, for each of them by its statement and key.
func withoutConditions(t *testing.T, document []byte) map[string][]byte {
	t.Helper()
	type policy struct {
		Version   string
		Statement []statement
	}
	read := func() (p policy) {
		if err := json.Unmarshal(document, &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	out := map[string][]byte{}
	for n, s := range read().Statement {
		for operator, keys := range s.Condition {
			for key := range keys {
				loose := read()
				condition := loose.Statement[n].Condition
				if delete(condition[operator], key); len(condition[operator]) == 0 {
					delete(condition, operator)
				}
				text, err := json.Marshal(loose)
				if err != nil {
					t.Fatal(err)
				}
				out[s.Sid+" "+key] = text
			}
		}
	}
	return out
}
