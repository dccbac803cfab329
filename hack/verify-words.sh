#!/usr/bin/env bash
# The tree uses the words of the field: Go files and Markdown contain none of the words below, and
# lines of Go end at 120 columns (a tab counts as one). A line may be longer if it has a URL, an ARN, a struct tag, a nolint
# directive, a raw string or the signature of an SDK's call, or if it is in a test, where a row of a table or a text
# of an API stays on one line.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Each with the word to write instead.
words=$(
	cat <<'END'
somebody|another tool, user or controller
mend|repair, correct
mends|repairs, corrects
mended|repaired, corrected
patience|timeout
surroundings|shared state
doubted|uncertain
seals|checksums
say whether|report whether
says whether|reports whether
tells whether|reports whether
strangers|unknown, foreign
lingering|remaining
in vain|without effect
anybody|any client, all clients
lent|set, injected
told|passed, reported, sent an Event
tells|reports, identifies
is asked|gets a request
begun|started
patient|adaptive
genuine|valid
undated|without a date
anew|again
look at|read, check
looks at|reads, checks
looked at|read, checked
stranger|foreign
promise|guarantee
promises|guarantees
promised|guaranteed
wish|request
doubt|uncertain
seal|checksum
touched|changed
leftover|orphan
leftovers|orphans
made up|invalid, generated
for ever|forever
somewhere|name the place
END
)
pattern=$(cut -d'|' -f1 <<<"$words" | paste -sd'|')

failed=0
while IFS= read -r hit; do
	word=$(cut -d: -f3- <<<"$hit" | grep -oiwE "$pattern" | head -n1 | tr '[:upper:]' '[:lower:]')
	printf '%s\n    write instead of "%s": %s\n' "$hit" "$word" "$(grep "^$word|" <<<"$words" | cut -d'|' -f2)"
	failed=1
done < <(git grep --untracked -niwE "$pattern" -- '*.go' '*.md' ':!*/testdata/*' || true)

# Markdown has American spelling, as Kubernetes' documentation.
british='initialis\w*|licen[c]e\w*|behaviour\w*|honour\w*|misspelt|favour\w*|colour\w*|recognis\w*|organis\w*|authoris\w*|labelled|modelled|cancelled'
if git grep --untracked -niwE "$british" -- '*.md' '*.head' ':!*/testdata/*'; then
	echo '    write it as in American English: initialize, license, behavior, honor, misspelled, favor, color, …'
	failed=1
fi

long=$(go_files | grep -vE '_test\.go$|/testdata/' | LC_ALL=C.UTF-8 xargs -d '\n' grep -nHP '^.{121,}' |
	grep -vE 'https?://|nolint|`|"arn:|opts \.\.\.func\(' | sed -E 's/^([^:]+:[0-9]+):.*/\1: more than 120 columns/' || true)
if [[ -n $long ]]; then
	printf '%s\n' "$long"
	failed=1
fi
exit $failed
