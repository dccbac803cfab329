package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser is one Chromium for all tests; each test has a tab of its own.
var browser context.Context

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("PAGE") == "" {
		fmt.Fprintln(os.Stderr, "PAGE is not set: run hack/test-page.sh, which writes a page and sets it")
		return 1
	}
	path, err := chromium()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("lang", "en"),
		chromedp.Flag("force-color-profile", "srgb"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var closeBrowser context.CancelFunc
	browser, closeBrowser = chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintln(os.Stderr, "start "+path+":", err)
		return 1
	}
	return m.Run()
}

// chromium returns the browser's path.
func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no chromium: install it, on Debian with apt-get install chromium")
}

// tab is the page in a browser of one size and colour scheme. A test fails if the page makes a request, logs an error or
// throws.
type tab struct {
	*testing.T
	ctx context.Context
}

type size struct{ width, height int64 }

var desktop = size{1600, 1000}

type step = chromedp.Action[chromedp.Void]

// call sends a command of the browser's protocol.
func call[P any](command cdp.Command[P, cdp.Empty], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func script(expression string) step { return chromedp.Evaluate[chromedp.Void](expression) }

func open(t *testing.T, s size, scheme, fragment string, more ...step) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(watch(t)))
	t.Cleanup(cancel)
	out := &tab{t, ctx}
	out.do() // opens the tab, which must outlive the timeout of its actions
	out.do(
		call(network.Enable, network.EnableParams{}), call(log.Enable, cdp.Empty{}),
		call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.width < 720}),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}),
	)
	out.do(more...)
	out.do(chromedp.Navigate(page()+fragment), chromedp.WaitReady(chromedp.CSS("#matrix")))
	return out
}

func page() string {
	path, _ := filepath.Abs(os.Getenv("PAGE"))
	return "file://" + path
}

// watch fails the test at its end if the page did what a self-contained page must not do.
func watch(t *testing.T) func(event any) {
	var mu sync.Mutex
	var problems []string
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range problems {
			t.Error(p)
		}
	})
	return func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if url := e.Request.URL; !strings.HasPrefix(url, page()) && !strings.HasPrefix(url, "data:") {
				problems = append(problems, "request of "+url)
			}
		case *runtime.EventExceptionThrown:
			problems = append(problems, "exception: "+e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			problems = append(problems, "console."+string(e.Type))
		case *log.EventEntryAdded:
			problems = append(problems, "log: "+e.Entry.Text)
		}
	}
}

func (t *tab) do(steps ...step) {
	t.Helper()
	ctx, stop := t.ctx, func() {}
	if len(steps) > 0 {
		ctx, stop = context.WithTimeout(t.ctx, time.Minute)
	}
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func (t *tab) key(keys ...string) {
	t.Helper()
	for _, k := range keys {
		t.do(chromedp.KeyEvent(k))
	}
}

// eval returns the value of a JavaScript expression as text.
func (t *tab) eval(expression string) string {
	t.Helper()
	out, err := chromedp.Run(t.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return fmt.Sprint(out)
}

func (t *tab) want(expression, want string) {
	t.Helper()
	if got := t.eval(expression); got != want {
		t.Errorf("%s is %q, want %q", expression, got, want)
	}
}

// until waits for what the page does on its own, such as giving the focus back when a dialog has closed.
func (t *tab) until(expression string) {
	t.Helper()
	t.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Poll[bool](expression)(ctx, target)
		return chromedp.Void{}, err
	})
}

// Expressions of the page's state.
const (
	rows    = `document.querySelectorAll("#matrix tr[data-row]:not([hidden])").length`
	columns = `[...document.querySelectorAll("#matrix thead th[data-column]:not([hidden])")]` +
		`.map((e) => e.dataset.column).join()`
	focus = `document.activeElement.closest("[data-row]")?.dataset.row + " " + ` +
		`document.activeElement.closest("[data-column]")?.dataset.column`
	opened = `document.getElementById("dialog").open`
)

func TestKeyboardAloneReachesEvidence(t *testing.T) {
	b := open(t, desktop, "light", "#differ=0")
	for range 60 {
		b.key(kb.Tab)
		if b.eval(`document.activeElement.matches("button.cell")`) == "true" {
			break
		}
	}
	b.want(focus, "service.tcp-port aws")
	b.want(`document.querySelectorAll("#matrix button[tabindex='0']").length`, "1")
	b.key(kb.ArrowRight, kb.ArrowDown)
	b.want(focus, "service.udp-port openstack")
	b.want(`getComputedStyle(document.activeElement).outlineStyle`, "solid")
	// vsphere has no results: the next cell is behind it.
	b.key(kb.ArrowRight)
	b.want(focus, "service.udp-port fake")
	b.key(kb.Home)
	b.want(focus, "service.udp-port aws")
	b.key(kb.End, kb.PageDown)
	b.want(focus, "service.source-ranges fake")
	b.key(kb.PageUp, kb.PageUp)
	b.want(focus, "service.tcp-port fake")
	b.key(kb.ArrowLeft)
	b.want(focus, "service.tcp-port openstack")
	b.key(kb.Enter)
	b.do(chromedp.WaitVisible(chromedp.CSS("#dialog")))
	b.want(`document.activeElement.id`, "dialog-title")
	b.want(`document.getElementById("evidence").innerText.includes("Listeners, members and address exist.")`, "true")
	b.want(`location.hash`, "#differ=0&cell=service.tcp-port/openstack")
	b.key(kb.Escape)
	b.until(`location.hash === "#differ=0"`)
	b.want(opened, "false")
	b.want(focus, "service.tcp-port openstack")
}

func TestFocusStaysInDialog(t *testing.T) {
	b := open(t, desktop, "light", "#cell=service.udp-port/openstack")
	for range 30 {
		b.key(kb.Tab)
		// The browser's own controls are between the last and the first element.
		at := b.eval(`document.activeElement === document.body || dialog.contains(document.activeElement)`)
		if at != "true" {
			b.Fatalf("focus left the dialog: %s", b.eval(`document.activeElement.outerHTML.slice(0, 200)`))
		}
	}
}

func TestListOnNarrowScreens(t *testing.T) {
	b := open(t, size{400, 900}, "light", "#differ=0")
	b.want(columns, "aws,openstack") // Two clouds fit; the others are a choice.
	b.do(chromedp.Focus(chromedp.CSS(`#matrix button[tabindex="0"]`)))
	b.want(focus, "service.tcp-port aws")
	b.key(kb.ArrowDown)
	b.want(focus, "service.tcp-port openstack")
	b.key(kb.ArrowDown)
	b.want(focus, "service.udp-port aws")
	b.want(`document.activeElement.querySelector(".who").checkVisibility()`, "true")
}

func TestFilters(t *testing.T) {
	click := func(selector string) []step {
		return []step{chromedp.Click(chromedp.CSS(selector))}
	}
	choose := func(id, value string) []step {
		return []step{script(fmt.Sprintf(
			`(() => { const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event("change")); })()`,
			id, value))}
	}
	join := func(lists ...[]step) (out []step) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	for name, c := range map[string]struct {
		actions             []step
		rows, columns, hash string
		check, want         string
	}{
		"search": {
			[]step{chromedp.SendKeys(chromedp.CSS("#search"), "tcp udp")}, "2", "aws,openstack,vsphere,fake", "#q=tcp+udp&differ=0",
			`document.getElementById("count").value`, "2 of 60 capabilities"},
		"search without result": {
			[]step{chromedp.SendKeys(chromedp.CSS("#search"), "nothing of this")}, "0", "aws,openstack,vsphere,fake",
			"#q=nothing+of+this&differ=0", `document.getElementById("empty").checkVisibility()`, "true"},
		"verdict": {
			click(`#tools [data-verdict="refuses"]`), "5", "aws,openstack,vsphere,fake", "#verdict=refuses&differ=0",
			`document.querySelectorAll("tr[data-row]:not([hidden]) td:not(.faded) .refuses").length`, "5"},
		"two verdicts": {
			join(click(`#tools [data-verdict="refuses"]`), click(`#tools [data-verdict="ignored"]`)), "10",
			"aws,openstack,vsphere,fake", "#verdict=refuses,ignored&differ=0",
			`document.querySelector('#tools [data-verdict="ignored"]').ariaPressed`, "true"},
		"provider": {
			click(`[data-show="fake"]`), "60", "aws,openstack,vsphere", "#show=aws,openstack,vsphere&differ=0",
			`document.querySelector('[data-show="fake"]').ariaPressed`, "false"},
		"last provider stays": {
			join(click(`[data-show="fake"]`), click(`[data-show="openstack"]`), click(`[data-show="vsphere"]`),
				click(`[data-show="aws"]`)), "60", "aws", "#show=aws&differ=0",
			`document.querySelector('[data-show="aws"]').ariaPressed`, "true"},
		"rows that differ": {
			click(`#differ`), "20", "aws,openstack,vsphere,fake", "",
			`document.getElementById("differ").checked`, "true"},
		"side by side": {
			join(choose("left", "aws"), choose("right", "openstack")), "20", "aws,openstack",
			"#show=aws,openstack", `document.querySelector("#costs .delta:not(:empty)").textContent`, "+34 calls"},
		"sorted by name": {
			choose("sort", "name"), "60", "aws,openstack,vsphere,fake", "#differ=0&sort=name",
			`document.querySelector("#matrix tr[data-row] .title").textContent`, "Annotation with an invalid value"},
		"worst first": {
			choose("sort", "worst"), "60", "aws,openstack,vsphere,fake", "#differ=0&sort=worst",
			`[...document.querySelectorAll("#matrix tr[data-row]")].slice(0, 5).every((e) => e.querySelector(".failed"))`,
			"true"},
		"most calls first": {
			choose("sort", "calls"), "60", "aws,openstack,vsphere,fake", "#differ=0&sort=calls",
			`document.querySelector("#matrix tr[data-row] .cell .calls").textContent`, "10 calls"},
		"reset": {
			join([]step{chromedp.SendKeys(chromedp.CSS("#search"), "tcp")}, choose("sort", "name"), click(`#differ`),
				click(`#reset`)), "20", "aws,openstack,vsphere,fake", "",
			`document.querySelector("#matrix tr[data-row] .title").textContent`, "TCP port"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, desktop, "light", "#differ=0")
			b.do(c.actions...)
			check := func() {
				b.want(rows, c.rows)
				b.want(columns, c.columns)
				b.want(`location.hash`, c.hash)
				b.want(c.check, c.want)
			}
			check()
			// The fragment alone shows the same.
			b.do(chromedp.Reload(), chromedp.WaitReady(chromedp.CSS("#matrix")))
			check()
		})
	}
}

func TestEvidence(t *testing.T) {
	b := open(t, desktop, "light", "#differ=0&cell=service.tcp-port/fake")
	b.do(chromedp.WaitVisible(chromedp.CSS("#dialog")))
	for _, want := range []string{
		"TCP port", "The provider declares “refused, nothing is created”.", "Left in the cloud: LoadBalancer lb-7f3a",
		"address in the status", "+ created", "1 → 2", "CreateLoadBalancer", "EnsuredLoadBalancer", "203.0.113.7",
		"</script><script>alert(1)</script>", "waits for: LoadBalancer",
	} {
		if got := b.eval(`document.getElementById("dialog").innerText`); !strings.Contains(got, want) {
			b.Errorf("no %q in the evidence", want)
		}
	}
	b.want(`document.querySelectorAll(".lane rect").length`, "5")
	b.do(chromedp.Click(chromedp.CSS("#next")))
	b.want(`document.getElementById("dialog-title").textContent`, "UDP port")
	b.do(chromedp.Click(chromedp.CSS("#previous")))
	b.want(`document.getElementById("previous").disabled`, "true")
	b.do(chromedp.Click(chromedp.CSS(`[data-tab="openstack"]`)))
	b.want(`location.hash`, "#differ=0&cell=service.tcp-port/openstack")
	b.want(`document.activeElement.dataset.tab`, "openstack")
	b.do(chromedp.Click(chromedp.CSS(`[data-tab="vsphere"]`)))
	b.want(`document.getElementById("evidence").innerText.trim()`, "No result of vSphere in this run.")
	b.do(chromedp.Click(chromedp.CSS("#close")), chromedp.WaitNotVisible(chromedp.CSS("#dialog")))
}

func TestTwoCellsSideBySide(t *testing.T) {
	b := open(t, desktop, "light", "#show=aws,openstack&cell=service.udp-port/openstack")
	results := `[...document.querySelectorAll("#evidence .result")].map((e) => e.firstChild.textContent).join()`
	b.want(results, "Amazon Web Services,OpenStack")
	beside := func(value string) {
		b.do(script(fmt.Sprintf(`(() => { const e = document.getElementById("beside"); e.value = %q;
			e.dispatchEvent(new Event("change")); })()`, value)))
	}
	beside("fake")
	b.want(results, "OpenStack,Fake")
	b.want(`location.hash`, "#show=aws,openstack&cell=service.udp-port/openstack&beside=fake")
	beside("")
	b.want(results, "OpenStack")
}

func TestBackClosesEvidence(t *testing.T) {
	b := open(t, desktop, "light", "#verdict=ignored")
	b.do(chromedp.Click(chromedp.CSS("#matrix tr[data-row]:not([hidden]) .ignored")),
		chromedp.WaitVisible(chromedp.CSS("#dialog")))
	b.do(script(`history.back()`), chromedp.WaitNotVisible(chromedp.CSS("#dialog")))
	b.want(`location.hash`, "#verdict=ignored")
	b.want(rows, "5")
}

func TestFragmentOfUnknownThingsIsIgnored(t *testing.T) {
	b := open(t, desktop, "light", "#cell=no.such/row&show=gcp&verdict=great&sort=up&x=1")
	b.want(opened, "false")
	b.want(rows, "20")
	b.want(columns, "aws,openstack,vsphere,fake")
}

func TestThemeSwitch(t *testing.T) {
	b := open(t, desktop, "light", "")
	ground := `getComputedStyle(document.body).backgroundColor`
	light := b.eval(ground)
	b.do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	b.want(`document.getElementById("theme").textContent`, "Theme: dark")
	dark := b.eval(ground)
	if light == dark {
		b.Errorf("dark and light are %s", dark)
	}
	b.do(chromedp.Reload(), chromedp.WaitReady(chromedp.CSS("#matrix")))
	b.want(ground, dark)
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	b.want(`document.getElementById("theme").textContent`, "Theme: automatic")
	b.want(ground, light)
}

func TestReadableWithoutJavaScript(t *testing.T) {
	disabled := emulation.SetScriptExecutionDisabledParams{Value: true}
	b := open(t, desktop, "light", "", call(emulation.SetScriptExecutionDisabled, disabled))
	b.shot("1600-without-javascript", false)
	b.want(`document.getElementById("tools").checkVisibility()`, "false")
	b.want(`document.querySelector("#matrix .refuses .summary").checkVisibility()`, "true")
	b.want(`[...document.querySelectorAll("#matrix .verdict")].every((e) => e.checkVisibility())`, "true")
}

func TestPrint(t *testing.T) {
	b := open(t, desktop, "dark", "")
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	b.want(`document.getElementById("tools").checkVisibility()`, "false")
	b.want(`getComputedStyle(document.body).backgroundColor`, "rgb(255, 255, 255)")
	contrast(b)
	b.do(script(`location.hash = "#differ=0&cell=service.tcp-port/fake"`))
	b.want(`document.getElementById("matrix").checkVisibility()`, "false")
	b.want(`document.getElementById("evidence").checkVisibility()`, "true")
}
