package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// columnName has the names of all columns.
const columnName = `[...document.querySelectorAll("#matrix thead th[data-column]")].map((e) => e.dataset.column)`

// shot writes a screenshot beside the page, for people to see.
func (t *tab) shot(name string, full bool) {
	t.Helper()
	action := chromedp.CaptureScreenshot()
	if full {
		action = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(t.ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(os.Getenv("PAGE")), name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestScreenshots(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		for _, s := range []size{{400, 900}, {1000, 900}, {1400, 1000}} {
			t.Run(fmt.Sprintf("%d %s", s.width, scheme), func(t *testing.T) {
				b := open(t, s, scheme, "")
				name := fmt.Sprintf("%d-%s-", s.width, scheme)
				b.shot(name+"page", true)
				// A phone widens its viewport to what is in it, so that innerWidth is no measure.
				b.want(fmt.Sprintf(`document.scrollingElement.scrollWidth <= %d`, s.width), "true")
				contrast(b)
				first, last := b.eval(columnName+`[0]`), b.eval(columnName+`.at(-1)`)
				b.do(script(`location.hash = "#differ=0&cell="+document.querySelector("#matrix tr[data-row]").dataset.row+"/`+last+`"`),
					chromedp.WaitVisible(chromedp.CSS("#dialog")))
				b.shot(name+"evidence", false)
				b.want(`document.getElementById("dialog").scrollWidth <= innerWidth`, "true")
				contrast(b)
				b.do(script(`location.hash = "#show=`+first+`,`+last+`&differ=1"`),
					chromedp.WaitNotVisible(chromedp.CSS("#dialog")))
				b.shot(name+"two", false)
			})
		}
	}
}

// contrast fails for text that is hard to read on its background: WCAG wants 4.5.
func contrast(t *tab) {
	t.Helper()
	if got := t.eval(`(() => {
		const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
		const rgba = (color) => {
			canvas.clearRect(0, 0, 1, 1);
			canvas.fillStyle = color;
			canvas.fillRect(0, 0, 1, 1);
			return [...canvas.getImageData(0, 0, 1, 1).data];
		};
		const light = ([r, g, b]) => {
			const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
			return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
		};
		const ground = (e) => {
			for (; e; e = e.parentElement) {
				const color = rgba(getComputedStyle(e).backgroundColor);
				if (color[3] === 255) return color;
			}
			return [255, 255, 255, 255];
		};
		const bad = new Set();
		for (const e of document.querySelectorAll("body *:not(script)")) {
			if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
			const [a, b] = [light(rgba(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
			const ratio = (a + 0.05) / (b + 0.05);
			if (ratio < 4.5) bad.add(e.className + " in " + e.parentElement.className + ": " + ratio.toFixed(2));
		}
		return [...bad].join("\n");
	})()`); got != "" {
		t.Errorf("contrast:\n%s", got)
	}
}
