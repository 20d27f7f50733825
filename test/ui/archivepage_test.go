package ui

import (
	"testing"

	"github.com/chromedp/chromedp"

	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/engine/store"
)

// TestArchivePage checks what the page Archive shows of known engines, shards, storage and losses, and
// that it follows changes by itself.
func TestArchivePage(t *testing.T) {
	a, k := newOverview(t)
	p := open(t, a.server.URL+"/archive?lost=-30d&utc=1")
	p.wait(`document.querySelector(".page[data-state=ready]")`)
	p.text(".problems .error", "clock of engine main-engine-b is wrong by 2 min: two IOCs and Cassandra agree")
	p.text(".problems .error", "What to do: Correct the clock of its machine (NTP)")
	p.text(".tiles", "1 of 3")
	p.text(".tiles", "9 samples")
	p.text(`[data-engine="main-engine-a"]`, "1.5×")
	p.text(`[data-engine="main-engine-a"]`, "1 min 30 s")
	p.text(`[data-engine="main-engine-b"]`, "wrong by 2 min")
	p.text(`[aria-labelledby=moves] table`, "Joining")
	p.text(`section`, "Pebble in ")
	p.text(`section`, "no PV of tier 30d has a block yet")
	p.shoot("archive-dark")

	k.fleet.Store(&overview.Fleet{Missing: "the API server does not answer"})
	p.text(".missing", "Engines are missing: the API server does not answer")
	f := twoEngines()
	f.Moves, f.Engines[1] = nil, overview.Engine{Engine: "main-engine-b", Missing: "connection refused"}
	k.fleet.Store(f)
	p.text(".problems .error", "engine main-engine-b does not answer: connection refused")
	p.text(`[aria-labelledby=moves]`, "No shard moves.")
	p.text(`[data-engine="main-engine-b"]`, "does not answer")
}

// TestArchiveLosses checks the losses of a range, and that the range is in the URL.
func TestArchiveLosses(t *testing.T) {
	a, _ := newOverview(t)
	p := open(t, a.server.URL+"/archive")
	p.text("[aria-labelledby=losses]", "No losses are recorded")
	var sums struct{ Samples, Marks, PVs float64 }
	p.eval(`fetch("api/v1/losses?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z").then((r) => r.json()).then((l) => l.causes.find((c) => c.cause === "overrun"))`, &sums)
	if sums.Samples != 9 || sums.Marks != 1 || sums.PVs != 1 {
		t.Errorf("the losses by overrun are %+v, want 9 samples in one loss of one PV", sums)
	}
	p.run(chromedp.Focus("section select"), chromedp.SendKeys("section select", "the last 7"))
	p.wait(`location.search.includes("lost=-7d")`)
	p.run(chromedp.Click(".box summary"))
	p.text(".box table", "main-engine-b: Joining")
}

// TestArchivePageWithoutArchive checks that the page keeps its last state, with its time, while the archive is away,
// and goes on by itself.
func TestArchivePageWithoutArchive(t *testing.T) {
	a, k := newOverview(t)
	p := open(t, a.server.URL+"/archive")
	p.text(`[data-engine="main-engine-a"]`, "captures")
	for _, code := range []int64{429, 503, 500} {
		k.refuse.Store(code)
		p.text(".banner", "The page shows the state of ")
		p.text(".banner", "It tries again in ")
		p.text(`[data-engine="main-engine-a"]`, "captures")
		k.refuse.Store(0)
		p.run(chromedp.Evaluate(`document.querySelector(".banner button")?.click()`, nil)) // the page may have tried again by itself
		p.wait(`!document.querySelector(".banner") && document.querySelector(".page[data-state=ready]")`)
	}
	k.refuse.Store(429)
	p.run(chromedp.Reload())
	p.wait(`document.querySelector(".page[data-state=failed]")`)
	k.refuse.Store(0)
	p.text(`[data-engine="main-engine-a"]`, "captures")
}

// TestStorageByTier checks what the pages Archive and PV show of a store that knows the sizes of its tiers: each part with
// its share, and the nodes.
func TestStorageByTier(t *testing.T) {
	parts := []store.Part{
		{Contents: store.SampleContents, Tier: store.Keep30d, Tiered: true, Bytes: 6e9}, {Contents: store.SampleContents, Tier: store.Forever, Tiered: true, Bytes: 1e9},
		{Contents: store.RollupContents, Tier: store.Keep1y, Tiered: true, Bytes: 2e9}, {Contents: store.JournalContents, Bytes: 9e8}, {Contents: store.OtherContents, Bytes: 1e8},
	}
	a, _ := newOverviewOf(t, func(s store.Store) store.Store {
		return &described{s, store.Description{
			Kind: "Cassandra", Where: "keyspace uitiers", Replicas: 3, Estimated: true, Parts: parts,
			Nodes: []store.Node{{Address: "10.0.0.1:9042", Up: true, Bytes: 5e9}, {Address: "10.0.0.2:9042", Bytes: -1}},
		}}
	})
	p := open(t, a.server.URL+"/archive")
	p.text("section", "Cassandra in keyspace uitiers: 10.0 GB in 3 replicas.")
	p.text("caption", "the division by tiers is an estimate")
	for part, want := range map[string][3]string{
		"samples 30d": {"kept 30d", "6.00 GB", "60 %"}, "samples forever": {"kept forever", "1.00 GB", "10 %"}, "rollups 1y": {"kept 1y", "2.00 GB", "20 %"},
		"journal ": {"journal", "900 MB", "9 %"}, "other ": {"directory, marks, metadata, logs", "100 MB", "1 %"},
	} {
		for _, text := range want {
			p.text(`[data-part="`+part+`"]`, text)
		}
	}
	p.text("[aria-labelledby=storage] tr", "10.0.0.1:9042\tup\t5.00 GB")
	p.text("[aria-labelledby=storage] tr", "10.0.0.2:9042\tdown\tdid not answer")
	p.shoot("archive-tiers")
	p.run(chromedp.Navigate(a.server.URL + "/pv?pv=SR:CURRENT"))
	p.text("[aria-labelledby=storage] tr", "raw samples\tkept 30d\t6.00 GB")
	p.text("[aria-labelledby=storage] tr", "rollups\tkept 1y\t2.00 GB")
}
