// Package appliance serves the part of the EPICS Archiver Appliance's HTTP API that its
// clients use: reading samples, searching names, and the states of PVs.
//
//	/retrieval/data/getData.EXT ──▶ dataQuery ──▶ query.Reader ──▶ post-processor ──▶ runs
//	                                                   answer ◀── encoder of EXT ◀──┘
//	/retrieval/data/getDataAtTime ─▶ atQuery ──▶ query.Reader, some PVs at a time ──▶ one sample each
//	/retrieval/bpl/…, /mgmt/bpl/…, ──▶ table of calls ─┬─ reads       ──▶ names, states, reports
//	/engine/bpl/…, /etl/bpl/…                          ├─ changes     ──▶ 403
//	                                                   └─ unsupported ──▶ 501, and what to use instead
//
// It behaves like the Appliance (github.com/archiver-appliance), which test/clients
// checks with aapy and pyarchappl, with four differences:
//
//   - JSON is always valid. The Appliance writes NaN and Infinity as bare words, which
//     simplejson refuses from version 3.19 on. The Python package requests prefers simplejson
//     where it is installed, as with pyarchappl. Here NaN is null, which NumPy and pandas
//     convert to NaN. An infinity is ±1e999, a JSON number that parsers of float64 read as
//     infinity.
//   - CSV quotes values that contain a comma, such as arrays.
//   - Raw answers are never compressed, because aapy does not decompress them.
//   - A raw answer without samples has the line that begins a chunk, because pyarchappl
//     and aapy fail on an empty answer.
package appliance
