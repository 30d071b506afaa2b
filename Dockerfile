# syntax=docker/dockerfile:1
# The server as a small, non-root image: glibc base, the ONNX Runtime library,
# and one binary that carries the bundled weights and probes its own health.

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
# The ONNX Runtime library comes from the Python package index, by its client.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-pip=23.0.1+dfsg-1 \
 && rm -rf /var/lib/apt/lists/*
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG COMMIT=unknown
RUN make setup \
 && make build VERSION="$VERSION" COMMIT="$COMMIT" \
 && install -D -m 0755 bin/plumbline /out/usr/local/bin/plumbline \
 && install -d /out/usr/local/lib/plumbline \
 && cp -L "$(go run ./internal/cmd/fetch-onnxruntime)" /out/usr/local/lib/plumbline/libonnxruntime.so

FROM gcr.io/distroless/cc-debian12:nonroot AS run
COPY --from=build /out/ /
ENV PLUMBLINE_ONNXRUNTIME_LIB=/usr/local/lib/plumbline/libonnxruntime.so
# distroless names this user "nonroot"
USER 65532:65532
EXPOSE 50051 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["/usr/local/bin/plumbline", "health"]
ENTRYPOINT ["/usr/local/bin/plumbline"]
CMD ["serve"]
