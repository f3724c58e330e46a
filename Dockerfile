# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/preauth
WORKDIR /build
COPY requirements/run.txt requirements/run.txt
RUN /opt/preauth/bin/pip install --require-hashes -r requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY service service
COPY sql sql
COPY migrations migrations
COPY examples examples
RUN /opt/preauth/bin/pip install --no-deps --no-build-isolation .

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin preauth
COPY --from=build /opt/preauth /opt/preauth
ENV PATH=/opt/preauth/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PREAUTH_HOST=0.0.0.0
USER 10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('PREAUTH_PORT', '8080') + '/healthz', timeout=2)"]
CMD ["preauth", "serve"]
