package iam

import (
	"slices"
	"strings"
	"testing"
)

const example = `{"Version": "2012-10-17", "Statement": [
  {"Sid": "Read", "Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"},
  {"Sid": "Own", "Effect": "Allow", "Action": ["ec2:DeleteRoute", "ec2:CreateTags"], "Resource": "arn:*:ec2:*:*:route-table/*",
   "Condition": {"StringEquals": {"aws:ResourceTag/cluster": ["a", "b"]}}},
  {"Sid": "Tagged", "Effect": "Allow", "Action": "ec2:CreateSecurityGroup", "Resource": "*",
   "Condition": {"Null": {"aws:RequestTag/cluster": "false"}, "ForAllValues:StringLike": {"aws:TagKeys": ["cluster", "x*"]}}},
  {"Sid": "Never", "Effect": "Deny", "Action": "ec2:DescribeVpcs", "Resource": "*", "Condition": {"StringNotEquals": {"aws:RequestedRegion": "here"}}},
  {"Sid": "Rest", "Effect": "Allow", "NotAction": "ec2:*", "Resource": "*", "Condition": {"Bool": {"mfa": "true"}}}
]}`

func TestDecide(t *testing.T) {
	p, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	here := map[string][]string{"aws:RequestedRegion": {"here"}}
	const table = "arn:aws:ec2:r:1:route-table/rtb-1"
	for _, tc := range []struct {
		name, action, resource string
		context                map[string][]string
		want                   Decision
	}{
		{"a wildcard", "ec2:DescribeSubnets", "*", nil, Decision{Allowed: true, Sid: "Read"}},
		{"actions have no case", "EC2:describesubnets", "*", nil, Decision{Allowed: true, Sid: "Read"}},
		{"no statement", "ec2:RunInstances", "*", nil, Decision{}},
		{"a tag", "ec2:DeleteRoute", table, map[string][]string{"aws:ResourceTag/cluster": {"b"}}, Decision{Allowed: true, Sid: "Own"}},
		{"another value", "ec2:DeleteRoute", table, map[string][]string{"aws:ResourceTag/cluster": {"c"}}, Decision{}},
		{"no tag", "ec2:DeleteRoute", table, nil, Decision{}},
		{"keys have no case", "ec2:DeleteRoute", table, map[string][]string{"AWS:resourcetag/Cluster": {"a"}}, Decision{Allowed: true, Sid: "Own"}},
		{"another resource", "ec2:CreateTags", "arn:aws:ec2:r:1:vpc/v", map[string][]string{"aws:ResourceTag/cluster": {"a"}}, Decision{}},
		{"all conditions hold", "ec2:CreateSecurityGroup", "x",
			map[string][]string{"aws:RequestTag/cluster": {"a"}, "aws:TagKeys": {"cluster", "xy"}},
			Decision{Allowed: true, Sid: "Tagged"}},
		{"one of several values does not match", "ec2:CreateSecurityGroup", "x",
			map[string][]string{"aws:RequestTag/cluster": {"a"}, "aws:TagKeys": {"cluster", "y"}}, Decision{}},
		{"a key that must be there", "ec2:CreateSecurityGroup", "x", map[string][]string{"aws:TagKeys": {"cluster"}}, Decision{}},
		{"a denial beats what allows", "ec2:DescribeVpcs", "*", nil, Decision{Explicit: true, Sid: "Never"}},
		{"a denial that does not apply", "ec2:DescribeVpcs", "*", here, Decision{Allowed: true, Sid: "Read"}},
		{"all but some actions", "s3:GetObject", "*", map[string][]string{"mfa": {"true"}}, Decision{Allowed: true, Sid: "Rest"}},
		{"a boolean", "s3:GetObject", "*", map[string][]string{"mfa": {"false"}}, Decision{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := p.Decide(Request{tc.action, tc.resource, tc.context}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	want := []string{"ec2:CreateSecurityGroup", "ec2:CreateTags", "ec2:DeleteRoute", "ec2:Describe*"}
	if got := p.Actions(); !slices.Equal(got, want) {
		t.Errorf("actions %v, want %v", got, want)
	}
}

// The page "Single-valued vs. multivalued context keys" of the user guide: without the key, a condition with ForAnyValue
// does not hold, and one with ForAllValues holds.
func TestSetOperatorsWithoutKey(t *testing.T) {
	for operator, want := range map[string]bool{
		"ForAnyValue:StringLike": false, "ForAnyValue:StringNotLike": false, "StringNotLike": true,
		"ForAllValues:StringLike": true, "ForAllValues:StringNotLike": true,
	} {
		p, err := Parse([]byte(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*",
			"Condition": {"` + operator + `": {"aws:TagKeys": "a*"}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Decide(Request{Action: "ec2:CreateTags", Resource: "*"}).Allowed; got != want {
			t.Errorf("%s: allowed %t, want %t", operator, got, want)
		}
	}
}

func TestParseRejectsUnsupportedElements(t *testing.T) {
	statement := func(s string) string { return `{"Version": "2012-10-17", "Statement": [` + s + `]}` }
	for _, tc := range []struct{ name, text, want string }{
		{"no JSON", "x", "policy document"},
		{"an old version", `{"Version": "2008-10-17", "Statement": []}`, "version"},
		{"an element of resource policies", statement(`{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}`), "Principal"},
		{"an effect", statement(`{"Effect": "allow", "Action": "*", "Resource": "*"}`), "effect"},
		{"no action", statement(`{"Effect": "Allow", "Resource": "*"}`), "number 1: needs Action"},
		{"an operator", statement(`{"Sid": "S", "Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"IpAddress": {"aws:SourceIp": "1.2.3.4"}}}`),
			`statement S: condition operator "IpAddress"`},
		{"Null with a text", statement(`{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Null": {"k": "maybe"}}}`), "maybe"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one about %s", err, tc.want)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"*", "", true}, {"*", "a/b", true}, {"a*c", "abbc", true}, {"a*c", "abcd", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*a*b*", "xaybz", true}, {"", "a", false}, {"a**", "a", true}, {"*ab", "aab", true},
	} {
		if got := Match(tc.pattern, tc.text); got != tc.want {
			t.Errorf("Match(%q, %q) is %v", tc.pattern, tc.text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if p, err := Parse(text); err == nil {
			p.Decide(Request{Action: "ec2:CreateTags", Resource: "*", Context: map[string][]string{"aws:TagKeys": {"a"}}})
		}
	})
}

func TestRequired(t *testing.T) {
	const document = `{"Version": "2012-10-17", "Statement": [
	  {"Sid": "Read", "Effect": "Allow", "Action": ["ec2:Describe*", "ec2:DescribeVpcs"], "Resource": "*"},
	  {"Sid": "Routes", "Effect": "Allow", "Action": "ec2:DeleteRoute", "Resource": ["table/*", "table/a*"]},
	  {"Sid": "More", "Effect": "Allow", "Action": "ec2:DeleteRoute", "Resource": "table/c"},
	  {"Sid": "Never", "Effect": "Deny", "Action": "ec2:DescribeTags", "Resource": "*"},
	  {"Sid": "Rest", "Effect": "Allow", "NotAction": "ec2:*", "Resource": "*"}
	]}`
	p, err := Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	all := []Element{{"More", "ec2:DeleteRoute"}, {"More", "table/c"}, {"Read", "*"}, {"Read", "ec2:Describe*"},
		{"Read", "ec2:DescribeVpcs"}, {"Routes", "ec2:DeleteRoute"}, {"Routes", "table/*"}, {"Routes", "table/a*"}}
	if got := p.Elements(); !slices.Equal(got, all) {
		t.Errorf("elements %v, want %v", got, all)
	}
	for _, tc := range []struct {
		name, action, resource string
		want                   []Element
	}{
		{"one action, one resource", "ec2:DescribeSubnets", "*", []Element{{"Read", "ec2:Describe*"}, {"Read", "*"}}},
		{"two actions of a statement", "EC2:describevpcs", "*", []Element{{"Read", "*"}}},
		{"two resources of a statement", "ec2:DeleteRoute", "table/a1", []Element{{"Routes", "ec2:DeleteRoute"}}},
		{"two statements", "ec2:DeleteRoute", "table/c", nil},
		{"denied by a statement", "ec2:DescribeTags", "*", nil},
		{"allowed by no statement", "ec2:RunInstances", "*", nil},
		{"all but some actions", "s3:GetObject", "*", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := p.Required(Request{Action: tc.action, Resource: tc.resource}); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
