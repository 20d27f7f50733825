// Package appliance serves the HTTP API of the EPICS Archiver Appliance, as its
// clients use it: reading samples, searching names, the state of PVs.
//
//	/retrieval/data/getData.EXT ──▶ ask ──▶ query ──▶ operator ──▶ runs ──▶ encoder of EXT ──▶ answer
//	/retrieval/bpl/…            ──▶ names
//	/mgmt/bpl/…                 ──▶ names, states; whatever would change something is refused
//
// The behaviour is that of the Appliance (github.com/archiver-appliance), checked
// with aapy and pyarchappl in test/clients, but for:
//
//   - JSON is always valid. The Appliance writes NaN and Infinity as bare words,
//     which simplejson 3.19 and later refuse, and requests prefers simplejson
//     where it is installed, as with pyarchappl. Here NaN is null, which NumPy and
//     pandas turn into NaN, and an infinity is ±1e999, a JSON number that parsers
//     of doubles read as infinity.
//   - CSV quotes values that hold a comma, as arrays do.
//   - Raw answers are never compressed: aapy does not decompress them.
//   - A raw answer without samples has the line that begins a chunk, since
//     pyarchappl and aapy fail on an empty one.
package appliance
