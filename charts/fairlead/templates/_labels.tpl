{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "fairlead.labels" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/component: manager
{{- end }}
{{- define "fairlead.metricsLabels" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/component: metrics
{{- end }}
{{- define "fairlead.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}
