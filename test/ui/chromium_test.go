package ui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// shared is the browser of all tests, because the start of a browser takes more processor time than
// most tests. Each test has its own tabs, cookies and settings in it.
var shared struct {
	mu   sync.Mutex
	ctx  context.Context // nil before the first test that needs the browser
	stop context.CancelFunc
}

// startBrowser returns the context of the browser, and starts the browser unless it runs already.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := chromium(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx != nil && shared.ctx.Err() == nil {
		return shared.ctx
	}
	if shared.stop != nil {
		shared.stop() // what is left of a browser that crashed
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WindowSize(1280, 720), chromedp.Flag("lang", "en-GB"), chromedp.Env("TZ=Europe/Berlin"), chromedp.WSURLReadTimeout(patience))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(ctx, chromedp.WithErrorf(logUnknown)) // stop ends it too
	if err := chromedp.Run(ctx); err != nil {
		stop()
		t.Fatalf("starting %s: %v", path, err)
	}
	shared.ctx, shared.stop = ctx, stop
	return ctx
}

// openTab opens an empty tab with a profile of its own. Both are closed when the test ends.
func openTab(t *testing.T) (tab context.Context, profile cdp.BrowserContextID) {
	t.Helper()
	parent := startBrowser(t)
	ctx, cancel := context.WithTimeout(parent, patience)
	defer cancel()
	ctx = cdp.WithExecutor(ctx, chromedp.FromContext(parent).Browser)
	profile, err := target.CreateBrowserContext().Do(ctx)
	if err != nil {
		t.Fatalf("creating a profile of the browser: %v", err)
	}
	t.Cleanup(func() {
		if err := closeProfile(parent, profile); err != nil {
			t.Errorf("closing a profile of the browser: %v", err)
		}
	})
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx)
	if err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	tab, closeTab := chromedp.NewContext(parent, chromedp.WithTargetID(id))
	t.Cleanup(closeTab)
	return tab, profile
}

// closeProfile closes a profile, with all its windows.
func closeProfile(browser context.Context, profile cdp.BrowserContextID) error {
	ctx, cancel := context.WithTimeout(browser, patience)
	defer cancel()
	return target.DisposeBrowserContext(profile).Do(cdp.WithExecutor(ctx, chromedp.FromContext(browser).Browser))
}

// stopBrowser ends the browser, if a test has started it.
func stopBrowser() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.ctx != nil {
		shared.stop()
	}
}

// chromium returns the browser's program. Where there is none, the test is skipped, except in CI.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("VARVE_TEST_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	const missing = "these tests need Chromium: run hack/chromium.sh, or set VARVE_TEST_CHROMIUM to its path"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// logUnknown logs an error of the browser's driver, which does not know the events of windows that a
// button opens.
func logUnknown(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !strings.Contains(text, "EventTopLayerElementsUpdated") {
		_, _ = fmt.Fprintln(os.Stderr, text)
	}
}
