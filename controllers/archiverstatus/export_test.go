package archiverstatus

// Healthy returns an Archiver without problems.
var Healthy = healthy
