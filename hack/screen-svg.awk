# Draws the last frame of a recorded terminal as SVG: docs/images/screen.svg is the live screen of `make run`.
#
#   script --quiet --command 'stty cols 118 rows 40; make run' /tmp/screen        (press Ctrl-C after a minute)
#   awk -f hack/screen-svg.awk /tmp/screen >docs/images/screen.svg
function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); return text }
BEGIN { RS = "\033\\[H"; width = 8.4; height = 19 }
/Ctrl-C ends/ { frame = $0 }
END {
	sub(/\n[^\n]*export KUBECONFIG.*/, "", frame) # paths of one run
	gsub(/\r|\033\[[KJ]/, "", frame)
	count = split(frame, lines, "\n")
	for (i = 1; i <= count; i++) {
		plain = lines[i]
		gsub(/\033\[[0-9;]*m/, "", plain)
		if (length(plain) > columns) columns = length(plain)
	}
	w = columns * width + 32
	h = count * height + 28
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"The live screen of make run\">\n", w, h
	print "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6dde6;white-space:pre}" \
		".b{font-weight:700;fill:#fff}.d{fill:#8b98a8}.g{fill:#5fd38d}.y{fill:#e5c07b}.r{fill:#f07178}</style>"
	printf "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#12181f\"/>\n", w, h
	for (i = 1; i <= count; i++) {
		column = 0
		class = ""
		parts = split(lines[i], pieces, "\033\\[")
		for (p = 1; p <= parts; p++) {
			text = pieces[p]
			if (p > 1 && match(text, /^[0-9;]*m/)) {
				code = substr(text, 1, RLENGTH - 1)
				text = substr(text, RLENGTH + 1)
				class = code == 1 ? "b" : code == 2 ? "d" : code == 32 ? "g" : code == 33 ? "y" : code == 31 ? "r" : ""
			}
			# Each column begins at its own place, whatever the font.
			while (text != "") {
				match(text, /^ */)
				column += RLENGTH
				text = substr(text, RLENGTH + 1)
				part = match(text, /  +/) ? substr(text, 1, RSTART - 1) : text
				text = substr(text, length(part) + 1)
				if (part == "") continue
				printf "<text x=\"%.1f\" y=\"%d\"%s>%s</text>\n", 16 + column * width, 24 + (i - 1) * height,
					class ? " class=\"" class "\"" : "", escaped(part)
				column += length(part)
			}
		}
	}
	print "</svg>"
}
