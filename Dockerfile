# trainc as a program: docker run --rm -v "$PWD:/work" trainc build
# A mirror, or a digest, as the release workflow names it: --build-arg BASE=REGISTRY/python:3.13-slim@sha256:...
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY tools/locks/runtime.txt tools/locks/runtime.txt
COPY compiler compiler
COPY runtimes runtimes
COPY tools/scripts/bundle.py tools/scripts/bundle.py
RUN python -m venv /opt/trainc \
    && /opt/trainc/bin/pip install --no-cache-dir --require-hashes --requirement tools/locks/runtime.txt \
    && /opt/trainc/bin/pip install --no-cache-dir --no-deps . \
    && /opt/trainc/bin/python tools/scripts/bundle.py

FROM ${BASE}
# `trainc diff` reads revisions through git.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /work
COPY --from=build /opt/trainc /opt/trainc
ENV PATH=/opt/trainc/bin:$PATH PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["trainc"]
