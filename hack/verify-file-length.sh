#!/usr/bin/env bash
# No package has more than 25 files or 3,500 lines, tests not counted: load balancers of cloud providers grow beyond that,
# and are rarely split later. The linter limits files to 500 lines, and has no limit for packages. From 400 lines of a file
# on, there is a warning.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_files | xargs -d '\n' wc -l | awk '
	$2 == "total" { next }
	$2 !~ /_test\.go$/ {
		folder = $2
		sub("/?[^/]*$", "", folder)
		files[folder]++
		lines[folder] += $1
	}
	$1 > 400 { printf "%s: %d lines, soon too long\n", $2, $1 }
	END {
		for (folder in files) {
			if (files[folder] <= 25 && lines[folder] <= 3500) continue
			printf "%s: %d files with %d lines, more than 25 or 3,500: move a part into a package\n", folder,
				files[folder], lines[folder]
			failed = 1
		}
		exit failed
	}'
