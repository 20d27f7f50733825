package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for a state of the page before it fails.
const patience = 2 * time.Minute

// page is a tab of a browser.
type page struct {
	t   *testing.T
	ctx context.Context
	// downloads is the folder for files that the page saves.
	downloads string
	// problems are exceptions in the page, requests to other hosts, and what the
	// Content-Security-Policy forbids.
	problems chan string
}

// open opens a URL in a new tab. Cookies, stored settings and the cache are those of a new browser.
func open(t *testing.T, url string) *page {
	t.Helper()
	return openWith(t, url)
}

// openWith is open for a page that also sends requests to other URLs that begin so.
func openWith(t *testing.T, url string, others ...string) *page {
	t.Helper()
	ctx, profile := openTab(t)
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx, downloads: t.TempDir(), problems: make(chan string, 100)}
	p.watch(append(others, url[:len("http://")+len(hostOf(url))], "blob:", "data:"))
	p.run(chromedp.EmulateViewport(1280, 720), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
		emulation.SetFocusEmulationEnabled(true), network.Enable(), runtime.Enable(), log.Enable(),
		browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithBrowserContextID(profile).WithDownloadPath(p.downloads).WithEventsEnabled(true),
		chromedp.Navigate(url))
	return p
}

// watch collects problems of the page. Its requests may have URLs that begin in one of several ways.
func (p *page) watch(allowed []string) {
	report := func(text string) {
		select {
		case p.problems <- text:
		default:
		}
	}
	chromedp.ListenTarget(p.ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			report("exception: " + e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Source == log.SourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
				report("security: " + e.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !slices.ContainsFunc(allowed, func(begin string) bool { return strings.HasPrefix(u, begin) }) {
				report("request to another host: " + u)
			}
		}
	})
	p.t.Cleanup(func() {
		for {
			select {
			case text := <-p.problems:
				p.t.Error(text)
			default:
				return
			}
		}
	})
}

// hostOf returns the host and the port in an http URL.
func hostOf(url string) string {
	rest := url[len("http://"):]
	for i, c := range rest {
		if c == '/' || c == '?' {
			return rest[:i]
		}
	}
	return rest
}

func (p *page) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.shoot("failure")
		p.t.Fatal(err)
	}
}

// wait waits until an expression is true.
func (p *page) wait(expression string) {
	p.t.Helper()
	poll := chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(20*time.Millisecond))
	err := chromedp.Run(p.ctx, poll)
	for isNavigation(err) {
		err = chromedp.Run(p.ctx, poll)
	}
	if err != nil {
		var text string
		_ = chromedp.Run(p.ctx, chromedp.Evaluate(`document.querySelector(".page")?.outerHTML.slice(0, 3000) ?? document.documentElement.outerHTML`, &text))
		p.shoot("failure")
		p.t.Fatalf("waiting for %s: %v; the page is %s", expression, err, text)
	}
}

// isNavigation reports whether an expression could not be evaluated because the browser replaced the
// page by another one at this moment.
func isNavigation(err error) bool {
	var refused *cdproto.Error
	return errors.As(err, &refused) &&
		(strings.Contains(refused.Message, "Cannot find context") || strings.Contains(refused.Message, "Execution context was destroyed") ||
			strings.Contains(refused.Message, "Inspected target navigated"))
}

// ready waits until the page shows all data of its range.
func (p *page) ready(pvs int) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector(".page[data-state=ready]") && document.querySelectorAll(".value[data-rows]").length === %d`, pvs))
}

// eval evaluates an expression, or awaits it, into v.
func (p *page) eval(expression string, v any) {
	p.t.Helper()
	var text string
	await := func(params *runtime.EvaluateParams) *runtime.EvaluateParams { return params.WithAwaitPromise(true) }
	p.run(chromedp.Evaluate(`(async () => JSON.stringify(await (`+expression+`)))()`, &text, await))
	if err := json.Unmarshal([]byte(text), v); err != nil {
		p.t.Fatalf("%s is %s: %v", expression, text, err)
	}
}

// drag drags from one fraction of the width of a plot to another.
func (p *page) drag(lane string, from, to float64, modifiers input.Modifier) {
	p.t.Helper()
	mouse := func(kind input.MouseType, at float64) chromedp.Action {
		x, y := p.point(lane, at, 0.5)
		return input.DispatchMouseEvent(kind, x, y).WithButton(input.Left).WithButtons(1).WithClickCount(1).WithModifiers(modifiers)
	}
	p.run(mouse(input.MouseMoved, from), mouse(input.MousePressed, from), mouse(input.MouseMoved, (from+to)/2),
		mouse(input.MouseMoved, to), mouse(input.MouseReleased, to))
}

// point returns the place of fractions of the width and the height of a plot.
func (p *page) point(lane string, x, y float64) (px, py float64) {
	p.t.Helper()
	var box struct{ X, Y, Width, Height float64 }
	p.eval(fmt.Sprintf(`document.querySelector('[data-lane=%q] .u-over').getBoundingClientRect()`, lane), &box)
	return box.X + x*box.Width, box.Y + y*box.Height
}

// hover moves the pointer to fractions of the width and the height of a plot.
func (p *page) hover(lane string, x, y float64) {
	p.t.Helper()
	px, py := p.point(lane, x, y)
	p.run(input.DispatchMouseEvent(input.MouseMoved, px, py))
}

// shoot saves a picture of the page in the folder VARVE_UI_SHOTS, if it is set.
func (p *page) shoot(name string) {
	dir := os.Getenv("VARVE_UI_SHOTS")
	if dir == "" {
		return
	}
	var png []byte
	if err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		p.t.Logf("taking a picture: %v", err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		p.t.Error(err)
	}
}
