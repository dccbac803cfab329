# Prints `make help` from the Makefile's own comments: "##@ Section" starts a
# section, "target: ... ## text" is an entry, "## text" after a section is a line.
BEGIN {
	print "unified-ccm: one cloud-controller-manager for every cloud"
	print ""
	print "Usage: make TARGET [VARIABLE=value ...]"
}
/^##@ / { printf "\n%s\n", substr($0, 5); next }
/^## / { printf "  %s\n", substr($0, 4); next }
/^[a-z0-9-]+:.* ## / {
	target = $0; sub(/:.*/, "", target)
	text = $0; sub(/^.* ## /, "", text)
	printf "  %-16s %s\n", target, text
}
