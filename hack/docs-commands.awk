# Shell blocks of Markdown pages. Each has a comment in the line above it:
#
#   <!-- run: CLOUD -->          a test runs it, in a lab of that cloud; "run: CLOUD, exit 2" for another exit code than 0
#   <!-- run: image -->          hack/verify-image.sh runs it, where buildah is installed
#   <!-- run: containerd -->     the same, after the blocks above, where containerd is installed and for root
#   <!-- not run: REASON -->     no test can
#
# With -v clouds="CLOUD|...", prints the blocks that have neither, and other mistakes, and fails if there are some. With
# -v cloud=CLOUD, prints the commands of the blocks for that cloud as a script of bash.
function problem(line, text) { if (!cloud) { printf "%s:%d: %s\n", FILENAME, line, text; failed = 1 } }
function emit(text) { if (running) print text }
function open_block() {
	marker_line = 0
	shell = language ~ /^(sh|bash|shell|console)$/
	if (!shell && marker) problem(FNR, "a marker stands above a block that is not sh or console")
	if (shell && !marker) problem(FNR, "the block needs a line above it: <!-- run: CLOUD --> or <!-- not run: REASON -->")
	if (shell && marker ~ /^run: / && marker !~ "^run: (" clouds ")(, exit [0-9]+)?$")
		problem(FNR, "write <!-- run: CLOUD -->, one of " clouds ", and \", exit N\" if the exit code is not 0")
	running = cloud && shell && (marker == "run: " cloud || index(marker, "run: " cloud ",") == 1)
	if (!running) return
	code = marker ~ /exit/ ? substr(marker, index(marker, "exit") + 5) : 0
	printf "echo '== %s:%d'\n%s\n", FILENAME, FNR, code == 0 ? "" : "set +e"
}
function close_block() {
	if (running && code != 0) printf "code=$?; set -e; test $code = %s || { echo \"exit code $code, not %s\"; exit 1; }\n", code, code
	running = 0
	marker = ""
}
FNR == 1 { marker = ""; inside = 0; blank = 1 }
{ text = $0; sub(/^ +/, "", text) }
!inside && text ~ /^<!-- (not )?run: .+ -->$/ {
	marker = text
	sub(/^<!-- /, "", marker)
	sub(/ -->$/, "", marker)
	marker_line = FNR
	next
}
text ~ /^```/ {
	inside = !inside
	if (!inside) { close_block(); next }
	indent = length($0) - length(text)
	language = substr(text, 4)
	first = 1
	open_block()
	next
}
inside {
	line = substr($0, indent + 1)
	if (first && language == "" && line ~ command) problem(FNR, "give the block the language sh or console")
	first = 0
	if (!running) next
	if (language != "console") print line
	else if (heredoc != "") { print line; if (line == heredoc) heredoc = "" }
	else if (substr(line, 1, 2) == "$ " || continued) {
		sub(/^\$ /, "", line)
		print line
		continued = line ~ /\\$/
		if (match(line, /<<'[A-Z]+'/)) heredoc = substr(line, RSTART + 3, RLENGTH - 4)
	}
	next
}
text != "" {
	if (marker_line) problem(marker_line, "a marker stands above no block")
	marker_line = 0
	marker = ""
	if (blank && $0 ~ /^    / && text ~ command) problem(FNR, "commands need a fenced block")
}
{ blank = text == "" }
BEGIN { command = "^(\\$ )?(kubectl|helm|ccm|ccm-lab|make|curl|hack/|kubeadm|kind) " }
END { exit failed }
