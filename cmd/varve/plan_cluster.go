package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/ownership"
	"varve.dev/varve/groups/plan"
)

// planCluster is where `varve plan` reads the groups in effect.
type planCluster struct{ kubeconfig, namespace, archiver string }

// clusterState is what is in effect in a cluster.
type clusterState struct {
	state   plan.State
	archive compile.Archive
	notes   []string
	// incomplete says what could not be read. It is nil if everything was read.
	incomplete error
}

// read reads the groups of the Archiver with everything that they depend on. It changes applied: it moves objects of the
// namespace default to the namespace of the Archiver, and drops objects of other namespaces. A note has the number of
// dropped groups.
func (c *planCluster) read(ctx context.Context, applied *plan.State) (*clusterState, error) {
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	out := &clusterState{state: plan.State{NeedLabel: true}}
	var archiver v1alpha1.Archiver
	if err := client.Get(ctx, kube.ObjectKey{Namespace: c.namespace, Name: c.archiver}, &archiver); err != nil {
		return nil, fmt.Errorf("reading the Archiver: %w", err)
	}
	out.archive = compile.Archive{
		Shards: int(archiver.Spec.Shards), Provider: compile.ProviderOf(archiver.Spec.EPICS.DefaultProvider), Alone: archiver.Spec.Storage.Embedded != nil,
	}
	if out.archive.Shards <= 0 {
		return nil, fmt.Errorf("the Archiver %s has no shards", c.archiver)
	}
	var policies v1alpha1.ArchivePolicyList
	switch err := client.List(ctx, &policies, kube.InNamespace(c.namespace)); {
	case apierrors.IsForbidden(err):
		out.incomplete = errors.New("you may not read ArchivePolicies, so the plan does not show which PVs they refuse")
		out.notes = append(out.notes, out.incomplete.Error())
	case err != nil:
		return nil, fmt.Errorf("reading the ArchivePolicies: %w", err)
	}
	out.archive.Policies, out.archive.Planned = ownership.Enforced(policies.Items, c.archiver), ownership.Planned(policies.Items, c.archiver)

	var groups v1alpha1.ArchiveGroupList
	if err := client.List(ctx, &groups, kube.InNamespace(c.namespace)); err != nil {
		return nil, fmt.Errorf("reading the ArchiveGroups: %w", err)
	}
	foreign := c.adopt(applied)
	if foreign > 0 {
		out.notes = append(out.notes, fmt.Sprintf("%d groups in the files belong to another namespace, and are left out", foreign))
	}
	for i := range groups.Items {
		if groups.Items[i].Spec.ArchiverRef.Name == c.archiver {
			out.state.Groups = append(out.state.Groups, groups.Items[i])
		}
	}
	out.state.ConfigMaps, err = c.configMaps(ctx, client, out.state.Groups, applied.Groups)
	return out, err
}

func (c *planCluster) connect() (kube.Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	cfg.QPS = -1 // there is one request at a time
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	client, err := kube.New(cfg, kube.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return client, nil
}

// adopt moves objects of the namespace default to the namespace of the Archiver. It drops objects of other
// namespaces, and returns the number of groups that it dropped. A group of another Archiver stays: it may have
// belonged to this one.
func (c *planCluster) adopt(applied *plan.State) (foreign int) {
	var groups []v1alpha1.ArchiveGroup
	for _, g := range applied.Groups {
		if g.Namespace == "default" {
			g.Namespace = c.namespace
		}
		if g.Namespace != c.namespace {
			foreign++
			continue
		}
		groups = append(groups, g)
	}
	var maps []*corev1.ConfigMap
	for _, cm := range applied.ConfigMaps {
		if cm.Namespace == "default" {
			cm = cm.DeepCopy()
			cm.Namespace = c.namespace
		}
		if cm.Namespace == c.namespace {
			maps = append(maps, cm)
		}
	}
	applied.Groups, applied.ConfigMaps = groups, maps
	return foreign
}

// configMaps reads the ConfigMaps that groups name.
func (c *planCluster) configMaps(ctx context.Context, client kube.Client, groups ...[]v1alpha1.ArchiveGroup) (out []*corev1.ConfigMap, err error) {
	read := map[string]bool{}
	for _, list := range groups {
		for i := range list {
			for _, source := range list[i].Spec.ChannelsFrom {
				if source.ConfigMap == nil || read[source.ConfigMap.Name] {
					continue
				}
				read[source.ConfigMap.Name] = true
				cm := &corev1.ConfigMap{}
				switch err := client.Get(ctx, kube.ObjectKey{Namespace: c.namespace, Name: source.ConfigMap.Name}, cm); {
				case apierrors.IsNotFound(err):
				case err != nil:
					return nil, fmt.Errorf("reading a ConfigMap: %w", err)
				default:
					out = append(out, cm)
				}
			}
		}
	}
	return out, nil
}
