package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestDashboardQueriesParse parses the query of every panel, and finds panels that overlap.
func TestDashboardQueriesParse(t *testing.T) {
	text, err := os.ReadFile("../../deploy/chart/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$provider", ".*")
	cells := map[[2]int]string{}
	for _, panel := range dashboard.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("%s has no query", panel.Title)
		}
		for _, target := range panel.Targets {
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(target.Expr)); err != nil {
				t.Errorf("%s: %s: %v", panel.Title, target.Expr, err)
			}
		}
		at := panel.GridPos
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" {
					t.Fatalf("%s overlaps %s", panel.Title, other)
				}
				cells[[2]int{x, y}] = panel.Title
			}
		}
		if at.X+at.W > 24 {
			t.Errorf("%s is wider than the grid", panel.Title)
		}
	}
}
