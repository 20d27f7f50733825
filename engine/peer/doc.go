// Package peer is how a process that reads an archive asks the engines that
// capture it, over HTTP:
//
//	query.Reader ─▶ Client.Recent ─── GET /internal/recent ───▶ Handler ─▶ Engine.Recent
//	serve/native ─▶ Client.Statuses ─ GET /internal/channels ─▶ Handler ─▶ Engine.Statuses
//
// What an engine holds of a PV is binary: docs/format/recent.md draws it. States
// of channels are JSON, one a line. Answers are bounded; an answer that is cut
// short, too long or damaged is an error, and never half of the truth.
//
// An engine that can not be asked, or is too busy capturing to answer, is no gap in a
// read: its writers are not covered then, and their journal is read instead. An answer
// may be older than what is read afterwards, but never older than the question: an
// answer that is kept for the next read would hide what was flushed and sealed since.
package peer
