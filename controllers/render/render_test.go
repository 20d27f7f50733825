package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the rendered objects to testdata/*.golden.yaml")

// TestObjectsMatchGoldenFiles compares all objects of some Archivers with golden files, which
// also serve as examples.
func TestObjectsMatchGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d Archivers in testdata, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			got := manifest(t, Archiver(Input{
				Archiver: load(t, file), Image: "varve:v0.0.0", HasServiceMonitor: name == "everything", HasCertificate: name == "everything", Datacenter: Datacenter{Kind: datacenters[name]},
				OperatorNamespace: "varve-system",
			}))
			golden := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the objects differ from %s; to accept them, run `go test ./controllers/render -update`:\n%s", golden, diff)
			}
		})
	}
}

// datacenters is the kind of the datacenter's object, by file.
var datacenters = map[string]string{"managed": KindCassandraDatacenter, "k8ssandra": KindK8ssandraCluster}

// TestRenderingIsPure checks that rendering twice gives the same objects.
func TestRenderingIsPure(t *testing.T) {
	a := load(t, "testdata/everything.in.yaml")
	before := a.DeepCopy()
	in := Input{Archiver: a, Image: "varve:1", HasServiceMonitor: true}
	first, second := manifest(t, Archiver(in)), manifest(t, Archiver(in))
	if !bytes.Equal(first, second) {
		t.Error("the same Archiver gave different objects")
	}
	if diff := cmp.Diff(before, a); diff != "" {
		t.Errorf("rendering changed the Archiver:\n%s", diff)
	}
}

// TestObjectsAreOwnedByArchiver checks that Kubernetes deletes all objects with their Archiver,
// and that their labels find them.
func TestObjectsAreOwnedByArchiver(t *testing.T) {
	for _, file := range []string{"testdata/embedded.in.yaml", "testdata/everything.in.yaml"} {
		a := load(t, file)
		for _, o := range Archiver(Input{Archiver: a, Image: "varve:1", HasServiceMonitor: true, HasCertificate: true}) {
			var meta struct {
				Metadata struct {
					Labels          map[string]string
					OwnerReferences []struct {
						UID        types.UID
						Controller bool
					}
				}
			}
			decode(t, o, &meta)
			name := *o.GetKind() + " " + *o.GetName()
			owners := meta.Metadata.OwnerReferences
			if *o.GetKind() == "PersistentVolumeClaim" {
				if len(owners) != 0 {
					t.Errorf("%s would be deleted with the Archiver", name)
				}
			} else if len(owners) != 1 || owners[0].UID != a.UID || !owners[0].Controller {
				t.Errorf("%s has the owners %v", name, owners)
			}
			if meta.Metadata.Labels[v1alpha1.LabelArchiver] != a.Name || meta.Metadata.Labels[v1alpha1.LabelManagedBy] != "varve-operator" {
				t.Errorf("%s has the labels %v", name, meta.Metadata.Labels)
			}
			if *o.GetNamespace() != a.Namespace || len(*o.GetName()) > 63 {
				t.Errorf("%s is not in the namespace of the Archiver, or its name is too long", name)
			}
		}
	}
}

// load reads an Archiver from a file.
func load(t *testing.T, file string) *v1alpha1.Archiver {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a := &v1alpha1.Archiver{}
	if err := yaml.UnmarshalStrict(text, a); err != nil {
		t.Fatal(err)
	}
	return a
}

func manifest(t *testing.T, objects []Object) []byte {
	t.Helper()
	var out bytes.Buffer
	for i, o := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.Bytes()
}

// decode converts an apply configuration to the object that the API server would read.
func decode(t *testing.T, o Object, into any) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// rendered returns one object as its Go type. It fails if the object has fields that the type
// lacks.
func rendered[T any](t *testing.T, a *v1alpha1.Archiver, kind, name string) *T {
	t.Helper()
	return renderedIn[T](t, Input{Archiver: a}, kind, name)
}

// renderedIn is rendered with more input than an Archiver.
func renderedIn[T any](t *testing.T, in Input, kind, name string) *T {
	t.Helper()
	in.Image = "varve:1"
	for _, o := range Archiver(in) {
		if *o.GetKind() != kind || *o.GetName() != name {
			continue
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return any(object).(*T)
	}
	t.Fatalf("no %s %s is rendered", kind, name)
	return nil
}

var _ runtime.ApplyConfiguration = (*foreign[serviceMonitorSpec])(nil)
