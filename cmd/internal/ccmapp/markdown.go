package ccmapp

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/logkeys"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// writeConfigReference writes the reference of a provider's cloud.conf as a Markdown page, with one heading for
// each section, in the order of the descriptor.
func writeConfigReference(w io.Writer, d provider.Descriptor) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Configuration of the %s provider\n\n", d.Title)
	fmt.Fprintf(&b, "The file given by `--cloud-config` with `--cloud-provider=%s`. "+
		"Names of sections and keys may be written in any case; "+
		"values with `#`, `;` or a backslash in them stand in double quotes. `ccm config validate` checks a file.\n", d.Name)
	if len(d.Config) == 0 {
		b.WriteString("\nThis provider has no configuration.\n")
	}
	section := ""
	for i, key := range d.Config {
		if i == 0 || key.Section != section {
			section = key.Section
			fmt.Fprintf(&b, "\n## [%s]\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n", section)
		}
		doc := key.Doc
		if key.Secret {
			doc += " The value is a secret and is never printed."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", cell(key.Key), cell(key.Type), code(key.Default), cell(doc))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAnnotationReference writes a page about annotations.
func writeAnnotationReference(w io.Writer, title, introduction string, annotations []intent.Annotation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", title, introduction)
	if len(annotations) == 0 {
		b.WriteString("\nThere are none.\n")
	}
	for _, a := range annotations {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n- Value: %s\n", a.Key, strings.TrimSpace(a.Doc), a.Type)
		if a.Default != "" {
			fmt.Fprintf(&b, "- Default: %s\n", a.Default)
		}
		if a.Example != "" {
			fmt.Fprintf(&b, "- Example: `%s: \"%s\"`\n", a.Key, strings.ReplaceAll(a.Example, `"`, `\"`))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeExclusions writes why some settings are not portable.
func writeExclusions(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\n## What is not portable\n\nThese settings have no common meaning. " +
		"The clouds' own annotations set them.\n\n")
	for _, e := range intent.Exclusions() {
		fmt.Fprintf(&b, "- **%s**: %s\n", e.Subject, e.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCapabilities writes the table of the jobs and the portable annotations that each provider supports.
func writeCapabilities(w io.Writer, all []provider.Descriptor, portable []string) error {
	var b strings.Builder
	b.WriteString("# What each provider does\n\n")
	writeHeader(&b, "Job", all)
	for i, c := range (provider.Capabilities{}).List() {
		fmt.Fprintf(&b, "| **%s**: %s |", c.Name, c.Doc)
		for _, d := range all {
			fmt.Fprintf(&b, " %s |", yesOrDash(d.Capabilities.List()[i].Has))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Portable annotations that each provider supports\n\n" +
		"A Service with an annotation that its cloud does not support gets an Event.\n\n")
	writeHeader(&b, "Annotation", all)
	for _, key := range portable {
		fmt.Fprintf(&b, "| `%s` |", key)
		for _, d := range all {
			fmt.Fprintf(&b, " %s |", yesOrDash(slices.Contains(d.Portable, key)))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeHeader(b *strings.Builder, first string, all []provider.Descriptor) {
	fmt.Fprintf(b, "| %s |", first)
	for _, d := range all {
		fmt.Fprintf(b, " %s |", cell(d.Title))
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(all)) + "\n")
}

func yesOrDash(ok bool) string {
	if ok {
		return "yes"
	}
	return "–"
}

// code formats a value as code, or returns "".
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

// cell escapes a text for a cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(strings.TrimSpace(s))
}

// writeEvents writes the table of the reasons of Events.
func writeEvents(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Events\n\nThe reasons of the Events that `ccm` sends. They never change, so that alerts and scripts can " +
		"match them: `kubectl get events -A --field-selector reason=LoadBalancerDrift`. An Event is sent again when its " +
		"message changes. [Runbooks](../guides/runbooks.md) has what to do in more detail.\n")
	for _, part := range []struct {
		title     string
		framework bool
	}{{"Events of this project", false}, {"Events of Kubernetes' controllers in `ccm`", true}} {
		fmt.Fprintf(&b, "\n## %s\n\n| Reason | Type | On | When | What to do |\n|---|---|---|---|---|\n", part.title)
		for _, d := range events.All() {
			if d.Framework == part.framework {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.Reason, d.Type, d.Object, cell(d.When), cell(d.Action))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLogKeys writes the table of the keys of log lines.
func writeLogKeys(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Log keys\n\nThe keys of the structured log lines of `ccm`. They are the same in every provider, so that " +
		"one query finds an object in all lines. `--logging-format=json` writes one JSON object per line. Lines of the framework's " +
		"controllers have keys of their own.\n\n| Key | Meaning |\n|---|---|\n")
	for _, k := range logkeys.All() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, cell(k.Meaning))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
