package chartvalues

// awsChart is the chart of cloud-provider-aws, version 0.0.11 of August 2026.
func awsChart() *chart {
	const named = "nothing to do: roles and bindings are named after the release"
	return &chart{
		name: "aws-cloud-controller-manager", provider: "aws",
		distinctKeys: []string{"args", "clusterRoleRules", "roleBindingName", "roleName", "hostNetworking"},
		required: map[string]any{
			// Instance profiles of the control plane are not available on other nodes.
			"nodeSelector":   map[string]any{controlPlaneLabel: ""},
			"hostNetworking": false,
			// Trust policies and Pod Identity associations of IAM roles name the account.
			"serviceAccountName": "cloud-controller-manager",
		},
		ignored: map[string]any{
			"namespace": "kube-system", "nameOverride": "aws-cloud-controller-manager", "dnsPolicy": "Default",
			"clusterRoleName": "system:cloud-controller-manager",
			"roleBindingName": "cloud-controller-manager:apiserver-authentication-reader",
			"roleName":        "extension-apiserver-authentication-reader",
			"tolerations": []any{
				map[string]any{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
				map[string]any{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"},
				map[string]any{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
			},
		},
		rules: map[string]rule{
			"namespace":        advise("install with helm --namespace: this chart has no value for it"),
			"args":             argumentList,
			"image":            image("registry.k8s.io/provider-aws/cloud-controller-manager"),
			"imagePullSecrets": pullSecrets,
			"nameOverride":     advise("objects are named after the release; set fullnameOverride for another name"),
			"nodeSelector":     copyTo("nodeSelector"),
			"clusterRoleRules": advise("nothing to do: the role of this chart has exactly what ccm uses"),
			"resources":        copyTo("resources"), "env": list("env"),
			"securityContext": copyTo("securityContext"), "podSecurityContext": copyTo("podSecurityContext"),
			"podAnnotations": copyTo("podAnnotations"), "tolerations": list("tolerations"),
			"dnsPolicy":       copyTo("dnsPolicy"),
			"clusterRoleName": advise(named), "roleBindingName": advise(named), "roleName": advise(named),
			"serviceAccountName": copyTo("serviceAccount.name"),
			"serviceAccount":     group(map[string]rule{"annotations": copyTo("serviceAccount.annotations")}),
			"extraVolumes":       list("extraVolumes"), "extraVolumeMounts": list("extraVolumeMounts"),
			"hostNetworking": copyTo("hostNetwork"),
		},
	}
}
