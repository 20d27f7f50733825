package render

import (
	"strings"

	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// Folders in the containers.
const (
	dataDir        = "/var/lib/varve"
	stateDir       = "/run/varve"
	credentialsDir = "/etc/varve/credentials"
	tlsDir         = "/etc/varve/tls"
)

// volume is a volume and its mount path.
type volume struct {
	*core.VolumeApplyConfiguration
	path     string
	readOnly bool
}

func (v volume) mount() *core.VolumeMountApplyConfiguration {
	m := core.VolumeMount().WithName(*v.Name).WithMountPath(v.path)
	if v.readOnly {
		m.WithReadOnly(true)
	}
	return m
}

// storage returns the flags for the archive's storage, and the volumes that the flags name.
func storage(a *v1alpha1.Archiver) (flags []string, volumes []volume) {
	if Embedded(a) {
		claim := core.PersistentVolumeClaimVolumeSource().WithClaimName(VolumeName(a.Name))
		return []string{"--data=" + dataDir}, []volume{{
			VolumeApplyConfiguration: core.Volume().WithName("data").WithPersistentVolumeClaim(claim),
			path:                     dataDir,
		}}
	}
	return cassandra(a)
}

func cassandra(a *v1alpha1.Archiver) (flags []string, volumes []volume) {
	if Managed(a) != nil {
		return managedFlags(a, RoleSecret(a.Name))
	}
	c := a.Spec.Storage.Cassandra
	flag := func(name, value string) { flags = append(flags, "--cassandra"+name+"="+value) }
	secret := func(name string, ref *v1alpha1.SecretReference, dir string) {
		flag("-"+name, dir)
		volumes = append(volumes, secretVolume(strings.TrimSuffix(name, "-dir"), ref.Name, dir))
	}

	flag("", strings.Join(c.External.ContactPoints, ","))
	flag("-keyspace", Keyspace(a))
	if c.External.Datacenter != "" {
		flag("-datacenter", c.External.Datacenter)
	}
	if ref := c.External.SecretRef; ref != nil {
		secret("credentials", ref, credentialsDir)
	}
	if tls := c.External.TLS; tls != nil {
		flag("-tls", "true")
		if tls.SecretRef != nil {
			secret("tls-dir", tls.SecretRef, tlsDir)
		}
		if tls.ServerName != "" {
			flag("-tls-server-name", tls.ServerName)
		}
	}
	return flags, volumes
}

// secretVolume returns a volume that mounts a Secret by its name. The operator never reads the
// Secret. Only the pod's group can read the files.
func secretVolume(name, secret, dir string) volume {
	source := core.SecretVolumeSource().WithSecretName(secret).WithDefaultMode(0o440).WithOptional(false)
	return volume{VolumeApplyConfiguration: core.Volume().WithName(name).WithSecret(source), path: dir, readOnly: true}
}
