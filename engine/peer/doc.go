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
// An engine that is unreachable, or too busy capturing to answer, leaves no gap in a read:
// its writers are then not covered, and the reader reads their journal instead. A reader
// must not cache answers: an answer older than its request would hide samples that were
// flushed and sealed since.
package peer
