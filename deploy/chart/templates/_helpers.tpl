{{- define "unified-ccm.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "unified-ccm.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "unified-ccm.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "unified-ccm.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "unified-ccm.selectorLabels" -}}
app.kubernetes.io/name: {{ include "unified-ccm.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "unified-ccm.labels" -}}
{{ include "unified-ccm.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: cloud-controller-manager
app.kubernetes.io/part-of: unified-ccm
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end -}}

{{- define "unified-ccm.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "unified-ccm.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Not empty if the chart is that of a release, whose image is published under the version of the chart. */}}
{{- define "unified-ccm.released" -}}
{{- if not (hasPrefix "0.0.0" .Chart.AppVersion) }}true{{ end -}}
{{- end -}}

{{- define "unified-ccm.image" -}}
{{- $name := printf "%s/%s" .Values.image.registry .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $name .Values.image.digest -}}
{{- else if .Values.image.tag -}}
{{- printf "%s:%s" $name .Values.image.tag -}}
{{- else -}}
{{- printf "%s:v%s" $name .Chart.AppVersion -}}
{{- end -}}
{{- end -}}

{{- define "unified-ccm.workload" -}}
{{- printf "%s/%s" (lower .Values.kind) (include "unified-ccm.fullname" .) -}}
{{- end -}}

{{- define "unified-ccm.secretName" -}}
{{- default (printf "%s-cloud-config" (include "unified-ccm.fullname" .)) .Values.cloudConfig.existingSecret -}}
{{- end -}}

{{/* The clouds, as JSON: those of the list, or the single one. Each has its name, its Secret, whether the chart makes that, and the path of its file. */}}
{{- define "unified-ccm.clouds" -}}
{{- $clouds := list -}}
{{- range .Values.clouds -}}
{{- $key := default "cloud.conf" .key -}}
{{- $secret := default (printf "%s-cloud-config-%s" (include "unified-ccm.fullname" $) .name) .existingSecret -}}
{{- $path := printf "/etc/unified-ccm/%s" .name -}}
{{- $clouds = append $clouds (dict "name" .name "volume" (printf "cloud-config-%s" .name) "secret" $secret "existing" (not (empty .existingSecret)) "content" (default "" .content) "key" $key "path" $path "flag" (printf "%s=%s/%s" .name $path $key)) -}}
{{- end -}}
{{- if not .Values.clouds -}}
{{- with .Values.cloudConfig -}}
{{- $clouds = append $clouds (dict "name" $.Values.cloudProvider "volume" "cloud-config" "secret" (include "unified-ccm.secretName" $) "existing" (not (empty .existingSecret)) "content" .content "key" .key "path" "/etc/unified-ccm" "flag" (printf "/etc/unified-ccm/%s" .key)) -}}
{{- end -}}
{{- end -}}
{{- toJson $clouds -}}
{{- end -}}

{{/* The names of the clouds. */}}
{{- define "unified-ccm.cloudNames" -}}
{{- $names := list -}}
{{- range include "unified-ccm.clouds" . | fromJsonArray }}{{ $names = append $names .name }}{{ end -}}
{{- join "," $names -}}
{{- end -}}

{{/* Not empty if the file is mounted from a Secret. A flag that names another file, or none, replaces that. */}}
{{- define "unified-ccm.mountsConfig" -}}
{{- if not (hasKey .Values.args "cloud-config") }}true{{ end -}}
{{- end -}}

{{/* The lease: a dry run has one of its own, which the program names by a suffix. */}}
{{- define "unified-ccm.leaseName" -}}
{{- .Values.leaderElection.leaseName -}}{{- if .Values.dryRun -}}-dry-run{{- end -}}
{{- end -}}

{{/* The flags, as a map from name to value: those of the chart, then args, of which null leaves a flag out. */}}
{{- define "unified-ccm.args" -}}
{{- $files := list -}}
{{- range include "unified-ccm.clouds" . | fromJsonArray }}{{ $files = append $files .flag }}{{ end -}}
{{- $args := dict
  "cloud-provider" (include "unified-ccm.cloudNames" .)
  "cloud-config" (join "," $files)
  "cluster-name" .Values.clusterName
  "configure-cloud-routes" .Values.routes.enabled
  "leader-elect" true
  "leader-elect-resource-name" .Values.leaderElection.leaseName
  "leader-elect-resource-namespace" .Values.leaderElection.namespace
  "load-balancer-audit-period" .Values.loadBalancers.auditPeriod
  "load-balancer-classes" .Values.loadBalancers.classes
  "load-balancer-disruption" .Values.loadBalancers.disruption
  "node-not-found-grace" .Values.nodeOwnership.notFoundGrace
  "secure-port" (int .Values.port)
  "use-service-account-credentials" false
  "v" .Values.verbosity
-}}
{{- with .Values.loadBalancers.approvals }}
{{- $_ := set $args "load-balancer-approvals" (printf "%s/%s" $.Release.Namespace .) }}
{{- end -}}
{{- if and .Values.routes.enabled .Values.routes.clouds }}{{ $_ := set $args "configure-cloud-routes" (join "," .Values.routes.clouds) }}{{ end -}}
{{- with .Values.routes.clusterCIDR }}{{ $_ := set $args "cluster-cidr" . }}{{ end -}}
{{- with .Values.nodeOwnership.filter }}{{ $_ := set $args "node-filter-requirements" . }}{{ end -}}
{{- with .Values.controllers }}{{ $_ := set $args "controllers" (join "," .) }}{{ end -}}
{{- if .Values.dryRun }}{{ $_ := set $args "dry-run" true }}{{ end -}}
{{- if .Values.featureGates -}}
{{- $gates := list -}}
{{- range $name, $on := .Values.featureGates }}{{ $gates = append $gates (printf "%s=%v" $name $on) }}{{ end -}}
{{- $_ := set $args "feature-gates" (join "," $gates) -}}
{{- end -}}
{{- range $name, $value := .Values.args -}}
{{- if kindIs "invalid" $value }}{{ $_ := unset $args $name }}{{ else }}{{ $_ := set $args $name $value }}{{ end -}}
{{- end -}}
{{- range $name, $value := $args }}
{{- if kindIs "slice" $value }}
{{- range $value }}
- {{ printf "--%s=%v" $name . | quote }}
{{- end }}
{{- else if kindIs "float64" $value }}
- {{ printf "--%s=%s" $name (toString $value) | quote }}
{{- else }}
- {{ printf "--%s=%v" $name $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
Problems of keys that no value has, each with the nearest key. Takes a list: the known keys, the values, and the path to them,
which is empty or ends with a dot.
*/}}
{{- define "unified-ccm.unknownKeys" -}}
{{- $known := index . 0 -}}{{- $path := index . 2 -}}
{{- range $name, $value := index . 1 -}}
{{- $key := printf "%s%s" $path $name -}}
{{- if has (printf "%s." $key) $known -}}
{{- if kindIs "map" $value }}{{ include "unified-ccm.unknownKeys" (list $known $value (printf "%s." $key)) }}{{ end -}}
{{- else if not (or (has $key $known) (eq $key "global")) }}
{{ $key }} is not a value of this chart{{ include "unified-ccm.nearest" (list $known $key) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The known key that shares most sequences of three letters with a key, as the end of a sentence. */}}
{{- define "unified-ccm.nearest" -}}
{{- $best := "" -}}{{- $most := 1 -}}
{{- $key := lower (index . 1) -}}
{{- range $known := index . 0 -}}
{{- $score := 0 -}}
{{- range $i := until (max 0 (sub (len $key) 2) | int) -}}
{{- if contains (substr $i (int (add $i 3)) $key) (lower $known) }}{{ $score = add1 $score }}{{ end -}}
{{- end -}}
{{- if ge (sub (mul 3 $score) (len $known)) (sub (mul 3 $most) (len $best)) }}{{ $best = $known }}{{ $most = $score }}{{ end -}}
{{- end -}}
{{- if $best }}: did you mean {{ trimSuffix "." $best }}?{{ end -}}
{{- end -}}

{{/* The name of the cluster with which the manager runs. */}}
{{- define "unified-ccm.clusterName" -}}
{{- $name := .Values.clusterName -}}
{{- if hasKey .Values.args "cluster-name" -}}
{{- $name = default "kubernetes" (index .Values.args "cluster-name") -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* The value of a flag of the installed release, empty if it has none. Without a cluster (helm template) it is empty, too. */}}
{{- define "unified-ccm.installedFlag" -}}
{{- $root := index . 0 -}}
{{- $flag := printf "--%s=" (index . 1) -}}
{{- if $root.Release.IsUpgrade -}}
{{- $name := include "unified-ccm.fullname" $root -}}
{{- $found := "" -}}
{{- range $kind := list "Deployment" "DaemonSet" -}}
{{- $workload := lookup "apps/v1" $kind $root.Release.Namespace $name -}}
{{- range $container := dig "spec" "template" "spec" "containers" list $workload -}}
{{- range $argument := $container.args -}}
{{- if hasPrefix $flag $argument -}}{{- $found = trimPrefix $flag $argument -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}
{{- end -}}

{{/* Problems of the values that the schema cannot express, all at once. */}}
{{- define "unified-ccm.validate" -}}
{{- $problems := list -}}
{{- $known := splitList "\n" (trim (.Files.Get "files/keys.txt")) -}}
{{- range splitList "\n" (include "unified-ccm.unknownKeys" (list $known .Values "")) -}}
{{- with trim . }}{{ $problems = append $problems . }}{{ end -}}
{{- end -}}
{{- $installed := include "unified-ccm.installedFlag" (list . "cluster-name") -}}
{{- if and .Values.clouds .Values.cloudProvider -}}
{{- $problems = append $problems "clouds and cloudProvider exclude each other: remove one of them" -}}
{{- end -}}
{{- if and .Values.clouds (or .Values.cloudConfig.content .Values.cloudConfig.existingSecret) -}}
{{- $problems = append $problems "cloudConfig has no effect with clouds: move it to the entry of its cloud" -}}
{{- end -}}
{{- $names := list -}}
{{- range $i, $cloud := .Values.clouds -}}
{{- if not $cloud.name }}{{ $problems = append $problems (printf "clouds[%d].name is required" $i) }}
{{- else if has $cloud.name $names }}{{ $problems = append $problems (printf "clouds[%d].name: %s is listed twice" $i $cloud.name) }}{{ end -}}
{{- $names = append $names $cloud.name -}}
{{- if and $cloud.content $cloud.existingSecret }}{{ $problems = append $problems (printf "clouds[%d].content and clouds[%d].existingSecret exclude each other: remove one of them" $i $i) }}{{ end -}}
{{- range $key, $_ := $cloud -}}
{{- if not (has $key (list "name" "content" "existingSecret" "key")) }}{{ $problems = append $problems (printf "clouds[%d].%s is not a value of this chart: use name, content, existingSecret and key" $i $key) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and (gt (len .Values.clouds) 1) .Values.routes.enabled (not .Values.routes.clouds) -}}
{{- $problems = append $problems "routes.enabled needs routes.clouds: name those of the clouds that set up routes" -}}
{{- end -}}
{{- if not (or .Values.cloudProvider .Values.clouds) -}}
{{- $clouds := list -}}
{{- range $path, $_ := .Files.Glob "presets/*.yaml" }}{{ if not (contains "-" (base $path)) }}{{ $clouds = append $clouds (trimSuffix ".yaml" (base $path)) }}{{ end }}{{ end -}}
{{- $problems = append $problems (printf "cloudProvider is required: set it to %s or another provider of the image" (join ", " $clouds)) -}}
{{- if .Release.IsUpgrade -}}
{{- $problems = append $problems "this upgrade lacks the values of the release: add --reset-then-reuse-values, or -f with the file of its values" -}}
{{- end -}}
{{- end -}}
{{- if and (not .Values.clusterName) (not (hasKey .Values.args "cluster-name")) -}}
{{- if $installed -}}
{{- $problems = append $problems (printf "clusterName is required: this release has %s" $installed) -}}
{{- else -}}
{{- $problems = append $problems "clusterName is required: set a name that is unique in the account or project, or the one that another manager of this cluster has used (kubernetes by default)" -}}
{{- end -}}
{{- else if and $installed (ne $installed (include "unified-ccm.clusterName" .)) (not .Values.allowClusterNameChange) -}}
{{- $problems = append $problems (printf "clusterName changes from %s to %s: load balancers, routes and addresses of %s would not be found and would remain in the cloud. Set clusterName=%s, or, to change it all the same, allowClusterNameChange=true" $installed (include "unified-ccm.clusterName" .) $installed $installed) -}}
{{- end -}}
{{- if and (kindIs "invalid" .Values.dryRun) (eq (include "unified-ccm.installedFlag" (list . "dry-run")) "true") -}}
{{- $problems = append $problems "dryRun is required: this release is a dry run. Set dryRun=false to let it change the cloud and the cluster, or dryRun=true" -}}
{{- end -}}
{{- if not (or .Values.image.tag .Values.image.digest (include "unified-ccm.released" .)) -}}
{{- $problems = append $problems "image.tag is required: this chart is not of a release, and no image of it is published. Build one with: make image" -}}
{{- end -}}
{{- if and (eq .Values.kind "DaemonSet") (eq .Values.controlPlaneNodes "preferred") (not .Values.nodeSelector) (not .Values.affinity) -}}
{{- $problems = append $problems "kind DaemonSet with controlPlaneNodes=preferred would run a pod on each node of the cluster: set nodeSelector, affinity or controlPlaneNodes=required" -}}
{{- end -}}
{{- if and .Values.cloudConfig.content .Values.cloudConfig.existingSecret -}}
{{- $problems = append $problems "cloudConfig.content and cloudConfig.existingSecret exclude each other: remove one of them" -}}
{{- end -}}
{{- if and .Values.routes.enabled (not .Values.routes.clusterCIDR) -}}
{{- $problems = append $problems "routes.enabled needs routes.clusterCIDR: set it to the addresses of all pods, such as 10.244.0.0/16" -}}
{{- end -}}
{{- range $name, $_ := .Values.args -}}
{{- if hasPrefix "-" $name -}}
{{- $problems = append $problems (printf "args.%s: write the name of the flag without dashes: %s" $name (trimAll "-" $name)) -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n\n  %s\n" (join "\n  " $problems)) -}}
{{- end -}}
{{- end -}}

{{/* The permissions that only one of the clouds needs, as a JSON list. files/kube-rules.json is generated. */}}
{{- define "unified-ccm.kubeRules" -}}
{{- $ofClouds := .Files.Get "files/kube-rules.json" | fromJson -}}
{{- $rules := list -}}
{{- range $cloud := include "unified-ccm.clouds" . | fromJsonArray -}}
{{- range $i, $rule := index $ofClouds $cloud.name -}}
{{- $rules = append $rules (set $rule "id" (printf "%s-%d" $cloud.name $i)) -}}
{{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end }}

{{/* A rule of a role. */}}
{{- define "unified-ccm.kubeRule" -}}
- apiGroups: [{{ .apiGroup | quote }}]
  resources: {{ .resources | toJson }}
  {{- with .names }}
  resourceNames: {{ . | toJson }}
  {{- end }}
  verbs: {{ .verbs | toJson }}
{{- end }}
