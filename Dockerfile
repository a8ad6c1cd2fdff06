# The application and the command line in one image; how to build and run it: docs/container.md.
# syntax=docker/dockerfile:1

# Pin the digest where images are built: --build-arg BASE=python:3.11.13-slim-bookworm@sha256:...
ARG BASE=python:3.11.13-slim-bookworm

FROM ${BASE} AS build
# Of databases, spark, mbi, gpu; "" for none.
ARG EXTRAS="databases"
# "report" leaves out SDMetrics and copulas, whose licence (BUSL-1.1) restricts use: docs/container.md.
ARG WITHOUT=""
# Where the build of torch for CPUs is, if not where pip finds it by itself.
ARG TORCH_INDEX="https://download.pytorch.org/whl/cpu"
WORKDIR /src
COPY pyproject.toml setup.py requirements.txt README.md LICENSE ./
COPY container/install.sh container/pick.py container/trim.py container/
COPY app app
COPY synth synth
COPY data data
RUN TORCH_INDEX="${TORCH_INDEX}" sh container/install.sh /opt/facsimile --extras "${EXTRAS}" --without "${WITHOUT}"

FROM ${BASE}
LABEL org.opencontainers.image.title="Facsimile" \
      org.opencontainers.image.description="Synthetic tables with a differential-privacy guarantee" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 facsimile \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /state --shell /usr/sbin/nologin facsimile \
    && install -d -o 10001 -g 10001 -m 0700 /state
COPY --from=build /opt/facsimile /opt/facsimile
# /state holds ledger, jobs and key: the one place that outlives a container. Everything else is read-only.
ENV PATH=/opt/facsimile/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    HOME=/state \
    SYNTH_HOME=/state \
    SYNTH_LEDGER=/state/ledger.sqlite \
    SYNTH_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL=120 \
    STREAMLIT_SERVER_MAX_MESSAGE_SIZE=200
USER 10001:10001
WORKDIR /state
VOLUME ["/state"]
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
ENTRYPOINT ["synth"]
CMD ["app", "--headless", "--port", "8501"]
