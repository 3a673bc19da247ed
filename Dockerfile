# Warder as images. From the top of the tree, with BuildKit:
#   docker build --target binary -t warder .              the binary alone, for COPY --from
#   docker build --target claude-code -t warder-claude .  an image with Claude Code beside it
# Behind a company's own CA, pass its PEM file as a build secret; behind a mirror of npm, its address:
#   docker build --secret id=extra_ca,src=company-ca.pem --build-arg NPM_CONFIG_REGISTRY=https://... .
# Neither stays in an image. `image/build` takes both from the machine's own configuration.

# Where the finished programs are taken from: stages below, or images that hold the same paths.
ARG WARDER_FROM=build
ARG AGENT_FROM=claude-code-install

FROM debian:12 AS build
WORKDIR /src
COPY image/with-extra-ca image/with-extra-ca
COPY scripts/install-packages scripts/packages.txt scripts/
RUN --mount=type=secret,id=extra_ca \
    image/with-extra-ca sh -c 'apt-get update -q && scripts/install-packages build' \
    && rm -rf /var/lib/apt/lists/*
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY image/agents image/agents
COPY policies policies
COPY secrets secrets
COPY supervisor supervisor
COPY collector collector
RUN --mount=type=cache,target=/root/.cache/ccache \
    cmake --preset release-static && cmake --build --preset release-static \
    && strip build/release-static/warder build/release-static/warder-collector

FROM debian:12 AS claude-code-install
ARG NPM_CONFIG_REGISTRY
COPY image/with-extra-ca scripts/install-agent /opt/warder/scripts/
RUN --mount=type=secret,id=extra_ca \
    /opt/warder/scripts/with-extra-ca sh -c 'apt-get update -q \
      && apt-get install -qq -y --no-install-recommends nodejs npm \
      && WARDER_AGENT_DIR=/opt/claude-code /opt/warder/scripts/install-agent' \
    && rm -rf /opt/claude-code/node_modules

FROM ${WARDER_FROM} AS programs
FROM ${AGENT_FROM} AS agent-program

FROM scratch AS binary
COPY --from=programs /src/build/release-static/warder /warder
COPY --from=programs /src/build/release-static/warder-collector /warder-collector
ENTRYPOINT ["/warder"]

FROM debian:12 AS claude-code
RUN --mount=type=bind,source=image/with-extra-ca,target=/mnt/with-extra-ca \
    --mount=type=secret,id=extra_ca \
    /mnt/with-extra-ca sh -c 'apt-get update -q \
      && apt-get install -qq -y --no-install-recommends ca-certificates git' \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home agent && install -d -o agent -g agent /workspace
COPY --from=agent-program /opt/claude-code/bin/claude /usr/local/bin/claude
COPY --from=binary /warder /usr/local/bin/warder
ENTRYPOINT ["/usr/local/bin/warder", "init"]
CMD ["--job", "/job/job.yaml"]
HEALTHCHECK --interval=10s --start-period=10s CMD ["/usr/local/bin/warder", "status"]
