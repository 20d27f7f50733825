// Package files serves the samples of a PV as Parquet files, one for each day in UTC:
//
//	/api/v1/files?pv=           ─▶ days ──FirstFrom──▶ query    which days have samples
//	/api/v1/files/PV/DAY.parquet ─▶ cache ─┬─ new enough ────────────▶ http.ServeContent: ranges, ETag
//	                                       └─ build ─▶ query ─▶ table ─▶ content, in memory
//
// A file has exactly the samples whose time is in the day. Equal samples always become equal bytes.
// The ETag is a hash of the bytes, so that it is the same in every process, and changes if a late
// sample or a repair changes the day. A date of the last change is not known, and no answer has one.
//
// # Types
//
// The column of values has the narrowest type that holds all samples of the day without rounding:
// see table.ValueType. A day on which the PV changed its type from an enumeration to a double is a
// column of doubles, and a day with doubles and strings is a column of texts. The build starts with
// the type of the first sample, and starts again with a wider one if a later sample does not fit.
//
// # Memory
//
// A file is built in memory before its first byte is sent, because its length and its ETag are in
// the header of the answer. All files that are being built, sent or kept share a bounded memory; one
// file may take half of it. A file is built once for all requests that come while it is built and
// in the minute after that. The file that was used least recently makes room for a new one.
package files
