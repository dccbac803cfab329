package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// version is the version of IAM's policy language.
const version = "2012-10-17"

// maxSize is the maximum number of characters of a managed policy, without white space (IAM's quotas).
const maxSize = 6144

// requiredActions are the actions that AWS requires in addition for some of the provider's calls, according to the
// pages "Elastic Load Balancing API permissions" and "Elastic Load Balancing service-linked role" of AWS' user guide.
var requiredActions = []string{
	"iam:CreateServiceLinkedRole", "ec2:DescribeAccountAttributes", "ec2:DescribeAddresses",
	"ec2:DescribeInternetGateways", "ec2:DescribeVpcs",
}

// Actions returns the sorted IAM actions of the provider's calls, and those that AWS requires for them in addition.
func Actions() []string {
	out := slices.Clone(requiredActions)
	for _, service := range []struct {
		prefix string
		calls  reflect.Type
	}{
		{"ec2:", reflect.TypeFor[api.EC2]()},
		{"elasticloadbalancing:", reflect.TypeFor[api.ELB]()},
		{"elasticloadbalancing:", reflect.TypeFor[api.ELBV2]()},
		{"sts:", reflect.TypeFor[api.STS]()},
	} {
		for n := range service.calls.NumMethod() {
			out = append(out, service.prefix+service.calls.Method(n).Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Document returns one of the policies in JSON. A call without a scope is an error.
func Document(file string) ([]byte, error) {
	if !slices.Contains(Files(), file) {
		return nil, fmt.Errorf("there is no policy %q: policies are %s", file, strings.Join(Files(), ", "))
	}
	all := statements()
	index := map[string]*statement{}
	for n := range all {
		all[n].Effect = "Allow"
		index[all[n].Sid] = &all[n]
	}
	var problems []error
	known := scopes()
	for _, action := range Actions() {
		sids, ok := known[action]
		if _, name, _ := strings.Cut(action, ":"); !ok && strings.HasPrefix(name, "Describe") {
			sids, ok = []string{readOnly}, true
		}
		if !ok {
			problems = append(problems, fmt.Errorf("%s: package api lists the call, but scopes.go has no scope for it",
				action))
		}
		for _, sid := range sids {
			index[sid].Action = append(index[sid].Action, action)
		}
	}
	all = slices.DeleteFunc(all, func(s statement) bool {
		return len(s.Action) == 0 || cmp.Or(s.file, basePolicy) != file
	})
	document, err := json.MarshalIndent(struct {
		Version   string
		Statement []statement
	}{version, all}, "", "  ")
	return append(document, '\n'), errors.Join(append(problems, err, checkSize(document))...)
}

func checkSize(document []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, document); err != nil {
		return err
	}
	if n := compact.Len(); n > maxSize {
		return fmt.Errorf("the policy has %d characters; the limit of IAM is %d", n, maxSize)
	}
	return nil
}
