// Package compare compares the samples of a PV in two archives:
//
//	here ─▶ cursor ─┐            equal: counted
//	                ├─▶ samples ─▶ differ at one time: value, alarm, type
//	there ─▶ cursor ┘  by time    in one archive only ─▶ unmatched ─▶ time, or missing
//
// Both archives are read once, in order of time. Memory holds a batch of each, and the samples that only one
// archive has, as long as the other one may still have them with another time stamp.
package compare
