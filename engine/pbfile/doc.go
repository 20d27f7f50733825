// Package pbfile reads the files in which the Archiver Appliance stores samples, and the answers
// of its getData.raw, which have the same lines:
//
//	SR01/PRES:2026_01.pb ─▶ name ─▶ partition: the times that the file may hold
//	                     └▶ lines ─▶ unescape ─┬─ first ─▶ Header: PV, type, year, fields
//	                                           ├─ samples ─▶ sample.Run, a bounded number at a time
//	                                           ├─ fields with new values ─▶ Change
//	                                           └─ cannot be read ─▶ Problem: offset and reason
//
// A file is text lines of protobuf messages (EPICSEvent.proto of the Archiver Appliance). ESC, line
// feed and carriage return are escaped in a line. The times of a file count from the start of the
// year that its header names.
//
// A line that cannot be read does not end a file: it becomes a Problem, and the next line is read.
// A last line without a line feed is never read, because the file may have been cut there, or the
// Appliance may be writing it. Memory is bounded by the number of samples that a caller asks for,
// and by the longest line.
package pbfile
