# The image of all of Varve's pods. Without Docker, `make image` writes the same image.
#
#   docker build --build-arg VERSION=v1.2.3 -t varve:v1.2.3 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /root-fs/varve ./cmd/varve
RUN mkdir -p /root-fs/etc && mkdir -m 1777 /root-fs/tmp && \
    printf '%s\n' root:x:0:0:root:/:/sbin/nologin nonroot:x:65532:65532:nonroot:/:/sbin/nologin >/root-fs/etc/passwd

FROM scratch
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title=varve \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION
COPY --from=build /root-fs/ /
USER 65532
ENTRYPOINT ["/varve"]
