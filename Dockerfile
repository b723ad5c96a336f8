# syntax=docker/dockerfile:1
# Two images: `service` (the rule service and its commands) and `job` (Spark, with Java).
#   docker build --target service -t percept-service .
#   docker build --target job -t percept-job .
# Python code in rules runs on the Python version that pickled it, so both use the same one.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS sources
RUN pip install --no-cache-dir "uv==0.13.9"
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=0 UV_PROJECT_ENVIRONMENT=/opt/percept
WORKDIR /src
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY percept percept
COPY cep cep
COPY contract contract
COPY discoverers discoverers
COPY processor_runtime processor_runtime
COPY api api
COPY migrations migrations

FROM sources AS service-environment
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync --locked --no-editable --no-default-groups --extra api --extra otel

FROM sources AS job-environment
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync --locked --no-editable --no-default-groups --extra spark --extra kafka --extra otel

FROM python:${PYTHON}-slim-bookworm AS runtime
# One user id in both images, so that they can share a volume with tokens.
RUN useradd --uid 10001 --home-dir /var/lib/percept --create-home percept \
    && install -d -o percept -g percept -m 0700 \
        /var/lib/percept/admin /var/lib/percept/tokens /var/lib/percept/job
ENV PATH=/opt/percept/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /var/lib/percept

FROM runtime AS service
COPY --from=service-environment /opt/percept /opt/percept
USER percept
EXPOSE 8321
ENTRYPOINT ["percept"]
CMD ["serve", "--host", "0.0.0.0"]

FROM runtime AS job
# procps: Spark's scripts call ps. mkdir: slim images lack what the package of Java links into.
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
COPY --from=job-environment /opt/percept /opt/percept
USER percept
ENTRYPOINT ["percept"]
CMD ["run", "/etc/percept/job.yaml"]
