// Package csvfile imports samples from CSV and other text with a sample in each line, also compressed by gzip:
//
//	files ─▶ Open: header, PVs, where their rows are ─▶ Source
//	                                                      │ for each PV
//	        lines ─▶ cells ─▶ columns ─▶ time, value, alarm ─▶ samples by type ─▶ migration.Sink
//	                                             └▶ marks
//
// A file has the rows of one PV, or a column with the names of the PVs. Rows need not be in order of time. If a row cannot
// be read, the reader names its file and line, and continues with the next one. The reader guesses nothing: the caller gives
// the form of the times and the type of the values, and the reader refuses rows that do not have them.
//
// The package splits lines itself, because encoding/csv bounds neither the length of a record nor that of a file that
// lacks a closing quote.
//
// Memory holds the names of the PVs, and for each PV that is read a batch of its samples and a line.
package csvfile
