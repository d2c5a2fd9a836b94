# Three images:
#   docker build --tag wpool .                          the supervisor: a base for images with your workers
#   docker build --tag wpool:python --target python .   with Python, its SDK and the samples, for docker-compose.yml
#   docker build --tag wpool:dev --target dev .         with a compiler and the SDK for C: it builds workers
# --build-arg REVISION="$(git rev-parse HEAD)" adds the label of the revision. docker-bake.hcl builds them for several
# processors. samples/containers has an image for a worker in each of several languages.
#
# Each stage copies only what it needs, so that a change in the samples or the pages does not compile the program again.
FROM debian:12-slim AS compiler
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev make pkg-config libmsgpack-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src

FROM compiler AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
        librabbitmq-dev libev-dev libssl-dev libyaml-dev libjansson-dev libmicrohttpd-dev libcurl4-openssl-dev \
 && rm -rf /var/lib/apt/lists/*
COPY Makefile ./
COPY tools/page tools/
COPY worker-sdk/c worker-sdk/c
COPY worker-sdk/wire worker-sdk/wire
COPY supervisor supervisor
# The user of a container cannot read the program. The kernel then keeps the environment of its commands, which has the
# broker's password, from all processes of that user, such as workers.
RUN make -j"$(nproc)" build/wpool sdk \
 && make DESTDIR=/sdk install-sdk \
 && install -D -s -m 711 build/wpool /image/usr/local/bin/wpool \
 && install -D -s -m 644 build/sdk/libwpool-worker.so.1 /image/usr/local/lib/libwpool-worker.so.1

FROM compiler AS dev
COPY --from=build /sdk /
RUN ldconfig

# It runs as PID 1, without a shell, as an ordinary user.
FROM debian:12-slim AS runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
        ca-certificates libcurl4 libev4 libjansson4 libmicrohttpd12 libmsgpackc2 librabbitmq4 libssl3 libyaml-0-2 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin wpool \
 && install -d -o wpool -g wpool -m 700 /run/wpool
EXPOSE 9464
ENTRYPOINT ["/usr/local/bin/wpool"]
CMD ["serve", "--config", "/etc/wpool/wpool.yaml"]
LABEL org.opencontainers.image.title="wpool" \
      org.opencontainers.image.description="A supervisor for worker processes that are fed by RabbitMQ" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0"

FROM runtime AS wpool
COPY --from=build /image /
RUN ldconfig
USER wpool
ARG REVISION=unknown
LABEL org.opencontainers.image.revision="$REVISION"

FROM runtime AS python-runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-msgpack \
 && rm -rf /var/lib/apt/lists/*

FROM build AS samples
COPY samples samples
COPY worker-sdk/python worker-sdk/python
COPY worker-sdk/python-celery worker-sdk/python-celery
RUN make samples \
 && install -D -s -m 755 -t /image/usr/local/lib/wpool/samples build/samples/fibonacci build/samples/long_batch \
        build/samples/word_count \
 && install -D -m 644 -t /image/usr/local/share/wpool/samples samples/python/*.py samples/feed.py \
 && install -D -m 644 -t /image/usr/local/share/wpool/wpool_worker worker-sdk/python/wpool_worker/*.py \
        worker-sdk/python/wpool_worker/py.typed \
 && install -D -m 644 -t /image/usr/local/share/wpool/wpool_celery worker-sdk/python-celery/wpool_celery/*.py \
 && install -D -m 644 -t /image/etc/wpool samples/wpool.yaml

FROM python-runtime AS python
COPY --from=build /image /
RUN ldconfig
COPY --from=samples /image /
ENV SAMPLES_C=/usr/local/lib/wpool/samples \
    SAMPLES_PYTHON=/usr/local/share/wpool/samples \
    PYTHONPATH=/usr/local/share/wpool
USER wpool
ARG REVISION=unknown
LABEL org.opencontainers.image.revision="$REVISION"

# What a build without --target makes.
FROM wpool
