// Package peer connects the readers of an archive to the engines that capture it, over
// HTTP:
//
//	query.Reader ─▶ Client.Recent ─── GET /internal/recent ───▶ Handler ─▶ Engine.Recent
//	serve/native ─▶ Client.Statuses ─ GET /internal/channels ─▶ Handler ─▶ Engine.Statuses
//
// Recent samples of a PV are binary: docs/format/recent.md draws them. States of channels
// are JSON, one per line. Answers are bounded. An answer that is truncated, too long or
// damaged is an error, never a partial result.
//
// The writers of an engine that is unreachable are not covered, and the reader reads their
// journal instead. An engine that is busy capturing answers without samples, and says how far
// its samples are in the journal. In both cases the result of the read says up to which time it
// is complete. A reader must not cache answers: an answer older than its request would hide samples that were
// flushed and sealed since.
package peer
