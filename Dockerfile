FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY normbench normbench
COPY normcore normcore
COPY service service
COPY workers workers
COPY migrations migrations
RUN pip install --no-cache-dir '.[all,s3]'
# The fused kernels for AVX2 and AVX-512, into the installed package (-P: not into /src), so that no node needs a compiler.
RUN python -P -m normcore.kernels.cpu.build x86-64-v3 x86-64-v4

FROM python:3.12-slim AS service
# libgomp1: torch's threads on the CPU
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 normbench && install -d -o normbench /data /artifacts /datasets
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH \
    NORMBENCH_DATA_DIR=/data \
    NORMBENCH_ARTIFACTS_URL=/artifacts \
    NORMBENCH_DATASETS_DIR=/datasets
USER normbench
WORKDIR /data
ENTRYPOINT ["normbench"]
CMD ["--help"]

# For a worker on a GPU: Triton compiles what starts its kernels. What is compiled, and how kernels did in their trial, is kept.
FROM service AS gpu
USER root
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/* \
    && install -d -o normbench /cache
USER normbench
ENV XDG_CACHE_HOME=/cache \
    TRITON_CACHE_DIR=/cache/triton

FROM service
