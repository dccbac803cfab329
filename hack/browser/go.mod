// Tests of the comparison's page in a real Chromium. A module of its own, outside go.work: what drives the browser is not
// part of the product.
module github.com/unified-ccm/unified-ccm/hack/browser

go 1.26.0

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
)

require github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
