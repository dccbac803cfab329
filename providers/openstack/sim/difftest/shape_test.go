package difftest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// observation is what counts of an answer: its status, the shape of its body, and of an error the words.
type observation struct {
	Status int      `json:"status"`
	Shape  []string `json:"shape,omitempty"`
	Error  string   `json:"error,omitempty"`
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	ips   = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`)
	times = regexp.MustCompile(`\b[0-9a-f]{32}\b|req-`)
)

// observe reduces an answer to what two clouds must have in common.
func (c *target) observe(r reply) observation {
	o := observation{Status: r.status}
	var tree any
	if json.Unmarshal(r.body, &tree) != nil {
		return o
	}
	if r.status < http.StatusBadRequest {
		lines := map[string]bool{}
		shape("", tree, lines)
		for line := range lines {
			o.Shape = append(o.Shape, line)
		}
		sort.Strings(o.Shape)
		return o
	}
	content, err := json.Marshal(tree)
	if err != nil {
		return o
	}
	text := string(content)
	for name, value := range c.vars {
		if len(value) > 6 {
			text = strings.ReplaceAll(text, value, "${"+name+"}")
		}
	}
	text = uuids.ReplaceAllString(text, "<id>")
	text = ips.ReplaceAllString(text, "<ip>")
	o.Error = times.ReplaceAllString(text, "<hex>")
	return o
}

// shape collects the paths of a document with the types of what is there. All elements of a list count as one.
func shape(path string, x any, lines map[string]bool) {
	switch x := x.(type) {
	case map[string]any:
		for key, value := range x {
			if uuids.MatchString(key) {
				key = "<id>"
			}
			shape(path+"."+key, value, lines)
		}
	case []any:
		if len(x) == 0 {
			lines[path+"[]"] = true
		}
		for _, one := range x {
			shape(path+"[]", one, lines)
		}
	case nil:
		lines[path+" null"] = true
	default:
		lines[path+" "+strings.TrimPrefix(fmt.Sprintf("%T", x), "float")] = true
	}
}

// differences between what was observed on the real services and on the simulator. A null stands for a value of any
// type, an empty list for any list.
func differences(actual, simulated observation) []string {
	var out []string
	if actual.Status != simulated.Status {
		return []string{fmt.Sprintf("status %d %s, really %d %s", simulated.Status, simulated.Error, actual.Status,
			actual.Error)}
	}
	if actual.Error != simulated.Error {
		out = append(out, fmt.Sprintf("error\n      %s\n    is really\n      %s", simulated.Error, actual.Error))
	}
	for _, line := range actual.Shape {
		if !has(simulated.Shape, line) {
			out = append(out, "lacks "+line)
		}
	}
	for _, line := range simulated.Shape {
		if !has(actual.Shape, line) {
			out = append(out, "has "+line)
		}
	}
	return out
}

func has(lines []string, line string) bool {
	if slices.Contains(lines, line) {
		return true
	}
	path, kind, _ := strings.Cut(line, " ")
	return slices.ContainsFunc(lines, func(other string) bool {
		otherPath, otherKind, _ := strings.Cut(other, " ")
		return path == otherPath && (kind == "null" || otherKind == "null") ||
			strings.HasSuffix(other, "[]") && strings.HasPrefix(line, other) || strings.HasSuffix(line, "[]") &&
			strings.HasPrefix(other, line)
	})
}
