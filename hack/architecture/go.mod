module github.com/unified-ccm/unified-ccm/hack/architecture

go 1.26.0
