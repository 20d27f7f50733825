package controllers_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const goodGroup = `
apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: vacuum}
spec: {archiverRef: {name: main}, channels: [{name: A}]}
`

// An object that Go cannot decode would keep the operator from reading all groups.
var _ = Describe("The API server and groups", func() {
	var namespace string
	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	DescribeTable("refuses", func(ctx SpecContext, path, value, message string) {
		err := k8s.Create(ctx, object(namespace, goodGroup, path, value))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(message)))
	},
		Entry("an expiry with small letters", "spec.expiresAt", `"2127-01-01t00:00:00z"`, "spec.expiresAt"),
		Entry("an expiry with an offset that does not exist", "spec.expiresAt", `"2127-01-01T00:00:00+99:99"`, "spec.expiresAt"),
		Entry("an expiry of a PV with small letters", "spec.channels", `[{"name":"A","expiresAt":"2127-01-01t00:00:00z"}]`, "spec.channels[0].expiresAt"),
		Entry("an expiry of a PV with letters in it", "spec.channels", `[{"name":"A","expiresAt":"2127-01-01T00:00:00x5Z"}]`, "spec.channels[0].expiresAt"),
		Entry("a pause with small letters", "spec.pauses", `[{"from":"2127-01-01t00:00:00z","to":"2127-01-02T00:00:00Z","reason":"x"}]`, "spec.pauses[0]"),
		Entry("a costly rule", "spec.rules", `[{"match":"`+strings.Repeat(".{0,1000}", 27)+`"}]`, "match must not repeat a character more than 99 times"),
		Entry("a costly pause", "spec.pauses", `[{"from":"2127-01-01T00:00:00Z","to":"2127-01-02T00:00:00Z","reason":"x","match":"((A{99}){9}){9}"}]`, "match must not repeat a character more than 99 times"),
	)

	It("accepts expiry, rules and pauses", func(ctx SpecContext) {
		group := object(namespace, goodGroup, "spec.channels", `[{"name":"A","expiresAt":"2127-01-01T00:00:00.5+02:00"}]`)
		Expect(k8s.Create(ctx, group)).To(Succeed())
	})
})
