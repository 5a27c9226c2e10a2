# Fairline as an image: docs/how-to/run-in-a-container.md.
ARG BASE=docker.io/library/python:3.13-slim-trixie

FROM ${BASE} AS build
WORKDIR /build
# The pins hold for the build backend too: pip reads the first variable for that up to 25.2, the second one after.
ENV PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
# Without pip: what runs installs nothing.
RUN python3 -m venv --without-pip /opt/fairline && \
    python3 -m pip --python /opt/fairline/bin/python3 install --no-warn-script-location .

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Fairline" \
      org.opencontainers.image.description="A fair waiting line for websites and walk-in desks" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
RUN groupadd --gid 10001 fairline && \
    useradd --uid 10001 --gid fairline --home-dir /data --no-create-home --shell /usr/sbin/nologin fairline && \
    install --directory --owner=fairline --group=fairline --mode=0700 /data
COPY --from=build /opt/fairline /opt/fairline
ENV PATH=/opt/fairline/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    FAIRLINE_HOST=0.0.0.0 \
    FAIRLINE_DATA=/data
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 CMD ["fairline", "ready"]
ENTRYPOINT ["fairline"]
CMD ["serve"]
