#!/usr/bin/env bash
# The tree uses the words of the field: Go files and Markdown contain none of the words below. The linter reads single
# words of Go files only.
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
# So have texts of programs, which are in quotes.
messages='initialis|behaviour|honour|favour|recognis|organis|authoris|misspelt'
if git grep --untracked -nP "^(?!\s*//).*\"[^\"]*\b($messages)" -- '*.go' ':!*_test.go' ':!*/testdata/*'; then
	echo '    write texts as in American English: initialize, behavior, honor, favor, recognize, …'
	failed=1
fi

exit $failed
