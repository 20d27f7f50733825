package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// spoolDir is the folder for samples while Cassandra is unreachable and memory is full.
const spoolDir = "/var/spool/varve"

// defaultSpoolSize repeats the default of the API for objects that did not pass through the
// API server.
var defaultSpoolSize = resource.MustParse("2Gi")

// spool returns the flags and the volume of the spool, if there is one. An embedded store has no
// spool, because it would be on the same disk.
//
// The volume survives a restart of the container but not the deletion of the pod. Its limit is
// above the engine's own limit, because the kubelet evicts a pod that exceeds it.
func spool(a *v1alpha1.Archiver) (flags []string, volumes []volume) {
	size := defaultSpoolSize
	if s := a.Spec.Engines.SpoolSize; s != nil {
		size = *s
	}
	if Embedded(a) || size.IsZero() {
		return nil, nil
	}
	limit := resource.NewQuantity(size.Value()+size.Value()/8, resource.BinarySI)
	return []string{"--spool=" + spoolDir, fmt.Sprintf("--spool-size=%d", size.Value())}, []volume{{
		VolumeApplyConfiguration: core.Volume().WithName("spool").WithEmptyDir(core.EmptyDirVolumeSource().WithSizeLimit(*limit)),
		path:                     spoolDir,
	}}
}
