// Package page writes a comparison as one HTML file that needs nothing else: no network, no build, no server. The
// matrix is in the HTML and readable without JavaScript; scripts add filters, sorting and the evidence of each cell.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

//go:embed web
var web embed.FS

// scripts are the parts of the page's one script, in the order in which they depend on each other.
var scripts = []string{"state.js", "matrix.js", "grid.js", "evidence.js", "dialog.js", "main.js"}

var tmpl = template.Must(template.New("page.html.tmpl").
	Funcs(template.FuncMap{"inc": func(n int) int { return n + 1 }, "count": screen.Plural}).
	ParseFS(web, "web/page.html.tmpl"))

// Write writes the page of a report.
func Write(w io.Writer, r report.Report) error {
	style, err := web.ReadFile("web/style.css")
	if err != nil {
		return err
	}
	var script strings.Builder
	script.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		part, err := web.ReadFile("web/" + name)
		if err != nil {
			return err
		}
		script.Write(part)
	}
	script.WriteString("})();\n")
	v := newView(r)
	v.Style, v.Script = template.CSS(style), template.JS(script.String()) //nolint:gosec // files of this package
	v.Policy = policy(string(style), script.String())
	return tmpl.Execute(w, v)
}

// policy returns the content security policy of the page: its own style and script, and nothing from any network.
func policy(style, script string) string {
	return fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "+
		"style-src '%s'; script-src '%s'", hash(style), hash(script))
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
