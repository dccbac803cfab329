package compare

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// Groups of scenarios that are manifests.
const (
	groupExamples = report.GroupExamples
	groupUser     = "Your manifests"
)

// UserScenario returns the scenario of a user's file with Services.
func UserScenario(file string) (Scenario, error) { return newFileScenario("user.", groupUser, file) }

// Examples returns a scenario for each manifest of examples/ in the repository that contains the working directory;
// none outside a repository.
func Examples() ([]Scenario, error) {
	root := lab.Repository()
	if root == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var out []Scenario
	for _, file := range files {
		s, err := newFileScenario("example.", groupExamples, file)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// newFileScenario returns a scenario that applies the Services of a file.
func newFileScenario(prefix, group, file string) (Scenario, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Scenario{}, err
	}
	services, err := parseServices(string(content))
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", file, err)
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	detail := leadingComment(string(content))
	if detail == "" {
		detail = "The Services of " + filepath.Base(file) + " get load balancers, without a Warning Event."
	}
	return Scenario{
		ID: prefix + name, Group: group, Title: name, Detail: detail, Declared: declaresBalancers,
		Run: func(ctx context.Context, t *Trial) (report.Verdict, string, error) { return applyAll(ctx, t, services) },
	}, nil
}

// parseServices reads the Services of a manifest.
func parseServices(manifest string) ([]*v1.Service, error) {
	var out []*v1.Service
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		svc := &v1.Service{}
		if err := yaml.UnmarshalStrict(document, svc); err != nil {
			return nil, fmt.Errorf("not a manifest of a Service: %w", err)
		}
		switch {
		case svc.Kind == "" && svc.Name == "": // a comment
		case svc.Kind != "Service":
			return nil, fmt.Errorf("%s %s: a comparison applies Services only; remove it", svc.Kind, svc.Name)
		case svc.Name == "":
			return nil, errors.New("a Service has no metadata.name")
		default:
			out = append(out, svc)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no Service in it")
	}
	return out, nil
}

// leadingComment returns the first lines of a manifest that are comments.
func leadingComment(manifest string) string {
	var lines []string
	for line := range strings.Lines(manifest) {
		text, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.Join(lines, " ")
}

// hasNoEffect matches a warning about a setting that the load balancer does not have.
var hasNoEffect = regexp.MustCompile(`^UnsupportedAnnotation: | has no effect`)

// applyAll applies Services one after the other, and returns the worst verdict.
func applyAll(ctx context.Context, t *Trial, services []*v1.Service) (report.Verdict, string, error) {
	worst, summaries := report.Works, []string{}
	for _, svc := range services {
		s, err := t.apply(ctx, svc)
		if err != nil {
			return "", "", err
		}
		warning := warningOf(s.events)
		verdict, summary := s.decide(spec{
			effect: func(s *state) []report.Check {
				return []report.Check{s.check("Warning Events", "", warning)}
			},
			alternative: base, difference: warning,
		})
		if verdict == report.WorksDifferently && hasNoEffect.MatchString(warning) {
			verdict = report.CreatedWithout
		}
		if len(services) > 1 {
			summary = svc.Name + ": " + summary
		}
		if verdict.Compare(worst) > 0 {
			worst, summaries = verdict, nil
		}
		if verdict == worst {
			summaries = append(summaries, summary)
		}
	}
	return worst, strings.Join(summaries, "; "), nil
}
