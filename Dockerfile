# Warder as images. From the top of the tree:
#   docker build --target binary -t warder .            the binary alone, for COPY --from
#   docker build --target claude-code -t warder-claude .  an image with Claude Code beside it
# Behind a company's own CA, pass its PEM file as a build secret (BuildKit):
#   docker build --secret id=extra_ca,src=company-ca.pem ...
FROM debian:12 AS build
WORKDIR /src
COPY scripts scripts
RUN --mount=type=secret,id=extra_ca,target=/usr/local/share/ca-certificates/extra.crt,required=false \
    apt-get update && scripts/install-packages build
COPY . .
RUN cmake --preset release-static && cmake --build --preset release-static

FROM scratch AS binary
COPY --from=build /src/build/release-static/warder /warder
COPY --from=build /src/build/release-static/warder-collector /warder-collector
ENTRYPOINT ["/warder"]

FROM debian:12 AS claude-code
COPY scripts /opt/warder/scripts
# The root certificates are read again with the extra one in place, then again without it.
RUN --mount=type=secret,id=extra_ca,target=/usr/local/share/ca-certificates/extra.crt,required=false \
    apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git nodejs npm python3 \
    && update-ca-certificates \
    && NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
       WARDER_AGENT_DIR=/opt/claude-code /opt/warder/scripts/install-agent \
    && rm -rf /opt/claude-code/node_modules /root/.npm /var/lib/apt/lists/* /opt/warder
RUN update-ca-certificates --fresh && ln -s /opt/claude-code/bin/claude /usr/local/bin/claude
COPY --from=binary /warder /usr/local/bin/warder
ENTRYPOINT ["/usr/local/bin/warder"]
