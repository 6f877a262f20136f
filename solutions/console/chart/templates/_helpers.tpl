{{- define "console.selector" -}}
app.kubernetes.io/name: solution-console
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "console.labels" -}}
{{ include "console.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- /* The scheme that the container serves. */}}
{{- define "console.scheme" -}}
{{ if .Values.tls.secret }}https{{ else }}http{{ end }}
{{- end }}

{{- /* Whether the console acts as other users with its own account. */}}
{{- define "console.impersonates" -}}
{{ if or .Values.impersonate.users .Values.impersonate.groups }}true{{ end }}
{{- end }}

{{- /* The source of a volume with one file, ca.crt, from a ConfigMap or a Secret. */}}
{{- define "console.ca" -}}
{{- if .configMap }}
configMap:
  name: {{ .configMap }}
{{- else }}
secret:
  secretName: {{ .secret }}
{{- end }}
  defaultMode: 288
  items: [{key: {{ .key | quote }}, path: ca.crt}]
{{- end }}

{{- /* The egress ports, as a list in JSON: those of the values, and that of the issuer. */}}
{{- define "console.egressPorts" -}}
{{- $ports := list (regexFind ":[0-9]+$" (urlParse .Values.issuer).host | trimPrefix ":" | default "443" | int) }}
{{- range .Values.networkPolicy.egressPorts }}
{{- $ports = append $ports (int .) }}
{{- end }}
{{- $ports | uniq | toJson }}
{{- end }}
