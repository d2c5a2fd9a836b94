# The supervisor with the workers of the samples. It runs as PID 1, without a shell, as an ordinary user.
FROM debian:12-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
        gcc libc6-dev make pkg-config help2man \
        librabbitmq-dev libmsgpack-dev libev-dev libssl-dev libyaml-dev libjansson-dev \
        libmicrohttpd-dev libcurl4-openssl-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make -j"$(nproc)" BUILD=/src/build all samples \
 && make BUILD=/src/build DESTDIR=/image PREFIX=/usr/local install \
 && mkdir -p /image/usr/local/share/wpool/samples /image/usr/local/lib/wpool/samples /image/etc/wpool \
 && install -m 755 build/samples/fibonacci build/samples/long_batch build/samples/word_count \
        /image/usr/local/lib/wpool/samples/ \
 && cp samples/python/*.py samples/feed.py /image/usr/local/share/wpool/samples/ \
 && cp -r worker-sdk/python/wpool_worker /image/usr/local/share/wpool/ \
 && cp samples/wpool.yaml /image/etc/wpool/

FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
        librabbitmq4 libmsgpackc2 libev4 libssl3 libyaml-0-2 libjansson4 ca-certificates \
        libmicrohttpd12 libcurl4 python3 python3-msgpack \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin wpool \
 && install -d -o wpool -g wpool -m 700 /run/wpool
COPY --from=build /image/ /
ENV SAMPLES_C=/usr/local/lib/wpool/samples \
    SAMPLES_PYTHON=/usr/local/share/wpool/samples \
    PYTHONPATH=/usr/local/share/wpool
USER wpool
ENTRYPOINT ["/usr/local/bin/wpool"]
CMD ["serve", "--config", "/etc/wpool/wpool.yaml"]
