// Package kube decodes the manifests of env/kubernetes with the types of Kubernetes, of the Prometheus operator and of
// KEDA. A field that they do not have is an error, as it is for `kubectl apply --validate=strict`.
package kube

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	folder        = "../../env/kubernetes"
	kustomization = "kustomization.yaml"
	kedaModule    = "github.com/kedacore/keda/v2"
)

var decoder = newDecoder()

func newDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, core.AddToScheme, networking.AddToScheme, policy.AddToScheme,
		monitoring.AddToScheme, keda.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

func decode(text []byte) (runtime.Object, error) {
	object, _, err := decoder.Decode(text, nil, nil)
	return object, err
}

// manifests returns the text of each file but the kustomization, by its name.
func manifests(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string][]byte)
	for _, path := range paths {
		if filepath.Base(path) == kustomization {
			continue
		}
		if texts[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(texts) == 0 {
		t.Fatalf("no manifests in %s", folder)
	}
	return texts
}

func TestFieldsAreKnown(t *testing.T) {
	for name, text := range manifests(t) {
		if _, err := decode(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The decoder refuses a field that does not exist, at the top and in the middle of each manifest, and one that is there
// twice.
func TestBrokenManifestsAreRefused(t *testing.T) {
	for name, text := range manifests(t) {
		for _, broken := range [][2]string{
			{"metadata:\n", "unknown: 1\nmetadata:\n"},
			{"  name: wpool", "  nmae: wpool\n  name: wpool"},
			{"  name: wpool", "  name: wpool\n  name: wpool"},
		} {
			changed := bytes.Replace(text, []byte(broken[0]), []byte(broken[1]), 1)
			if bytes.Equal(changed, text) {
				t.Errorf("%s: has no %q", name, broken[0])
			}
			if _, err := decode(changed); !runtime.IsStrictDecodingError(err) {
				t.Errorf("%s with %q: %v", name, broken[1], err)
			}
		}
	}
}

// render does what `kubectl apply -k` does before it sends something. With everything: with the resources that are
// comments in the kustomization.
func render(t *testing.T, withEverything bool) []runtime.Object {
	t.Helper()
	files := filesys.MakeFsInMemory()
	text, err := os.ReadFile(filepath.Join(folder, kustomization))
	if err != nil {
		t.Fatal(err)
	}
	if withEverything {
		text = bytes.ReplaceAll(text, []byte("\n  # - "), []byte("\n  - "))
	}
	contents := manifests(t)
	contents[kustomization] = text
	for name, content := range contents {
		if err := files.WriteFile(name, content); err != nil {
			t.Fatal(err)
		}
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for _, resource := range rendered.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, err := decode(text)
		if err != nil {
			t.Fatalf("%s: %v", resource.CurId(), err)
		}
		objects = append(objects, object)
	}
	return objects
}

func kinds(objects []runtime.Object) string {
	var names []string
	for _, object := range objects {
		names = append(names, object.GetObjectKind().GroupVersionKind().Kind)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestKustomization(t *testing.T) {
	objects := render(t, false)
	if got, want := kinds(objects), "ConfigMap Deployment NetworkPolicy PodDisruptionBudget Service"; got != want {
		t.Errorf("it applies %s, not %s", got, want)
	}
	for _, object := range objects {
		deployment, ok := object.(*apps.Deployment)
		if !ok {
			continue
		}
		if image := deployment.Spec.Template.Spec.Containers[0].Image; !strings.Contains(image, "/wpool:") {
			t.Errorf("the image is %s", image)
		}
		if replicas := deployment.Spec.Replicas; replicas == nil || *replicas < 2 {
			t.Error("there are not two replicas")
		}
	}
	everything := "ConfigMap Deployment NetworkPolicy PodDisruptionBudget PodMonitor ScaledObject Service"
	if got := kinds(render(t, true)); got != everything {
		t.Errorf("with all resources it applies %s, not %s", got, everything)
	}
}

// Fields that take one of a few words: for the decoder any word is right.
func TestWordsAreKnown(t *testing.T) {
	expect := func(field string, word any, known ...any) {
		if !slices.Contains(known, word) {
			t.Errorf("%s: %v is none of %v", field, word, known)
		}
	}
	for _, object := range render(t, true) {
		switch object := object.(type) {
		case *apps.Deployment:
			pod := object.Spec.Template.Spec
			for _, container := range pod.Containers {
				expect("terminationMessagePolicy", container.TerminationMessagePolicy,
					core.TerminationMessageReadFile, core.TerminationMessageFallbackToLogsOnError)
			}
			for _, volume := range pod.Volumes {
				if volume.EmptyDir != nil {
					expect("medium", volume.EmptyDir.Medium, core.StorageMediumDefault, core.StorageMediumMemory)
				}
			}
		case *core.Service:
			expect("clusterIP", object.Spec.ClusterIP, core.ClusterIPNone)
		case *policy.PodDisruptionBudget:
			expect("unhealthyPodEvictionPolicy", *object.Spec.UnhealthyPodEvictionPolicy,
				policy.AlwaysAllow, policy.IfHealthyBudget)
		case *networking.NetworkPolicy:
			for _, direction := range object.Spec.PolicyTypes {
				expect("policyTypes", direction, networking.PolicyTypeIngress, networking.PolicyTypeEgress)
			}
		}
	}
}

// parameter of a scaler, as KEDA lists it.
type parameter struct {
	Name         string `json:"name"`
	Optional     bool   `json:"optional"`
	Default      string `json:"default"`
	FromMetadata bool   `json:"metadataVariableReadable"`
	FromEnv      bool   `json:"envVariableReadable"`
}

// parameters returns what KEDA's module says of a scaler.
func parameters(t *testing.T, scaler string) []parameter {
	t.Helper()
	where, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", kedaModule).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(where)), "schema/generated/scalers-schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Scalers []struct {
			Type       string      `json:"type"`
			Parameters []parameter `json:"parameters"`
		} `json:"scalers"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, candidate := range schema.Scalers {
		if candidate.Type == scaler {
			return candidate.Parameters
		}
	}
	t.Fatalf("KEDA has no scaler %s", scaler)
	return nil
}

// The trigger has all that its scaler requires, and nothing that the scaler does not read.
func TestScaledObject(t *testing.T) {
	object, err := decode(manifests(t)["scaledobject.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	scaled := object.(*keda.ScaledObject)
	if err := keda.CheckReplicaCountBoundsAreValid(scaled); err != nil {
		t.Error(err)
	}
	if err := keda.ValidateTriggers(scaled.Spec.Triggers); err != nil {
		t.Error(err)
	}
	for _, trigger := range scaled.Spec.Triggers {
		unread := make(map[string]bool)
		for key := range trigger.Metadata {
			unread[key] = true
		}
		for _, p := range parameters(t, trigger.Type) {
			given := p.FromMetadata && unread[p.Name] || p.FromEnv && unread[p.Name+"FromEnv"]
			if !given && !p.Optional && p.Default == "" {
				t.Errorf("the scaler %s requires %s", trigger.Type, p.Name)
			}
			if p.FromMetadata {
				delete(unread, p.Name)
			}
			if p.FromEnv {
				delete(unread, p.Name+"FromEnv")
			}
		}
		for key := range unread {
			t.Errorf("the scaler %s does not read %s", trigger.Type, key)
		}
		if value, err := strconv.ParseFloat(trigger.Metadata["value"], 64); err != nil || value <= 0 {
			t.Errorf("value: %q is no number of messages", trigger.Metadata["value"])
		}
	}
}
