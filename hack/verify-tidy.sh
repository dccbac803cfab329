#!/usr/bin/env bash
# Every go.mod and go.sum lists exactly the modules that are needed. hack/update-tidy.sh
# repairs it. With GOWORK=off, because other repositories import the module without go.work.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
for module in $(all_modules); do
	if ! (cd "$module" && GOWORK=off go mod tidy -diff); then
		echo "$module/go.mod is not tidy (hack/update-tidy.sh repairs it)"
		failed=1
	fi
done
exit $failed
