package ui

import (
	"bufio"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/test/checkout"
	"varve.dev/varve/test/child"
)

// startDex starts Dex, an OpenID Connect issuer with the users ann and bob (hack/dex). It returns the URL of the
// issuer.
func startDex(t *testing.T, redirect string) string {
	t.Helper()
	var problem strings.Builder
	tool := exec.Command(checkout.Path("hack/tools.sh"), "dex")
	tool.Stderr = &problem
	program, err := tool.Output()
	if err != nil {
		t.Fatalf("building Dex: %v: %s", err, problem.String())
	}
	dex := exec.Command(strings.TrimSpace(string(program)), "-client", "varve", "-redirect", redirect)
	out, err := dex.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := child.Start(dex)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dex.Process.Kill()
		<-ended
	})
	issuer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("Dex does not start: %v", err)
	}
	return strings.TrimSpace(issuer)
}

// clock is a clock of the archive that tests set ahead.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// plotted is the PV of the tests of the login, and its plot.
const plotted = "/?pv=SR:CURRENT" + hour

// startLogin returns an archive whose users log in at Dex. Only the group vacuum may read.
func startLogin(t *testing.T) (a *archive, issuer string, c *clock) {
	t.Helper()
	a, c = newArchive(t), &clock{}
	a.fill()
	issuer = startDex(t, a.server.URL+"/login")
	a.admit(filepath.Join(t.TempDir(), "access.yaml"), fmt.Sprintf(`
access:
- jwt: {issuer: %s, audience: varve, userClaim: preferred_username, clockSkew: 0s, login: {scopes: [openid, profile, groups, offline_access]}}
default: {groups: [vacuum]}
`, issuer), c.now)
	return a, issuer, c
}

// logIn enters a user and the password at the issuer. It runs in the page, because the browser's driver may still have
// the nodes of the page before.
func (p *page) logIn(user string) {
	p.t.Helper()
	p.wait(`document.querySelector("#submit-login")`)
	p.run(chromedp.Evaluate(fmt.Sprintf(`login.value = %q; password.value = "secret"; setTimeout(() => login.form.requestSubmit(), 0)`, user), nil))
}

// press clicks the button or the link with a text.
func (p *page) press(text string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("button, a")].find((e) => e.innerText === %q)`, text)
	p.wait(find)
	p.run(chromedp.Evaluate(find+".click()", nil))
}

// token returns the token that the page keeps, and its first and last second.
func (p *page) token() (token string, issued, expires int64) {
	p.t.Helper()
	var kept struct {
		Token    string
		Iat, Exp int64
	}
	p.eval(`({ token: sessionStorage["varve.token"], ...JSON.parse(atob(sessionStorage["varve.token"].split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))) })`, &kept)
	return kept.Token, kept.Iat, kept.Exp
}

const (
	loginAsked = `document.activeElement?.innerText?.startsWith("Log in at 127.0.0.1:")`
	plotAt     = `document.querySelector(".page[data-state=ready] .value[data-rows]") && !document.querySelector("dialog") && location.pathname + location.search === `
)

// TestLogIn logs in at Dex from the link of a plot, renews the token, logs in again after it has expired, and logs out.
func TestLogIn(t *testing.T) {
	a, issuer, c := startLogin(t)
	p := openWith(t, a.server.URL+plotted, issuer)
	var urls strings.Builder
	chromedp.ListenTarget(p.ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok {
			urls.WriteString(e.Request.URL + "\n")
		}
	})
	p.wait(loginAsked + ` && document.querySelector("dialog h2").innerText === "The archive asks you to log in"`)
	p.shoot("login-dark")
	p.run(chromedp.KeyEvent(kb.Enter))
	p.logIn("ann")
	p.wait(plotAt + fmt.Sprintf("%q", plotted))
	first, issued, expires := p.token()

	// The page gets the next token without the user, when the archive refuses the first one.
	p.wait(fmt.Sprintf(`Date.now() > %d`, (issued+2)*1000))
	c.ahead.Store(int64(time.Until(time.Unix(expires, 0)) + time.Second/2))
	p.press("PVs")
	p.wait(fmt.Sprintf(`location.pathname === "/pvs" && /ready|empty/.test(document.querySelector(".page").dataset.state) && sessionStorage["varve.token"] !== %q && !document.querySelector("dialog")`, first))
	second, _, _ := p.token()

	// The tab that is loaded again knows only a token that has expired. The link stays the same.
	c.ahead.Store(int64(2 * time.Hour))
	p.run(chromedp.Navigate(a.server.URL + plotted))
	p.wait(loginAsked + ` && document.querySelector("dialog [role=alert]").innerText.includes("the token expired at")`)
	c.ahead.Store(0)
	p.run(chromedp.KeyEvent(kb.Enter))
	p.logIn("ann")
	p.wait(plotAt + fmt.Sprintf("%q", plotted))
	third, _, _ := p.token()

	p.press("Logged in")
	p.wait(`document.querySelector("dialog h2")?.innerText === "You are logged in"`)
	p.press("Log out")
	p.wait(`document.querySelector(".page[data-state=ready] [role=status]")?.innerText.startsWith("You are logged out.") && sessionStorage.length === 0 && location.search === ""`)
	p.press("Explore")
	p.wait(loginAsked + ` && location.pathname === "/" && !document.querySelector(".value[data-rows]")`)
	for _, secret := range []string{first, second, third} {
		if strings.Contains(urls.String(), secret) {
			t.Error("a token is in a URL")
		}
	}
}

// TestLoggedInWithoutTheGroup checks that a user whom the issuer knows sees no PV without the right group, and can log
// in as somebody else.
func TestLoggedInWithoutTheGroup(t *testing.T) {
	a, issuer, _ := startLogin(t)
	p := openWith(t, a.server.URL+"/archive", issuer)
	p.wait(loginAsked)
	p.run(chromedp.KeyEvent(kb.Enter))
	p.logIn("bob")
	p.wait(`location.pathname === "/archive" && document.querySelector(".page[data-state=failed] [role=alert]")?.innerText.includes("only those who may read every PV")`)
	names := func() (found struct{ Names []string }) {
		p.eval(`fetch("api/v1/names", { headers: { Authorization: "Bearer " + sessionStorage["varve.token"] } }).then((res) => res.json())`, &found)
		return found
	}
	if seen := names().Names; len(seen) > 0 {
		t.Errorf("bob sees %q", seen)
	}
	p.press("Log in as somebody else")
	p.wait(loginAsked)
	p.run(chromedp.KeyEvent(kb.Enter))
	p.logIn("ann")
	p.wait(`location.pathname === "/archive" && document.querySelector(".page[data-state=ready] .tiles")`)
	if seen := names().Names; len(seen) == 0 {
		t.Error("ann sees no PV")
	}
}

// TestForeignAnswersOfALogin checks that a page takes no code that it has not requested, shows errors of the issuer as
// text, and takes no token of another login.
func TestForeignAnswersOfALogin(t *testing.T) {
	a, issuer, _ := startLogin(t)
	p := openWith(t, a.server.URL+"/login?code=foreign&state=foreign", issuer)
	failed := func(with string) {
		t.Helper()
		p.wait(fmt.Sprintf(`document.querySelector(".page[data-state=failed] [role=alert]")?.innerText.includes(%q) && location.search === "" && !("varve.token" in sessionStorage) && !("varve.login" in sessionStorage)`, with))
	}
	failed("has not begun the login")

	// A login of this tab, and an answer with another state.
	const begun = `sessionStorage["varve.login"] = JSON.stringify({ state: "mine", nonce: "mine", verifier: "v".repeat(43), back: "./pvs?state=silent" }), 1`
	p.run(chromedp.Evaluate(begun, nil), chromedp.Navigate(a.server.URL+"/login?code=foreign&state=other"))
	failed("has not begun the login")
	p.run(chromedp.Evaluate(begun, nil), chromedp.Navigate(a.server.URL+"/login?code=foreign&state=mine&iss=https://evil.example.org"))
	failed("comes from the issuer https://evil.example.org")
	p.run(chromedp.Evaluate(begun, nil), chromedp.Navigate(a.server.URL+"/login?state=mine&error=access_denied&error_description="+url.QueryEscape("<img src=x> not today")))
	failed("The issuer refused the login: access_denied (<img src=x> not today).")
	p.wait(`!document.querySelector("img") && document.querySelector('a[href="./pvs?state=silent"]')`)
	p.run(chromedp.Evaluate(begun, nil), chromedp.Navigate(a.server.URL+"/login?code=foreign&state=mine"))
	failed("The issuer gives no token: invalid_")

	// A real login whose nonce is not the one that the tab has stored.
	p.run(chromedp.Evaluate(begun, nil), chromedp.Evaluate(fmt.Sprintf(`crypto.subtle.digest("SHA-256", new TextEncoder().encode("v".repeat(43))).then((sum) => location.assign(%q + "?" + new URLSearchParams({
		response_type: "code", client_id: "varve", redirect_uri: %q, scope: "openid", state: "mine", nonce: "foreign", code_challenge_method: "S256",
		code_challenge: btoa(String.fromCharCode(...new Uint8Array(sum))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") }))), 1`, issuer+"/auth", a.server.URL+"/login"), nil))
	p.logIn("ann")
	failed("The ID token is not of this login")
}
