#!/bin/bash
# As the entrypoint of the official image: as root it gives the data to the user rabbitmq and becomes that user.
set -euo pipefail

if [[ ${1:-} == rabbitmq* ]] && [ "$(id -u)" = 0 ]; then
	[ "$1" != rabbitmq-server ] || find /var/lib/rabbitmq ! -user rabbitmq -exec chown rabbitmq {} +
	exec setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups "$0" "$@"
fi
exec "$@"
