package ui

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPhoebusFile checks that the file for Phoebus has the PVs, axes and times of the plot.
func TestPhoebusFile(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT&pv=SR:LIFETIME&pv=SR:CURRENT -1d&lane=1:SR:CURRENT&lane=1:SR:LIFETIME&log=1:mA&y=1:h:0:20"+hour)
	p.ready(3)
	text := p.exportAs("phoebus", "plt")
	var got struct {
		Start string `xml:"start"`
		End   string `xml:"end"`
		Axes  []struct {
			Name      string  `xml:"name"`
			Right     bool    `xml:"right"`
			Min       float64 `xml:"min"`
			Max       float64 `xml:"max"`
			Autoscale bool    `xml:"autoscale"`
			Log       bool    `xml:"log_scale"`
		} `xml:"axes>axis"`
		PVs []struct {
			Name string `xml:"name"`
			Axis int    `xml:"axis"`
			URL  string `xml:"archive>url"`
		} `xml:"pvlist>pv"`
	}
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if got.Start != "2026-01-01 13:00:00.000" || got.End != "2026-01-01 14:00:00.000" { // Europe/Berlin
		t.Errorf("the file begins at %s and ends at %s", got.Start, got.End)
	}
	if len(got.PVs) != 2 || got.PVs[0].Name != "SR:CURRENT" || got.PVs[1].Name != "SR:LIFETIME" || got.PVs[1].Axis != 1 || !strings.HasPrefix(got.PVs[0].URL, "pbraw://127.0.0.1:") {
		t.Errorf("the PVs are %+v", got.PVs)
	}
	if len(got.Axes) != 2 || !got.Axes[0].Log || !got.Axes[0].Autoscale || got.Axes[1].Autoscale || !got.Axes[1].Right || got.Axes[1].Min != 0 || got.Axes[1].Max != 20 {
		t.Errorf("the axes are %+v", got.Axes)
	}
}

// TestCopiedTextsUseATokenWhereTheArchiveNeedsOne checks the texts from an archive that answers only to
// requests with the cookie of the browser.
func TestCopiedTextsUseATokenWhereTheArchiveNeedsOne(t *testing.T) {
	a := newArchive(t)
	a.fill()
	whole := a.server.Config.Handler
	a.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("session"); err != nil && strings.HasPrefix(r.URL.Path, "/api/") {
			http.Error(w, `{"error":"a token is missing"}`, http.StatusUnauthorized)
			return
		}
		whole.ServeHTTP(w, r)
	})
	p := open(t, a.server.URL)
	p.run(chromedp.Evaluate(`document.cookie = "session=1"; 0`, nil), chromedp.Navigate(a.server.URL+"/?pv=SR:LIFETIME"+hour))
	p.ready(1)
	p.run(chromedp.Click(`.menu summary`), chromedp.Click(`[data-export=curl]`))
	p.text(".banner", `curl -H "Authorization: Bearer $VARVE_TOKEN" 'http://127.0.0.1`)
	p.run(chromedp.Click(`.menu summary`), chromedp.Click(`[data-export=python]`))
	p.text(".banner", `"Bearer " + os.environ["VARVE_TOKEN"]`)
}
