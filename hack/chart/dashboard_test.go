package main

import (
	"encoding/json"
	"os"
	"testing"
)

// TestDashboardLayout finds panels without a query, and panels that overlap. TestQueriesUseExistingLabels parses the
// queries.
func TestDashboardLayout(t *testing.T) {
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
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	cells := map[[2]int]string{}
	for _, panel := range dashboard.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("%s has no query", panel.Title)
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
