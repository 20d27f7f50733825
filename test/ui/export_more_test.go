package ui

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/chromedp/chromedp"
)

// TestExportsOfSeveralPVs checks that the files have the samples of all PVs.
func TestExportsOfSeveralPVs(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:LIFETIME&pv=SR:CURRENT:REF"+hour)
	p.ready(2)
	rows, err := csv.NewReader(bytes.NewReader(p.export("csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, row := range rows[1:] {
		for _, pv := range []string{"SR:LIFETIME", "SR:CURRENT:REF"} {
			if row[0] == pv || row[1] == pv {
				count[pv]++
			}
		}
	}
	if count["SR:LIFETIME"] != 60 || count["SR:CURRENT:REF"] != 120 {
		t.Errorf("the CSV has %v samples", count)
	}
	r, err := ipc.NewReader(bytes.NewReader(p.export("arrow")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	n := int64(0)
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	if r.Err() != nil || n != 180 {
		t.Errorf("the Arrow file has %d rows: %v", n, r.Err())
	}
}

// TestCopiedTextsReadTheSamples checks the texts that read the samples elsewhere.
func TestCopiedTextsReadTheSamples(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:LIFETIME&pv=SR:CURRENT:REF"+hour)
	p.ready(2)
	copied := func(what, part string) string {
		p.run(chromedp.Click(`.menu summary`), chromedp.Click(`[data-export=`+what+`]`))
		p.wait(fmt.Sprintf(`document.querySelector(".banner")?.innerText.includes(%q)`, part))
		var text string
		p.eval(`document.querySelector(".banner").firstChild.textContent`, &text)
		return text
	}
	if text := copied("python", "import pandas"); !strings.Contains(text, `read_parquet("http://`) || !strings.Contains(text, "format=parquet") {
		t.Errorf("the Python program is %s", text)
	}
	text := copied("grafana", "__name__")
	expression := text[strings.Index(text, "{"):]
	res, err := http.Get(a.server.URL + "/prometheus/api/v1/query_range?start=1767268800&end=1767272400&step=600&query=" + url.QueryEscape(strings.TrimSpace(expression)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	_, _ = body.ReadFrom(res.Body)
	if res.StatusCode != 200 || strings.Count(body.String(), `"metric"`) != 2 {
		t.Errorf("the expression %s returns %d %.300s", expression, res.StatusCode, body.String())
	}
}
