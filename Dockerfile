# The service as an image. `docker build -t stream-anon .` is all it takes; docs/start/install.md says what the
# arguments are for.

# python:3.11.16-slim-bookworm. By digest, so that the same commit builds the same image.
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
ARG BUILDER_IMAGE=${PYTHON_IMAGE}

# -- What is built, with tools that stay behind -------------------------------------------------------------------
FROM ${BUILDER_IMAGE} AS builder
SHELL ["/bin/bash", "-o", "pipefail", "-e", "-u", "-c"]
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
# hadolint ignore=DL3008
RUN command -v strip || { apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends binutils \
  && rm -rf /var/lib/apt/lists/*; }

ARG EXTRA=service
COPY requirements/pip.txt requirements/image.txt requirements/service.txt requirements/msk.txt /requirements/
RUN python3 -m venv /tools \
  && /tools/bin/python -m pip install --require-hashes -r /requirements/pip.txt \
  && /tools/bin/python -m pip install --require-hashes -r /requirements/image.txt \
  && python3 -m venv --without-pip /opt/venv \
  && /tools/bin/python -m pip --python /opt/venv/bin/python install --require-hashes --no-compile \
    -r "/requirements/${EXTRA}.txt"
# What the service never imports, and the symbols of a large library that only a debugger reads.
RUN site="$(/opt/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
  && rm -rf "$site"/numba/tests "$site"/numpy/f2py "$site"/numpy/distutils "$site"/numpy/*/tests/test_* "$site"/grpc \
  && strip --strip-unneeded "$site"/llvmlite/binding/libllvmlite.so

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY examples/clinic examples/clinic
COPY deploy/wheel deploy/wheel
COPY stream_anon stream_anon
ARG REVISION=unknown
RUN STREAM_ANON_REVISION="${REVISION}" /tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
  && /tools/bin/python -m pip --python /opt/venv/bin/python install --no-deps --no-compile /dist/*.whl \
  && /tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
    --output-format JSON --output-file /opt/sbom.cdx.json /opt/venv/bin/python

# numba files compiled code by the processor it is for. A portable one, named again below, makes it valid on any
# machine of the architecture.
ARG KERNEL_CPU=generic
COPY deploy/image /opt/stream-anon
RUN NUMBA_CPU_NAME="${KERNEL_CPU}" NUMBA_CACHE_DIR=/opt/stream-anon/kernels \
    /opt/venv/bin/python /opt/stream-anon/compile_kernels.py \
  && rm /opt/stream-anon/compile_kernels.py \
  && chmod 0755 /opt/stream-anon/start \
  && /opt/venv/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/venv/lib

# -- What is shipped -----------------------------------------------------------------------------------------------
FROM ${PYTHON_IMAGE}
# Nothing here installs packages. The base brings no compiled standard library, and no start can write one.
RUN python3 -m compileall -q -x '/(test|tests|idlelib|lib2to3|turtledemo|ensurepip|tkinter|site-packages)/' \
    "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
  && rm -rf /usr/local/lib/python3*/site-packages/* /usr/local/lib/python3*/ensurepip /usr/local/bin/pip*
COPY --from=builder /opt/venv /opt/venv
COPY --from=builder /opt/stream-anon /opt/stream-anon
COPY --from=builder /opt/sbom.cdx.json /usr/share/stream-anon/sbom.cdx.json
COPY LICENSE /usr/share/stream-anon/LICENSE

ARG VERSION=1.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
ARG KERNEL_CPU=generic
LABEL org.opencontainers.image.title="stream-anon" \
  org.opencontainers.image.description="k-anonymity where the data flows: Kafka in, k-anonymous Kafka out." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}" \
  org.opencontainers.image.base.name="docker.io/library/python:3.11-slim-bookworm"

# The port is said here too, for the check of health reads no settings file.
ENV PATH=/opt/venv/bin:$PATH \
  HOME=/tmp \
  PYTHONUNBUFFERED=1 \
  PYTHONDONTWRITEBYTECODE=1 \
  NUMBA_CPU_NAME=${KERNEL_CPU} \
  NUMBA_CACHE_DIR=/tmp/stream-anon-kernels \
  STREAM_ANON__HTTP__HOST=0.0.0.0 \
  STREAM_ANON__HTTP__PORT=9464
WORKDIR /etc/stream-anon
USER 65532:65532
# Health and metrics. Status is served on loopback: reach it from inside.
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-I", "/opt/stream-anon/healthcheck.py"]
ENTRYPOINT ["/opt/stream-anon/start"]
CMD ["run", "--config", "/etc/stream-anon/policy.yaml"]
