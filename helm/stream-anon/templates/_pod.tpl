{{/* What every pod that speaks to the brokers mounts: settings, a writable /tmp, and what it logs in with. */}}
{{- define "stream-anon.volumeMounts" -}}
- name: config
  mountPath: /etc/stream-anon
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- range include "stream-anon.secretVolumes" . | fromYamlArray }}
- name: {{ .name }}
  mountPath: /etc/stream-anon-{{ .name }}
  readOnly: true
{{- end }}
{{- end }}

{{- define "stream-anon.volumes" -}}
- name: config
  configMap:
    name: {{ include "stream-anon.configMapName" . }}
    {{- if not .Values.existingConfigMap }}
    items:
      - key: policy.yaml
        path: policy.yaml
      {{- range $path, $_ := .Values.files }}
      - key: {{ include "stream-anon.fileKey" $path | quote }}
        path: {{ $path | quote }}
      {{- end }}
    {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmpSizeLimit }}
{{- with include "stream-anon.secretVolumes" . | trim }}
{{ . }}
{{- end }}
{{- end }}

{{/* Volumes of Secrets and of a token, each mounted at /etc/stream-anon-NAME; the variables name these files. */}}
{{- define "stream-anon.secretVolumes" -}}
{{- $security := .Values.kafkaSecurity }}
{{- $sasl := $security.sasl }}
{{- $registry := .Values.schemaRegistry }}
{{- if and (hasPrefix "SASL" $security.protocol) (ne $sasl.mechanism "AWS_MSK_IAM") }}
- name: sasl
  {{- if $sasl.serviceAccountTokenAudience }}
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          audience: {{ $sasl.serviceAccountTokenAudience | quote }}
          expirationSeconds: {{ $sasl.serviceAccountTokenSeconds }}
          path: token
  {{- else if $sasl.openId.endpoint }}
  {{- include "stream-anon.secret" (list $sasl.existingSecret (dict "client-secret" $sasl.openId.clientSecretKey)) | nindent 2 }}
  {{- else if eq $sasl.mechanism "OAUTHBEARER" }}
  {{- include "stream-anon.secret" (list $sasl.existingSecret (dict "token" $sasl.tokenKey)) | nindent 2 }}
  {{- else }}
  {{- include "stream-anon.secret" (list $sasl.existingSecret (dict "password" $sasl.passwordKey)) | nindent 2 }}
  {{- end }}
{{- end }}
{{- if and (hasPrefix "SASL" $security.protocol) $sasl.openId.caSecret }}
- name: openid
  {{- include "stream-anon.secret" (list $sasl.openId.caSecret (dict "ca.crt" $sasl.openId.caKey)) | nindent 2 }}
{{- end }}
{{- if and (hasSuffix "SSL" $security.protocol) $security.tls.existingSecret }}
- name: tls
  {{- if $security.tls.clientSecret }}
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ $security.tls.existingSecret | quote }}
          items:
            - key: {{ $security.tls.caKey | quote }}
              path: ca.crt
      - secret:
          name: {{ $security.tls.clientSecret | quote }}
          items:
            - key: {{ $security.tls.certificateKey | quote }}
              path: tls.crt
            - key: {{ $security.tls.keyKey | quote }}
              path: tls.key
  {{- else }}
  {{- include "stream-anon.certificates" $security.tls | nindent 2 }}
  {{- end }}
{{- end }}
{{- if $registry.existingSecret }}
- name: registry
  {{- $path := ternary "token" "password" (ne $registry.tokenKey "") }}
  {{- $key := default $registry.passwordKey $registry.tokenKey }}
  {{- include "stream-anon.secret" (list $registry.existingSecret (dict $path $key)) | nindent 2 }}
{{- end }}
{{- if $registry.tls.existingSecret }}
- name: registry-tls
  {{- include "stream-anon.certificates" $registry.tls | nindent 2 }}
{{- end }}
{{- with .Values.digestKey }}
{{- if .existingSecret }}
- name: digest
  {{- include "stream-anon.secret" (list .existingSecret (dict "key" .key)) | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secret of a section `tls`: the authorities, and the client's certificate where it has one. */}}
{{- define "stream-anon.certificates" -}}
{{- $paths := dict "ca.crt" .caKey }}
{{- if .clientCertificate }}
{{- $paths = merge $paths (dict "tls.crt" .certificateKey "tls.key" .keyKey) }}
{{- end }}
{{- include "stream-anon.secret" (list .existingSecret $paths) }}
{{- end }}

{{/* The source of a volume: a Secret's name, and its keys by their paths. */}}
{{- define "stream-anon.secret" -}}
secret:
  secretName: {{ first . | quote }}
  defaultMode: 0440
  items:
    {{- range $path, $key := last . }}
    - key: {{ $key | quote }}
      path: {{ $path }}
    {{- end }}
{{- end }}

{{/* Where they may go: names, brokers, schema registry, and whoever gives tokens. */}}
{{- define "stream-anon.egress" -}}
{{- $network := .Values.networkPolicy }}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- include "stream-anon.mayReach" (list (concat $network.kafkaPorts (include "stream-anon.brokerPorts" . | fromJsonArray)) $network.kafkaTo) }}
{{- include "stream-anon.mayReach" (list (include "stream-anon.webPorts" . | fromJsonArray) $network.webTo) }}
{{- with $network.extraEgress }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* A rule for ports, of some places or of all; none without a port. */}}
{{- define "stream-anon.mayReach" -}}
{{- $ports := list }}
{{- range first . }}
{{- $ports = append $ports (int .) }}
{{- end }}
{{- if $ports }}
- ports:
    {{- range $ports | uniq }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with last . }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
