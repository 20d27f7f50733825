package render

import (
	"encoding/json"
	"fmt"
	"path"

	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// accessDir is the folder of the access file. The files of Secrets are in folders below it.
//
//	annotation of the pod ─── downward API ──▶ access.yaml ──▶ --access
//	Secrets ──── volumes, read by pods ──────▶ tokens-1/tokens, tls/tls.crt, …
//
// The file is an annotation instead of a ConfigMap, so that each pod has the file of its own version of
// the Deployment, and an edit restarts the pods. It contains no secrets.
const (
	accessDir        = "/etc/varve/access"
	accessFile       = "access.yaml"
	accessAnnotation = "varve.dev/access"
)

// accessConfig is the content of an access file. Package engine/serve/access reads it.
type accessConfig struct {
	Access  []map[string]any      `json:"access"`
	Readers []v1alpha1.ReaderRule `json:"readers,omitempty"`
	Default any                   `json:"default,omitempty"`
	TLS     map[string]string     `json:"tls,omitempty"`
	Hosts   []string              `json:"hosts,omitempty"`
	Origins []string              `json:"origins,omitempty"`
}

// accessFlags returns the flags, the annotation and the volumes of the pods that serve readers. They
// are empty without spec.retrieval.access.
func accessFlags(a *v1alpha1.Archiver) (flags []string, annotations map[string]string, volumes []volume) {
	spec := a.Spec.Retrieval.Access
	if spec == nil {
		return nil, nil, nil
	}
	f := &accessFiles{}
	c := accessConfig{Readers: spec.Readers, Default: defaultReaders(spec.Default), Hosts: append(serviceHosts(a), spec.Hosts...), Origins: spec.Origins}
	for i := range spec.Authenticators {
		c.Access = append(c.Access, f.authenticator(i, &spec.Authenticators[i]))
	}
	if t := spec.TLS; t != nil {
		dir := f.mount("tls", t.SecretRef.Name)
		c.TLS = map[string]string{"certificate": path.Join(dir, "tls.crt"), "key": path.Join(dir, "tls.key")}
		if ref := t.ClientCASecretRef; ref != nil {
			c.TLS["clientCA"] = path.Join(f.mount("client-ca", ref.Name), "ca.crt")
		}
	}
	text, err := json.MarshalIndent(c, "", "  ") // JSON is YAML, and leaves no doubt about the type of a value
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flags = []string{"--access=" + path.Join(accessDir, "config", accessFile)}
	if spec.Audit == v1alpha1.AuditStderr {
		flags = append(flags, "--audit=stderr")
	}
	return flags, map[string]string{accessAnnotation: string(text) + "\n"}, append([]volume{accessVolume()}, f.volumes...)
}

// accessVolume returns the volume with the access file.
func accessVolume() volume {
	file := core.DownwardAPIVolumeFile().WithPath(accessFile).
		WithFieldRef(core.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.annotations['" + accessAnnotation + "']"))
	source := core.DownwardAPIVolumeSource().WithDefaultMode(0o440).WithItems(file)
	return volume{
		VolumeApplyConfiguration: core.Volume().WithName("access").WithDownwardAPI(source),
		path:                     path.Join(accessDir, "config"), readOnly: true,
	}
}

// accessFiles collects the Secrets that an access file names.
type accessFiles struct{ volumes []volume }

// mount returns the folder with the files of a Secret.
func (f *accessFiles) mount(name, secret string) string {
	dir := path.Join(accessDir, name)
	f.volumes = append(f.volumes, secretVolume("access-"+name, secret, dir))
	return dir
}

// authenticator returns an element of the list access.
func (f *accessFiles) authenticator(i int, a *v1alpha1.Authenticator) map[string]any {
	switch {
	case a.Anonymous != nil:
		return map[string]any{"anonymous": a.Anonymous}
	case a.Tokens != nil:
		dir := f.mount(fmt.Sprint("tokens-", i), a.Tokens.SecretRef.Name)
		return map[string]any{"tokens": map[string]string{"file": path.Join(dir, "tokens")}}
	case a.Networks != nil:
		return map[string]any{"networks": a.Networks}
	case a.Kubernetes != nil:
		return map[string]any{"kubernetes": a.Kubernetes}
	case a.TrustedProxy != nil:
		return map[string]any{"trustedProxy": a.TrustedProxy}
	case a.JWT != nil:
		return map[string]any{"jwt": f.issuer(i, a.JWT)}
	}
	return map[string]any{} // of a later version: the pods refuse it
}

// issuer returns the field jwt of an authenticator.
func (f *accessFiles) issuer(i int, j *v1alpha1.JWTAccess) map[string]any {
	out := map[string]any{"issuer": j.Issuer, "audience": j.Audience}
	for name, value := range map[string]string{
		"keys": j.Keys, "userClaim": string(j.UserClaim), "groupsClaim": string(j.GroupsClaim), "clockSkew": string(j.ClockSkew),
	} {
		if value != "" {
			out[name] = value
		}
	}
	if len(j.Algorithms) > 0 {
		out["algorithms"] = j.Algorithms
	}
	if l := j.Login; l != nil {
		login := map[string]any{}
		if l.ClientID != "" {
			login["clientID"] = l.ClientID
		}
		if len(l.Scopes) > 0 {
			login["scopes"] = l.Scopes
		}
		out["login"] = login
	}
	if ref := j.CASecretRef; ref != nil {
		out["caFile"] = path.Join(f.mount(fmt.Sprint("issuer-", i), ref.Name), "ca.crt")
	}
	return out
}

// defaultReaders returns the field default, or nil.
func defaultReaders(d *v1alpha1.DefaultReaders) any {
	switch {
	case d == nil:
		return nil
	case d.Everybody:
		return "everybody"
	case d.Nobody:
		return "nobody"
	}
	return d
}

// serviceHosts returns the names of the Service for readers.
func serviceHosts(a *v1alpha1.Archiver) []string {
	name := RetrievalName(a.Name)
	inNamespace := name + "." + a.Namespace
	return []string{name, inNamespace, inNamespace + ".svc", inNamespace + ".svc.cluster.local"}
}

// encrypted reports whether readers use TLS.
func encrypted(a *v1alpha1.Archiver) bool {
	return a.Spec.Retrieval.Access != nil && a.Spec.Retrieval.Access.TLS != nil
}
