#!/usr/bin/env bash
# No Go file grows past 500 lines: in this field the load balancer always does,
# and is rarely split again. From 400 on there is a warning.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_files | xargs -d '\n' wc -l | awk '
	$2 == "total" || $1 <= 400 { next }
	$1 > 500 { printf "%s: %d lines, more than 500: split it by what it does\n", $2, $1; failed = 1; next }
	{ printf "%s: %d lines, soon too long\n", $2, $1 }
	END { exit failed }'
