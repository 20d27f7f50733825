package store

// The format levels of this program. A release that stores something that the former release cannot
// read raises LatestFormat, and writes it only to archives of that level: see docs/compatibility.md,
// which lists the levels.
const (
	// OldestFormat is the lowest level at which this program runs. The stores upgrade archives of
	// lower levels, which only programs before release 0.1.0 wrote, when they open them.
	OldestFormat FormatLevel = 5
	// LatestFormat is the highest level that this program knows. New archives have this level.
	LatestFormat FormatLevel = 6
)

// DeletedRanges is the first level at which the directory may have deleted ranges. Release 0.1.0 would show
// their samples.
const DeletedRanges FormatLevel = 6
