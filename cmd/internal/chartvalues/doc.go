// Package chartvalues converts the values of the Helm charts of the clouds' own managers into values of the chart
// unified-ccm. Each chart is a table: one rule for each of its values. A value without an equivalent becomes a
// note that says what to do.
package chartvalues
