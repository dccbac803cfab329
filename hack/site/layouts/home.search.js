{{- /* The index of the search: one entry for each section of a page. A script, so that it can be loaded from a file. */ -}}
{{- $groups := partial "navigation.html" . -}}
{{- $entries := slice -}}
{{- range $groups -}}
  {{- $kind := .title -}}
  {{- range .pages -}}
    {{- $page := .page -}}
    {{- $parts := split .page.RawContent "\n## " -}}
    {{- range $i, $part := $parts -}}
      {{- $heading := "" -}}
      {{- if gt $i 0 -}}{{- $heading = index (split $part "\n") 0 | replaceRE "[`*]|\\[([^]]*)\\]\\([^)]*\\)" "$1" -}}{{- end -}}
      {{- $text := $part | replaceRE "(?s)<!--.*?-->" "" | replaceRE "[`*|#>]+|\\]\\([^)]*\\)|\\[" " " | replaceRE "[ \n-]+" " " -}}
      {{- $anchor := "" -}}
      {{- if $heading -}}{{- $anchor = printf "#%s" ($heading | anchorize) -}}{{- end -}}
      {{- $entries = $entries | append (dict "p" (strings.TrimPrefix "/" $page.RelPermalink) "a" $anchor "k" $kind
        "t" (partial "title.html" $page) "h" $heading "x" $text) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
window.searchIndex = {{ $entries | jsonify }};
