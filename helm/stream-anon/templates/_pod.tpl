{{/* What every pod that speaks to the brokers mounts: settings, a writable /tmp, and what it logs in with. */}}
{{- define "stream-anon.volumeMounts" -}}
{{- $security := .Values.kafkaSecurity }}
{{- $sasl := and (hasPrefix "SASL" $security.protocol) (ne $security.sasl.mechanism "AWS_MSK_IAM") }}
{{- $tls := and (hasSuffix "SSL" $security.protocol) $security.tls.existingSecret }}
- name: config
  mountPath: /etc/stream-anon
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if $sasl }}
- name: sasl
  mountPath: /etc/stream-anon-sasl
  readOnly: true
{{- end }}
{{- if $tls }}
- name: tls
  mountPath: /etc/stream-anon-tls
  readOnly: true
{{- end }}
{{- end }}

{{- define "stream-anon.volumes" -}}
{{- $security := .Values.kafkaSecurity }}
{{- $sasl := and (hasPrefix "SASL" $security.protocol) (ne $security.sasl.mechanism "AWS_MSK_IAM") }}
{{- $tls := and (hasSuffix "SSL" $security.protocol) $security.tls.existingSecret }}
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
{{- if $sasl }}
- name: sasl
  {{- if $security.sasl.serviceAccountTokenAudience }}
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          audience: {{ $security.sasl.serviceAccountTokenAudience | quote }}
          expirationSeconds: {{ $security.sasl.serviceAccountTokenSeconds }}
          path: token
  {{- else }}
  secret:
    secretName: {{ $security.sasl.existingSecret | quote }}
    defaultMode: 0440
    items:
      {{- if eq $security.sasl.mechanism "OAUTHBEARER" }}
      - key: {{ $security.sasl.tokenKey | quote }}
        path: token
      {{- else }}
      - key: {{ $security.sasl.passwordKey | quote }}
        path: password
      {{- end }}
  {{- end }}
{{- end }}
{{- if $tls }}
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
  secret:
    secretName: {{ $security.tls.existingSecret | quote }}
    defaultMode: 0440
    items:
      - key: {{ $security.tls.caKey | quote }}
        path: ca.crt
      {{- if $security.tls.clientCertificate }}
      - key: {{ $security.tls.certificateKey | quote }}
        path: tls.crt
      - key: {{ $security.tls.keyKey | quote }}
        path: tls.key
      {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where they may go: names and brokers. */}}
{{- define "stream-anon.egress" -}}
{{- $ports := list }}
{{- range concat .Values.networkPolicy.kafkaPorts (include "stream-anon.brokerPorts" . | fromJsonArray) }}
{{- $ports = append $ports (int .) }}
{{- end }}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- if $ports }}
- ports:
    {{- range $ports | uniq }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .Values.networkPolicy.kafkaTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
