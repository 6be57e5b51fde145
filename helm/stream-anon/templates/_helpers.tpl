{{/* Names and labels. */}}
{{- define "stream-anon.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "stream-anon.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "stream-anon.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "stream-anon.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "stream-anon.selectorLabels" -}}
app.kubernetes.io/name: {{ include "stream-anon.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels that the chart sets itself win over those of the values: selectors rely on them. */}}
{{- define "stream-anon.ownLabels" -}}
{{ include "stream-anon.selectorLabels" . }}
app.kubernetes.io/component: anonymizer
app.kubernetes.io/part-of: stream-anon
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels of an object, given as the root, or as (dict "root" . "more" labels). */}}
{{- define "stream-anon.labels" -}}
{{- $root := default . .root }}
{{- $version := dict
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/version" $root.Chart.AppVersion }}
{{- $own := merge (include "stream-anon.ownLabels" $root | fromYaml) $version }}
{{- toYaml (merge $own (default dict .more) $root.Values.commonLabels) }}
{{- end }}

{{/* Labels of pods: without versions, so that a new chart alone replaces no pod. */}}
{{- define "stream-anon.podLabels" -}}
{{- toYaml (merge (include "stream-anon.ownLabels" . | fromYaml) .Values.podLabels .Values.commonLabels) }}
{{- end }}

{{/* Labels of the pod of `helm test`. */}}
{{- define "stream-anon.testLabels" -}}
app.kubernetes.io/name: {{ include "stream-anon.name" . | trunc 58 | trimSuffix "-" }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "stream-anon.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "stream-anon.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "stream-anon.image" -}}
{{- $registry := default .Values.image.registry (default dict .Values.global).imageRegistry }}
{{- $repository := ternary (printf "%s/%s" (trimSuffix "/" $registry) .Values.image.repository) .Values.image.repository (ne $registry "") }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Secrets for the registry: the chart's own and those of all charts, as names or as objects, each once. */}}
{{- define "stream-anon.imagePullSecrets" -}}
{{- $names := list }}
{{- range concat .Values.imagePullSecrets (default list (default dict .Values.global).imagePullSecrets) }}
{{- $names = append $names (ternary (dict "name" .) . (kindIs "string" .)) }}
{{- end }}
{{- with uniq $names }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What a change of the settings changes: the files of the chart, or of the ConfigMap that exists. */}}
{{- define "stream-anon.checksum" -}}
{{- if .Values.existingConfigMapChecksum }}
{{- .Values.existingConfigMapChecksum }}
{{- else if .Values.existingConfigMap }}
{{- $found := default dict (lookup "v1" "ConfigMap" .Release.Namespace .Values.existingConfigMap) }}
{{- with $found.data }}
{{- toJson . | sha256sum }}
{{- end }}
{{- else }}
{{- dict "policy" .Values.policy "files" .Values.files | toJson | sha256sum }}
{{- end }}
{{- end }}

{{- define "stream-anon.configMapName" -}}
{{- default (include "stream-anon.fullname" .) .Values.existingConfigMap }}
{{- end }}

{{/* A file's path as a key of a ConfigMap, which may hold no slash. */}}
{{- define "stream-anon.fileKey" -}}
{{- . | replace "/" "__" }}
{{- end }}

{{/* The settings file with the values that win over it, as JSON. */}}
{{- define "stream-anon.effective" -}}
{{- $file := dict }}
{{- if .Values.policy }}
{{- $file = fromYaml .Values.policy }}
{{- if hasKey $file "Error" }}
{{- fail "policy: is not valid YAML" }}
{{- end }}
{{- end }}
{{- mergeOverwrite (deepCopy $file) (deepCopy .Values.settings) | toJson }}
{{- end }}

{{/* Ports of the brokers that are named, as JSON. Where none is said the service dials 9092. */}}
{{- define "stream-anon.brokerPorts" -}}
{{- $kafka := default dict (include "stream-anon.effective" . | fromJson).kafka }}
{{- $servers := list (default "" $kafka.bootstrap_servers) }}
{{- range .Values.extraEnv }}
{{- if eq .name "STREAM_ANON__KAFKA__BOOTSTRAP_SERVERS" }}
{{- $servers = append $servers (default "" .value) }}
{{- end }}
{{- end }}
{{- $ports := list }}
{{- range splitList "," (join "," $servers) }}
{{- $server := trim . }}
{{- if regexMatch "^([^:]*|\\[.*\\]):[0-9]+$" $server }}
{{- $ports = append $ports (regexFind "[0-9]+$" $server | int) }}
{{- else if $server }}
{{- $ports = append $ports 9092 }}
{{- end }}
{{- end }}
{{- $ports | toJson }}
{{- end }}

{{/* Ports of the schema registry and of who gives tokens or, as AWS STS, credentials; as JSON. */}}
{{- define "stream-anon.webPorts" -}}
{{- $kafka := default dict (include "stream-anon.effective" . | fromJson).kafka }}
{{- $security := default dict $kafka.security }}
{{- $urls := list (default dict $kafka.registry).url $security.token_endpoint .Values.kafkaSecurity.sasl.openId.endpoint }}
{{- range .Values.extraEnv }}
{{- if has .name (list "STREAM_ANON__KAFKA__REGISTRY__URL" "STREAM_ANON__KAFKA__SECURITY__TOKEN_ENDPOINT") }}
{{- $urls = append $urls .value }}
{{- end }}
{{- end }}
{{- $ports := list }}
{{- range compact $urls }}
{{- $host := (urlParse .).host }}
{{- if regexMatch ":[0-9]+$" $host }}
{{- $ports = append $ports (regexFind "[0-9]+$" $host | int) }}
{{- else }}
{{- $ports = append $ports (ternary 443 80 (hasPrefix "https:" .)) }}
{{- end }}
{{- end }}
{{- if has "AWS_MSK_IAM" (list $security.sasl_mechanism .Values.kafkaSecurity.sasl.mechanism) }}
{{- $ports = append $ports 443 }}
{{- end }}
{{- $ports | toJson }}
{{- end }}

{{/* The label `job` of the workers' series; empty if the chart does not have them scraped. */}}
{{- define "stream-anon.job" -}}
{{- $name := include "stream-anon.fullname" . }}
{{- if .Values.podMonitor.enabled }}{{ .Release.Namespace }}/{{ $name }}{{ else if .Values.serviceMonitor.enabled }}{{ $name }}{{ end }}
{{- end }}

{{/* Labels of what this release exposes, as JSON: of its workers, of its pods in kube-state-metrics, of its audits. */}}
{{- define "stream-anon.alertScope" -}}
{{- $name := include "stream-anon.fullname" . }}
{{- $namespace := .Release.Namespace }}
{{- $workers := .Values.prometheusRule.selector }}
{{- $job := include "stream-anon.job" . }}
{{- if not (or $workers $job) }}
{{- fail "prometheusRule: without serviceMonitor or podMonitor say by `selector` which labels this release's series have" }}
{{- else if not $workers }}
{{- $workers = printf "namespace=%q, job=%q" $namespace $job }}
{{- end }}
{{- $pods := printf "namespace=%q, pod=~%q" $namespace (printf "%s-[^-]+-[^-]+" (regexQuoteMeta $name)) }}
{{- $output := (default dict (include "stream-anon.effective" . | fromJson).kafka).output }}
{{- $audits := ternary (printf "subject=%q" $output) "subject!=\"\"" (not (empty $output)) }}
{{- dict "workers" $workers "pods" $pods "audits" $audits | toJson }}
{{- end }}

{{/* An expression about this release alone, given as (dict "expr" text "scope" labels). Braces that meet are joined. */}}
{{- define "stream-anon.scoped" -}}
{{- $expr := regexReplaceAll "\\b(stream_anon_\\w+|process_start_time_seconds|up)\\b" .expr (printf "${1}{%s}" .scope.workers) }}
{{- $expr = regexReplaceAll "\\b(stream_anon_audit_\\w+)\\{[^}]*\\}" $expr (printf "${1}{%s}" .scope.audits) }}
{{- $expr = regexReplaceAll "\\b(kube_\\w+)\\b" $expr (printf "${1}{%s}" .scope.pods) }}
{{- replace "}{" ", " $expr }}
{{- end }}

{{/* Most replicas of a scaler, given as (dict "root" . "key" "keda"). */}}
{{- define "stream-anon.maxReplicas" -}}
{{- $most := index .root.Values .key "maxReplicas" | int }}
{{- if eq $most 0 }}{{ .root.Values.inputPartitions | int }}{{ else }}{{ $most }}{{ end }}
{{- end }}

{{/* One pod at a time, and only for a need that lasts: each that joins makes all workers take over anew. */}}
{{- define "stream-anon.scaleUp" -}}
scaleUp:
  stabilizationWindowSeconds: {{ .scaleUpSeconds }}
  policies:
    - type: Pods
      value: 1
      periodSeconds: {{ max 15 (int .scaleUpSeconds) }}
{{- end }}

{{/* A value as the text of a variable. Large numbers would else be written with an exponent. */}}
{{- define "stream-anon.text" -}}
{{- if kindIs "float64" . }}
{{- if eq . (floor .) }}{{ . | int64 }}{{ else }}{{ . }}{{ end }}
{{- else if or (kindIs "map" .) (kindIs "slice" .) }}
{{- toJson . }}
{{- else }}
{{- toString . }}
{{- end }}
{{- end }}

{{/* What the chart decides, and the values that win over the settings file. */}}
{{- define "stream-anon.env" -}}
{{- $chosen := dict
  "HTTP__HOST" "0.0.0.0"
  "HTTP__PORT" (include "stream-anon.text" .Values.http.port)
  "HTTP__ADMIN_HOST" "127.0.0.1"
  "HTTP__ADMIN_PORT" (include "stream-anon.text" .Values.http.adminPort)
  "LOGS__FORMAT" "json"
  "LOGS__LEVEL" .Values.logs.level }}
{{- range $section, $keys := .Values.settings }}
{{- range $key, $value := $keys }}
{{- if not (kindIs "invalid" $value) }}
{{- $_ := set $chosen (printf "%s__%s" (upper $section) (upper $key)) (include "stream-anon.text" $value) }}
{{- end }}
{{- end }}
{{- end }}
{{- $security := .Values.kafkaSecurity }}
{{- if $security.protocol }}
{{- $_ := set $chosen "KAFKA__SECURITY__PROTOCOL" $security.protocol }}
{{- if hasPrefix "SASL" $security.protocol }}
{{- $_ := set $chosen "KAFKA__SECURITY__SASL_MECHANISM" $security.sasl.mechanism }}
{{- $openId := $security.sasl.openId }}
{{- if $openId.endpoint }}
{{- $_ := set $chosen "KAFKA__SECURITY__TOKEN_ENDPOINT" $openId.endpoint }}
{{- $_ := set $chosen "KAFKA__SECURITY__CLIENT_ID" $openId.clientId }}
{{- $_ := set $chosen "KAFKA__SECURITY__CLIENT_SECRET_FILE" "/etc/stream-anon-sasl/client-secret" }}
{{- with $openId.scope }}
{{- $_ := set $chosen "KAFKA__SECURITY__SCOPE" . }}
{{- end }}
{{- if $openId.caSecret }}
{{- $_ := set $chosen "KAFKA__SECURITY__TOKEN_CA_FILE" "/etc/stream-anon-openid/ca.crt" }}
{{- end }}
{{- else if eq $security.sasl.mechanism "OAUTHBEARER" }}
{{- $_ := set $chosen "KAFKA__SECURITY__TOKEN_FILE" "/etc/stream-anon-sasl/token" }}
{{- else if eq $security.sasl.mechanism "AWS_MSK_IAM" }}
{{- $_ := set $chosen "KAFKA__SECURITY__AWS_REGION" $security.sasl.awsRegion }}
{{- else }}
{{- $_ := set $chosen "KAFKA__SECURITY__PASSWORD_FILE" "/etc/stream-anon-sasl/password" }}
{{- end }}
{{- end }}
{{- if and (hasSuffix "SSL" $security.protocol) $security.tls.existingSecret }}
{{- $_ := set $chosen "KAFKA__SECURITY__CA_FILE" "/etc/stream-anon-tls/ca.crt" }}
{{- if or $security.tls.clientCertificate $security.tls.clientSecret }}
{{- $_ := set $chosen "KAFKA__SECURITY__CERTIFICATE_FILE" "/etc/stream-anon-tls/tls.crt" }}
{{- $_ := set $chosen "KAFKA__SECURITY__KEY_FILE" "/etc/stream-anon-tls/tls.key" }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.schemaRegistry }}
{{- if .existingSecret }}
{{- if .tokenKey }}
{{- $_ := set $chosen "KAFKA__REGISTRY__TOKEN_FILE" "/etc/stream-anon-registry/token" }}
{{- else }}
{{- $_ := set $chosen "KAFKA__REGISTRY__PASSWORD_FILE" "/etc/stream-anon-registry/password" }}
{{- end }}
{{- end }}
{{- with .username }}
{{- $_ := set $chosen "KAFKA__REGISTRY__USERNAME" . }}
{{- end }}
{{- if .tls.existingSecret }}
{{- $_ := set $chosen "KAFKA__REGISTRY__CA_FILE" "/etc/stream-anon-registry-tls/ca.crt" }}
{{- if .tls.clientCertificate }}
{{- $_ := set $chosen "KAFKA__REGISTRY__CERTIFICATE_FILE" "/etc/stream-anon-registry-tls/tls.crt" }}
{{- $_ := set $chosen "KAFKA__REGISTRY__KEY_FILE" "/etc/stream-anon-registry-tls/tls.key" }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.digestKey.existingSecret }}
{{- $_ := set $chosen "OUTPUT__DIGEST_KEY_FILE" "/etc/stream-anon-digest/key" }}
{{- end }}
{{- range $name, $value := $chosen }}
- name: STREAM_ANON__{{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with .Values.schemaRegistry }}
{{- if and .usernameKey (not .username) }}
- name: STREAM_ANON__KAFKA__REGISTRY__USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret | quote }}
      key: {{ .usernameKey | quote }}
{{- end }}
{{- end }}
{{- if and (hasPrefix "SASL" $security.protocol) (not (has $security.sasl.mechanism (list "OAUTHBEARER" "AWS_MSK_IAM"))) }}
- name: STREAM_ANON__KAFKA__SECURITY__USERNAME
  {{- if $security.sasl.username }}
  value: {{ $security.sasl.username | quote }}
  {{- else }}
  valueFrom:
    secretKeyRef:
      name: {{ $security.sasl.existingSecret | quote }}
      key: {{ $security.sasl.usernameKey | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What no schema can say. Rendered by the Deployment, so that nothing is installed that cannot work. */}}
{{- define "stream-anon.validate" -}}
{{- $v := .Values }}
{{- if and (not $v.policy) (not $v.existingConfigMap) }}
{{- fail "policy: give the settings file (--set-file policy=policy.yaml) or existingConfigMap" }}
{{- end }}
{{- if and $v.existingConfigMap (or $v.policy $v.files) }}
{{- fail "existingConfigMap: not together with policy and files" }}
{{- end }}
{{- $keys := dict }}
{{- range $path, $_ := $v.files }}
{{- $key := include "stream-anon.fileKey" $path }}
{{- if hasKey $keys $key }}
{{- fail (printf "files: %s and %s have one key in a ConfigMap, where a slash is two underscores" (get $keys $key) $path) }}
{{- end }}
{{- $_ := set $keys $key $path }}
{{- end }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" (include "stream-anon.fullname" .)) }}
{{- fail (printf "fullnameOverride: a Service's name begins with a letter and has no dot, unlike that of the release, %s" .Release.Name) }}
{{- end }}
{{- $effective := include "stream-anon.effective" . | fromJson }}
{{- if $v.policy }}
{{- range list "kafka" "privacy" "attributes" }}
{{- if not (hasKey $effective .) }}
{{- fail (printf "policy: has no section %s" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $v.drawsKey.existingSecret (default dict $v.settings.engine).draws_key_file }}
{{- fail "drawsKey.existingSecret: not together with settings.engine.draws_key_file" }}
{{- end }}
{{- if and $v.digestKey.existingSecret (default dict $v.settings.output).digest_key_file }}
{{- fail "digestKey.existingSecret: not together with settings.output.digest_key_file" }}
{{- end }}
{{- if and $v.signingKey.publicKeys (not $v.signingKey.existingSecret) }}
{{- fail "signingKey.publicKeys: is a key of signingKey.existingSecret, which is empty" }}
{{- end }}
{{- $returning := (default dict $effective.privacy).returning }}
{{- if not $v.existingConfigMap }}
{{- if and $v.returnsKey.existingSecret (not $returning) }}
{{- fail "returnsKey.existingSecret: is for a policy with privacy.returning" }}
{{- end }}
{{- if and $returning (not $v.returnsKey.existingSecret) (not (default dict $returning).key_file) }}
{{- fail "returnsKey.existingSecret: privacy.returning needs the Secret with its key" }}
{{- end }}
{{- if and $v.returnsKey.existingSecret (default dict $returning).key_file }}
{{- fail "returnsKey.existingSecret: not together with privacy.returning.key_file" }}
{{- end }}
{{- end }}
{{- $bearer := eq $v.kafkaSecurity.sasl.mechanism "OAUTHBEARER" }}
{{- $audience := $v.kafkaSecurity.sasl.serviceAccountTokenAudience }}
{{- $openId := $v.kafkaSecurity.sasl.openId }}
{{- $iam := eq $v.kafkaSecurity.sasl.mechanism "AWS_MSK_IAM" }}
{{- $region := $v.kafkaSecurity.sasl.awsRegion }}
{{- if and (not (hasPrefix "SASL" $v.kafkaSecurity.protocol)) (or $v.kafkaSecurity.sasl.existingSecret $v.kafkaSecurity.sasl.username $audience $region $openId.endpoint) }}
{{- fail "kafkaSecurity.protocol: without a SASL one nothing of kafkaSecurity.sasl is used, no Secret and no token" }}
{{- end }}
{{- if and (not (hasSuffix "SSL" $v.kafkaSecurity.protocol)) $v.kafkaSecurity.tls.existingSecret }}
{{- fail "kafkaSecurity.protocol: without SSL or SASL_SSL the Secret of kafkaSecurity.tls is not used" }}
{{- end }}
{{- if and (hasPrefix "SASL" $v.kafkaSecurity.protocol) (not $v.kafkaSecurity.sasl.existingSecret) (not (and $bearer $audience)) (not $iam) }}
{{- fail "kafkaSecurity.sasl.existingSecret: a SASL protocol needs it" }}
{{- end }}
{{- if and $audience (or (not $bearer) $v.kafkaSecurity.sasl.existingSecret) }}
{{- fail "kafkaSecurity.sasl.serviceAccountTokenAudience: is for OAUTHBEARER, instead of existingSecret" }}
{{- end }}
{{- if and $openId.endpoint (or (not $bearer) (not $openId.clientId) $audience) }}
{{- fail "kafkaSecurity.sasl.openId: is for OAUTHBEARER, with clientId and existingSecret, instead of other tokens" }}
{{- end }}
{{- if and (not $openId.endpoint) (or $openId.clientId $openId.scope $openId.caSecret) }}
{{- fail "kafkaSecurity.sasl.openId.endpoint: without it nothing else of openId is used" }}
{{- end }}
{{- include "stream-anon.validateRegistry" (list $v (default dict $effective.kafka).registry) }}
{{- if and $iam (or $v.kafkaSecurity.sasl.existingSecret $v.kafkaSecurity.sasl.username) }}
{{- fail "kafkaSecurity.sasl: AWS_MSK_IAM takes no Secret and no name; the role comes by serviceAccount.annotations" }}
{{- end }}
{{- if ne $iam (ne $region "") }}
{{- fail "kafkaSecurity.sasl.awsRegion: is for AWS_MSK_IAM, and needed by it" }}
{{- end }}
{{- if and $iam (ne $v.kafkaSecurity.protocol "SASL_SSL") }}
{{- fail "kafkaSecurity.protocol: AWS_MSK_IAM needs SASL_SSL" }}
{{- end }}
{{- if and (or $bearer $iam) $v.keda.enabled (hasPrefix "SASL" $v.kafkaSecurity.protocol) }}
{{- fail "keda: cannot log in with a token; use autoscaling" }}
{{- end }}
{{- if and $v.kafkaSecurity.tls.clientSecret (not $v.kafkaSecurity.tls.existingSecret) }}
{{- fail "kafkaSecurity.tls.existingSecret: beside clientSecret it must hold the authorities" }}
{{- end }}
{{- if and $v.kafkaSecurity.tls.clientCertificate (not $v.kafkaSecurity.tls.existingSecret) }}
{{- fail "kafkaSecurity.tls.existingSecret: the client's certificate must be in it" }}
{{- end }}
{{- $network := $v.networkPolicy }}
{{- if and $network.enabled (not (or $network.kafkaPorts $network.extraEgress (include "stream-anon.brokerPorts" . | fromJsonArray))) }}
{{- fail "networkPolicy.kafkaPorts: no brokers are known, and only names could be looked up; give settings.kafka.bootstrap_servers or their ports" }}
{{- end }}
{{- if and $network.enabled (or $v.serviceMonitor.enabled $v.podMonitor.enabled) (not $network.ingressFrom) }}
{{- fail "networkPolicy.ingressFrom: nobody could scrape; name the pods of Prometheus, or [{namespaceSelector: {}}] for all" }}
{{- end }}
{{- if eq (int $v.http.port) (int $v.http.adminPort) }}
{{- fail "http.adminPort: must differ from http.port" }}
{{- end }}
{{- if and $v.keda.enabled $v.autoscaling.enabled }}
{{- fail "keda and autoscaling: only one may scale" }}
{{- end }}
{{- if and $v.serviceMonitor.enabled $v.podMonitor.enabled }}
{{- fail "serviceMonitor and podMonitor: together they would scrape every pod twice" }}
{{- end }}
{{- $partitions := int $v.inputPartitions }}
{{- range list "keda" "autoscaling" }}
{{- $scaler := index $v . }}
{{- if $scaler.enabled }}
{{- if eq $partitions 0 }}
{{- fail (printf "inputPartitions: %s needs it" .) }}
{{- end }}
{{- $most := include "stream-anon.maxReplicas" (dict "root" $ "key" .) | int }}
{{- if gt $most $partitions }}
{{- fail (printf "%s.maxReplicas: %d is above inputPartitions, %d" . $most $partitions) }}
{{- end }}
{{- if gt (int $scaler.minReplicas) $most }}
{{- fail (printf "%s.minReplicas: is above maxReplicas, %d" . $most) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $v.keda.enabled }}
{{- $kafka := default dict $effective.kafka }}
{{- range list "bootstrap_servers" "group" "input" }}
{{- if not (index $kafka .) }}
{{- fail (printf "settings.kafka.%s: keda needs it, beside existingConfigMap too" .) }}
{{- end }}
{{- end }}
{{- $said := default "PLAINTEXT" (default dict $kafka.security).protocol }}
{{- if and (not $v.kafkaSecurity.protocol) (ne $said "PLAINTEXT") }}
{{- fail (printf "kafkaSecurity.protocol: keda does not see that the settings file says %s; say it here, with its Secrets" $said) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What the service would refuse of the registry that the settings name. Of a ConfigMap's nothing is known. */}}
{{- define "stream-anon.validateRegistry" -}}
{{- $v := first . }}
{{- $named := last . }}
{{- $registry := $v.schemaRegistry }}
{{- $given := or $registry.existingSecret $registry.username $registry.usernameKey $registry.tls.existingSecret }}
{{- if and $given $v.policy (not $named) }}
{{- fail "schemaRegistry: the settings have no kafka.registry" }}
{{- end }}
{{- if and $registry.tokenKey (not $registry.existingSecret) }}
{{- fail "schemaRegistry.tokenKey: is a key of existingSecret" }}
{{- end }}
{{- if and (or $registry.username $registry.usernameKey) (or $registry.tokenKey (not $registry.existingSecret)) }}
{{- fail "schemaRegistry.username, usernameKey: go with a password in existingSecret" }}
{{- end }}
{{- if and $registry.tls.clientCertificate (not $registry.tls.existingSecret) }}
{{- fail "schemaRegistry.tls.existingSecret: the client's certificate must be in it" }}
{{- end }}
{{- if and $given $named }}
{{- $url := default "" $named.url }}
{{- if and (hasPrefix "http:" $url) (not (regexMatch "^http://(localhost|127\\.0\\.0\\.1|\\[::1\\])([:/]|$)" $url)) }}
{{- fail "schemaRegistry: Secrets need an https url in kafka.registry" }}
{{- end }}
{{- if $registry.existingSecret }}
{{- if or $named.password $named.password_file $named.token $named.token_file }}
{{- fail "schemaRegistry.existingSecret: kafka.registry of the settings has a secret too" }}
{{- end }}
{{- if and (not $registry.tokenKey) (not (or $registry.username $registry.usernameKey $named.username)) }}
{{- fail "schemaRegistry.username: a password in existingSecret needs it, or usernameKey" }}
{{- end }}
{{- if and $registry.tokenKey $named.username }}
{{- fail "schemaRegistry.tokenKey: kafka.registry of the settings has a username, which goes with a password" }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
