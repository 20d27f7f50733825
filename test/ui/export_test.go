package ui

import (
	"bytes"
	"encoding/csv"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/parquet-go/parquet-go"
)

// export chooses an item of the menu and returns the file that the page saves.
func (p *page) export(what string) []byte {
	p.t.Helper()
	return p.exportAs(what, what)
}

// exportAs is export for a file with another ending.
func (p *page) exportAs(what, ending string) []byte {
	p.t.Helper()
	done := make(chan string, 1)
	chromedp.ListenTarget(p.ctx, func(ev any) {
		if e, ok := ev.(*browser.EventDownloadProgress); ok && e.State == browser.DownloadProgressStateCompleted {
			select {
			case done <- e.GUID:
			default:
			}
		}
	})
	p.run(chromedp.Click(`.menu summary`), chromedp.Click(`[data-export=`+what+`]`))
	select {
	case <-done:
	case <-p.ctx.Done():
		p.t.Fatalf("no file arrives: %v", p.ctx.Err())
	}
	files, err := filepath.Glob(filepath.Join(p.downloads, "*."+ending))
	if err != nil || len(files) != 1 {
		p.t.Fatalf("the files are %v: %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// TestExports checks that the exported files have the samples that the archive has.
func TestExports(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	d := p.drawn()
	_, values := p.archived("SR:CURRENT", d.Lo, d.Hi)
	rows, err := csv.NewReader(bytes.NewReader(p.export("csv"))).ReadAll()
	if err != nil || len(rows) != len(values)+1 {
		t.Fatalf("the CSV has %d rows for %d samples: %v", len(rows), len(values), err)
	}
	for i, row := range rows[1:] {
		if v, err := strconv.ParseFloat(row[2], 64); err != nil || v != values[i] {
			t.Fatalf("row %d is %v, want the value %g", i, row, values[i])
		}
	}
	type record struct {
		PV    string  `parquet:"pv"`
		Value float64 `parquet:"value"`
	}
	file := p.export("parquet")
	records, err := parquet.Read[record](bytes.NewReader(file), int64(len(file)))
	if err != nil || len(records) != len(values) {
		t.Fatalf("the Parquet file has %d rows for %d samples: %v", len(records), len(values), err)
	}
	for i, r := range records {
		if r.PV != "SR:CURRENT" || r.Value != values[i] {
			t.Fatalf("row %d is %v, want the value %g", i, r, values[i])
		}
	}
	picture, err := png.Decode(bytes.NewReader(p.export("png")))
	if err != nil || picture.Bounds().Dx() < 600 || picture.Bounds().Dy() < 300 {
		t.Fatalf("the picture is %v: %v", picture.Bounds(), err)
	}
	p.run(chromedp.Click(`.menu summary`), chromedp.Click(`[data-export=curl]`))
	p.wait(`document.querySelector(".banner")?.innerText.includes("curl 'http://")`)
}
