// Package chartvalues converts the values of the Helm charts of the clouds' own managers into values of the chart
// unified-ccm. Each chart has a table with one rule for each of its values. A value without an equivalent becomes a
// note with the manual step.
package chartvalues
